//! One small call from end to end, for a profiler: everything but the pipe.

use std::{hint::black_box, sync::Arc};

use bytestring::ByteString;
use futures_util::future::BoxFuture;
use switchboard_wire::{
    Version,
    client::{Call, Client, ClientOptions, Greeting, Target},
    envelope::{Id, Message, Outcome, Parsed, Request, Response, RpcError, parse},
    json::{Edit, JsonKind, Raw},
    link::pair::pair,
    server::{Asked, Changes, Context, Description, Handler, Reply, ServeOptions, serve},
};

/// How often each is done: what a profiler counts is divided by it.
const TIMES: usize = 2000;

const CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"up__echo","arguments":"#,
    r#"{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}}"#
);
const ANSWER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"#,
    r#""xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}],"isError":false}}"#
);

/// Says the same to everybody.
struct Echo(Raw);

impl Handler for Echo {
    fn describe(&self) -> Description {
        let info = Raw::parse(r#"{"name":"echo","version":"1"}"#).unwrap();
        let capabilities = Raw::parse(r#"{"tools":{"listChanged":true}}"#).unwrap();
        Description { info, capabilities, instructions: None }
    }

    fn call<'a>(&'a self, _: Asked, _: &'a Context) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(std::future::ready(Ok(Reply::Complete(self.0.clone()))))
    }
}

/// What is done to the text of a call on its way through a gateway, and to that of its answer.
pub(crate) fn texts() {
    let [call, answer] = [CALL, ANSWER].map(ByteString::from_static);
    for _ in 0..TIMES {
        let request = forwarded(black_box(&call));
        black_box(answered(black_box(&answer), &request));
    }
}

#[inline(never)]
fn forwarded(text: &ByteString) -> Request {
    let Ok(Parsed::One(Message::Request(request))) = parse(text.clone()) else { panic!("a call") };
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
    params.with(&[Edit::set(&["name"], "\"echo\"")]).unwrap()
}

#[inline(never)]
fn dressed(request: &Request) -> ByteString {
    let edits = [
        Edit::remove(&["_meta", "io.modelcontextprotocol/protocolVersion"]),
        Edit::remove(&["_meta", "io.modelcontextprotocol/clientInfo"]),
        Edit::remove(&["_meta", "io.modelcontextprotocol/clientCapabilities"]),
        Edit::remove(&["_meta", "io.modelcontextprotocol/logLevel"]),
        Edit::remove(&["_meta", "progressToken"]),
        Edit::remove(&["inputResponses"]),
        Edit::remove(&["requestState"]),
    ];
    request.edited(&Id::number(977), &edits).unwrap()
}

#[inline(never)]
fn answered(text: &ByteString, request: &Request) -> Response {
    let Ok(Parsed::One(Message::Response(response))) = parse(text.clone()) else {
        panic!("an answer")
    };
    let Outcome::Result(result) = response.outcome() else { panic!("a result") };
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
        .with(&[
            Edit::remove(&["resultType"]),
            Edit::remove(&["ttlMs"]),
            Edit::remove(&["cacheScope"]),
            Edit::remove(&["_meta", "io.modelcontextprotocol/serverInfo"]),
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
        let (near, far) = pair();
        let Ok(Parsed::One(Message::Response(answer))) = parse(ANSWER.into()) else { panic!() };
        let Outcome::Result(result) = answer.outcome() else { panic!() };
        tokio::spawn(async move {
            let changes = Changes::default();
            serve(far, Arc::new(Echo(result)), &changes, ServeOptions::default()).await
        });
        let mut options = ClientOptions::new("bench", "1");
        options.greeting = Greeting::Only(Version::LATEST_LEGACY);
        let (client, _inbox) = Client::connect(Target::InProcess(near), options).await.unwrap();
        let Ok(Parsed::One(Message::Request(request))) = parse(CALL.into()) else { panic!() };
        for _ in 0..TIMES {
            one(&client, &request).await;
        }
    });
}

async fn one(client: &Client, request: &Request) {
    let timeout = std::time::Duration::from_secs(60);
    let call = Call::new(request.method().into_owned(), request.params()).with_timeout(timeout);
    black_box(client.call(call).result().await.unwrap());
}
