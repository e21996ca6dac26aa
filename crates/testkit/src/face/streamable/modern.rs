//! Modern requests: each has its own session, until its answer.
//!
//! Used by `streamable`.

use std::sync::Arc;

use switchboard_wire::{
    envelope::{Id, MessageOrBatch, Request as Asked, ResponseOutcome, RpcMessage, code, parse},
    link::{LinkReader, pair::link_pair},
    meta::{self, method},
};
use tokio::sync::mpsc;

use super::super::{Feed, event, next_text};
use crate::{
    fixture::Fixture,
    http::{Reply, Request},
};

pub(super) async fn post(fixture: &Arc<Fixture>, request: &Request, asked: &Asked) -> Reply {
    if let Some(header) = disagreeing(request, asked) {
        return refusal(&asked.id(), header);
    }
    let ((writer, mut reader), far) = link_pair();
    let serving = fixture.clone();
    tokio::spawn(async move { serving.serve(far).await });
    let _ = writer.send(request.text().to_owned().into()).await;
    if !may_take_long(asked.method().as_ref()) {
        let text = next_text(&mut reader).await.unwrap_or_default();
        return Reply::json(status(&text), text);
    }
    let (feed, pieces) = mpsc::unbounded_channel();
    let id = asked.id();
    tokio::spawn(async move {
        // A client that disconnects ends its session.
        tokio::select! {
            () = feed.closed() => {}
            () = pass_on(&mut reader, &feed, &id) => {}
        }
        drop(writer);
    });
    Reply::events().feed(pieces)
}

/// Passes messages on until the answer.
async fn pass_on(reader: &mut LinkReader, feed: &Feed, id: &Id) {
    while let Some(text) = next_text(reader).await {
        let _ = feed.send(event(&text));
        if matches!(parse(text.into()), Ok(MessageOrBatch::One(RpcMessage::Response(response))) if response.id().as_ref() == Some(id))
        {
            return;
        }
    }
}

fn may_take_long(asked: &str) -> bool {
    matches!(
        asked,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ | method::LISTEN
    )
}

/// The HTTP status of an answer that comes whole.
fn status(text: &str) -> u16 {
    let Ok(MessageOrBatch::One(RpcMessage::Response(response))) = parse(text.to_owned().into())
    else {
        return 500;
    };
    match response.outcome() {
        ResponseOutcome::Result(_) => 200,
        ResponseOutcome::Error(error) if error.code == code::METHOD_NOT_FOUND => 404,
        ResponseOutcome::Error(_) => 400,
    }
}

/// The header that is missing or disagrees with the body.
fn disagreeing(request: &Request, asked: &Asked) -> Option<&'static str> {
    let params = asked.params();
    let member = |path: &[&str]| params.as_ref()?.get_path(path).ok()??.to_text();
    let named = match asked.method().as_ref() {
        method::TOOLS_CALL | method::PROMPTS_GET => member(&["name"]),
        method::RESOURCES_READ => member(&["uri"]),
        _ => None,
    };
    let routed =
        (named.as_deref() == Some("routed")).then(|| member(&["arguments", "region"])).flatten();
    [
        ("mcp-protocol-version", member(&["_meta", meta::PROTOCOL_VERSION])),
        ("mcp-method", Some(asked.method().into_owned())),
        ("mcp-name", named),
        ("mcp-param-region", routed),
    ]
    .into_iter()
    .find(|(header, value)| request.header(header) != value.as_deref())
    .map(|(header, _)| header)
}

fn refusal(id: &Id, header: &str) -> Reply {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32020,"message":"{header} disagrees"}}}}"#
    );
    Reply::json(400, text)
}
