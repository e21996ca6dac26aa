//! One small call from end to end, for a profiler: everything but the pipe.

use std::{hint::black_box, sync::Arc};

use bytestring::ByteString;
use futures_util::future::BoxFuture;
use switchboard_wire::{
    Version,
    client::{CallRequest, Client, ClientOptions, ServerTarget, VersionNegotiation},
    envelope::{
        Id, MessageOrBatch, Request, Response, ResponseOutcome, RpcError, RpcMessage, parse,
    },
    json::{JsonEdit, JsonKind, Raw},
    link::pair::link_pair,
    server::{
        ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
        ServerDescription, ServerHandler, serve,
    },
};

/// The number of repetitions, by which a profiler's counts are divided.
const TIMES: usize = 2000;

const CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"up__echo","arguments":"#,
    r#"{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}}"#
);
const ANSWER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"#,
    r#""xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}],"isError":false}}"#
);

/// A handler with one constant answer.
struct Echo(Raw);

impl ServerHandler for Echo {
    fn describe(&self) -> ServerDescription {
        let info = Raw::parse(r#"{"name":"echo","version":"1"}"#).unwrap();
        let capabilities = Raw::parse(r#"{"tools":{"listChanged":true}}"#).unwrap();
        ServerDescription { info, capabilities, instructions: None }
    }

    fn call<'a>(
        &'a self,
        _: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(std::future::ready(Ok(HandlerReply::Complete(self.0.clone()))))
    }
}

/// The work of a gateway on the texts of a call and its answer.
pub(crate) fn texts() {
    let [call, answer] = [CALL, ANSWER].map(ByteString::from_static);
    for _ in 0..TIMES {
        let request = forwarded(black_box(&call));
        black_box(answered(black_box(&answer), &request));
    }
}

#[inline(never)]
fn forwarded(text: &ByteString) -> Request {
    let Ok(MessageOrBatch::One(RpcMessage::Request(request))) = parse(text.clone()) else {
        panic!("a call")
    };
    let params = request.params().unwrap();
    lookups(&params);
    let params = renamed(&params);
    let request = Request::new(&Id::number(0), &request.method(), Some(&params));
    black_box(dressed(&request));
    request
}

#[inline(never)]
fn lookups(params: &Raw) {
    for key in ["name", "arguments", "task", "_meta", "requestState"] {
        black_box(params.get(key).unwrap());
    }
    black_box(params.get_path(&["_meta", "progressToken"]).unwrap());
    black_box(params.get_path(&["arguments", "text"]).unwrap());
}

#[inline(never)]
fn renamed(params: &Raw) -> Raw {
    params.with_edits(&[JsonEdit::set(&["name"], "\"echo\"")]).unwrap()
}

#[inline(never)]
fn dressed(request: &Request) -> ByteString {
    let edits = [
        JsonEdit::remove(&["_meta", "io.modelcontextprotocol/protocolVersion"]),
        JsonEdit::remove(&["_meta", "io.modelcontextprotocol/clientInfo"]),
        JsonEdit::remove(&["_meta", "io.modelcontextprotocol/clientCapabilities"]),
        JsonEdit::remove(&["_meta", "io.modelcontextprotocol/logLevel"]),
        JsonEdit::remove(&["_meta", "progressToken"]),
        JsonEdit::remove(&["inputResponses"]),
        JsonEdit::remove(&["requestState"]),
    ];
    request.rewrite(&Id::number(977), &edits).unwrap()
}

#[inline(never)]
fn answered(text: &ByteString, request: &Request) -> Response {
    let Ok(MessageOrBatch::One(RpcMessage::Response(response))) = parse(text.clone()) else {
        panic!("an answer")
    };
    let ResponseOutcome::Result(result) = response.outcome() else { panic!("a result") };
    for key in ["isError", "structuredContent", "resultType", "content"] {
        black_box(result.get(key).unwrap());
    }
    let result = legacy(&result);
    assert_eq!(result.kind(), JsonKind::Object);
    written(request, &result)
}

#[inline(never)]
fn legacy(result: &Raw) -> Raw {
    result
        .with_edits(&[
            JsonEdit::remove(&["resultType"]),
            JsonEdit::remove(&["ttlMs"]),
            JsonEdit::remove(&["cacheScope"]),
            JsonEdit::remove(&["_meta", "io.modelcontextprotocol/serverInfo"]),
        ])
        .unwrap()
}

#[inline(never)]
fn written(request: &Request, result: &Raw) -> Response {
    Response::result(&request.id(), result)
}

/// A client and a server in one process.
pub(crate) fn sessions() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (near, far) = link_pair();
        let Ok(MessageOrBatch::One(RpcMessage::Response(answer))) = parse(ANSWER.into()) else {
            panic!()
        };
        let ResponseOutcome::Result(result) = answer.outcome() else { panic!() };
        tokio::spawn(async move {
            let changes = ChangeBroadcaster::default();
            serve(far, Arc::new(Echo(result)), &changes, ServeOptions::default()).await
        });
        let mut options = ClientOptions::new("bench", "1");
        options.greeting = VersionNegotiation::Only(Version::LATEST_LEGACY);
        let (client, _inbox) =
            Client::connect(ServerTarget::InProcess(near), options).await.unwrap();
        let Ok(MessageOrBatch::One(RpcMessage::Request(request))) = parse(CALL.into()) else {
            panic!()
        };
        for _ in 0..TIMES {
            one(&client, &request).await;
        }
    });
}

async fn one(client: &Client, request: &Request) {
    let timeout = std::time::Duration::from_secs(60);
    let call =
        CallRequest::new(request.method().into_owned(), request.params()).with_timeout(timeout);
    black_box(client.call(call).result().await.unwrap());
}
