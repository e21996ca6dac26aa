//! Tests of messages over the limit: the answered call fails, the others continue.

use switchboard_testkit::http::Reply;
use switchboard_wire::{
    Error,
    client::{CallRequest, Client, ServerInbox, ServerTarget, VersionNegotiation},
    envelope::MalformedKind,
    http::ResponseLimits,
};
use tokio::sync::mpsc;

use super::{
    http_target, initialized, options, raw,
    web::{self, Asked, web},
};
use crate::http::soon;

const LIMITS: ResponseLimits = ResponseLimits { max_body: 1000, max_event: 1000 };

/// The answer to `big` is too large, that to `garbled` not UTF-8; the id comes last in both.
fn event(asked: &Asked) -> Vec<u8> {
    let id = &asked.id;
    let text = match asked.tool().as_str() {
        "big" => {
            format!(r#"{{"jsonrpc":"2.0","result":{{"text":"{}"}},"id":{id}}}"#, "x".repeat(5000))
        }
        "garbled" => format!(r#"{{"jsonrpc":"2.0","result":"*","id":{id}}}"#),
        _ => asked.response("{}"),
    };
    let event = format!("data: {text}\n\n").into_bytes();
    let spoil = |byte| if byte == b'*' { 0xff } else { byte };
    event.into_iter().map(spoil).collect()
}

fn is_lost(result: &Result<switchboard_wire::json::Raw, Error>, garbled: bool) -> bool {
    match result {
        Err(Error::Malformed(malformed)) if garbled => malformed.kind == MalformedKind::NotUtf8,
        Err(Error::Malformed(malformed)) => {
            malformed.kind == MalformedKind::TooLarge { limit: 1000 }
        }
        _ => false,
    }
}

/// Runs several calls at once, of which two get unreadable answers.
async fn others_go_on(client: &Client) {
    for _ in 0..3 {
        let call = |name| client.call(CallRequest::call_tool(name, &raw("{}"))).result();
        let (before, big, garbled, after) =
            soon(async { tokio::join!(call("a"), call("big"), call("garbled"), call("b")) }).await;
        before.unwrap();
        after.unwrap();
        assert!(is_lost(&big, false), "{big:?}");
        assert!(is_lost(&garbled, true), "{garbled:?}");
    }
}

async fn connect(url: &str, sse: bool) -> (Client, ServerInbox) {
    let mut target = http_target(url);
    target.options.limits = LIMITS;
    let target = if sse { ServerTarget::Sse(target) } else { ServerTarget::Http(target) };
    soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap()
}

/// A feed for answers that are written later.
#[derive(Default)]
struct Feed(std::sync::Mutex<Option<mpsc::UnboundedSender<Vec<u8>>>>);

impl Feed {
    fn open(&self) -> (Reply, mpsc::UnboundedSender<Vec<u8>>) {
        let (sender, fed) = mpsc::unbounded_channel();
        *self.0.lock().unwrap() = Some(sender.clone());
        (Reply::events().feed(fed), sender)
    }

    fn send(&self, event: Vec<u8>) {
        let _ = self.0.lock().unwrap().as_ref().unwrap().send(event);
    }
}

#[tokio::test]
async fn over_sse() {
    let feed = Feed::default();
    let server = web(move |asked| match &*asked.method {
        "GET" => {
            let (reply, sender) = feed.open();
            let _ = sender.send(b"event: endpoint\ndata: /messages\n\n".to_vec());
            reply
        }
        "initialize" => {
            let text = asked.response(&initialized("2024-11-05"));
            feed.send(format!("data: {text}\n\n").into_bytes());
            Reply::empty(202)
        }
        "tools/call" => {
            feed.send(event(asked));
            Reply::empty(202)
        }
        _ => Reply::empty(202),
    })
    .await;
    let (client, _inbox) = connect(&server.url("/sse"), true).await;
    others_go_on(&client).await;
}

/// A server that answers 202 and sends everything on its GET stream.
#[tokio::test]
async fn on_the_servers_own_stream() {
    let feed = Feed::default();
    let opened = std::sync::Arc::new(tokio::sync::Notify::new());
    let telling = opened.clone();
    let server = web(move |asked| match &*asked.method {
        "GET" => {
            telling.notify_one();
            feed.open().0
        }
        "tools/call" => {
            feed.send(event(asked));
            Reply::empty(202)
        }
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let (client, _inbox) = connect(&server.url("/mcp"), false).await;
    soon(opened.notified()).await;
    others_go_on(&client).await;
}

#[tokio::test]
async fn in_answer_to_a_post() {
    for streamed in [true, false] {
        let server = web(move |asked| match &*asked.method {
            "tools/call" if streamed => Reply::events().bytes(event(asked)),
            "tools/call" => {
                let event = event(asked);
                Reply::json(200, event["data: ".len()..event.len() - 2].to_vec())
            }
            _ => web::legacy(asked, "{}"),
        })
        .await;
        let (client, _inbox) = connect(&server.url("/mcp"), false).await;
        let call = |name| client.call(CallRequest::call_tool(name, &raw("{}"))).result();
        let (before, big, garbled, after) =
            soon(async { tokio::join!(call("a"), call("big"), call("garbled"), call("b")) }).await;
        before.unwrap();
        after.unwrap();
        let error = big.unwrap_err();
        assert!(error.to_string().contains("larger than 1000 bytes"), "{error}");
        let error = garbled.unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }
}
