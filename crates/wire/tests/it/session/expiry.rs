//! Tests of expired legacy sessions over HTTP: one new session for all calls, and repeated
//! settings.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use switchboard_testkit::http::{Reply, Signal};
use switchboard_wire::{
    Error,
    client::{CallRequest, VersionNegotiation},
};

use super::{
    options, over_http, raw,
    web::{self, Asked, methods, web},
};
use crate::http::soon;

const CAPABILITIES: &str = r#"{"tools":{},"logging":{},"resources":{"subscribe":true}}"#;

/// A server with numbered sessions; those up to `expired` have expired.
struct Expiring {
    begun: AtomicUsize,
    expired: AtomicUsize,
    calls: Mutex<Vec<String>>,
}

impl Expiring {
    fn answer(&self, asked: &Asked) -> Reply {
        let session = asked.http.header("mcp-session-id");
        let number: usize = session.map_or(0, |id| id.parse().unwrap());
        match &*asked.method {
            "initialize" => {
                assert_eq!(session, None, "a new session has no id yet");
                let id = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
                let hello = super::initialized("2025-11-25")
                    .replace(r#""capabilities":{}"#, &format!(r#""capabilities":{CAPABILITIES}"#));
                asked.result(&hello).header("mcp-session-id", &id.to_string())
            }
            "server/discover" => asked.error(404, -32601),
            _ if number <= self.expired.load(Ordering::SeqCst) => asked.error(404, -32001),
            "tools/call" => {
                self.calls.lock().unwrap().push(asked.tool());
                asked.result("{}")
            }
            _ => web::legacy(asked, CAPABILITIES),
        }
    }
}

#[tokio::test]
async fn fifty_calls_share_one_new_session_and_are_each_repeated_once() {
    let state = Arc::new(Expiring {
        begun: AtomicUsize::new(0),
        expired: AtomicUsize::new(0),
        calls: Mutex::default(),
    });
    let answering = state.clone();
    let server = web(move |asked| answering.answer(asked)).await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    client.subscribe("a:b").await.unwrap();
    client.set_log_level("error").await.unwrap();
    state.expired.store(1, Ordering::SeqCst);
    let calls =
        (0..50).map(|n| client.call(CallRequest::call_tool(&n.to_string(), &raw("{}"))).result());
    for result in soon(join_all(calls)).await {
        result.unwrap();
    }
    let mut executed = state.calls.lock().unwrap().clone();
    executed.sort_by_key(|name| name.parse::<u32>().unwrap());
    let expected: Vec<_> = (0..50).map(|n: u32| n.to_string()).collect();
    assert_eq!(executed, expected, "each once");
    let asked = methods(&server);
    let count = |method: &str| asked.iter().filter(|known| *known == method).count();
    assert_eq!(count("initialize"), 2);
    assert_eq!(count("notifications/initialized"), 2);
    assert_eq!(count("resources/subscribe"), 2);
    assert_eq!(count("logging/setLevel"), 2);
    assert!(count("tools/call") <= 100);
}

#[tokio::test]
async fn a_session_that_never_lasts_is_given_up() {
    let state = Arc::new(Expiring {
        begun: AtomicUsize::new(0),
        expired: AtomicUsize::new(0),
        calls: Mutex::default(),
    });
    let answering = state.clone();
    let server = web(move |asked| answering.answer(asked)).await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    state.expired.store(1000, Ordering::SeqCst);
    let error =
        soon(client.call(CallRequest::call_tool("x", &raw("{}"))).result()).await.unwrap_err();
    assert!(!matches!(error, Error::Timeout { .. }), "{error:?}");
    let asked = methods(&server);
    let count = |method: &str| asked.iter().filter(|known| *known == method).count();
    assert_eq!(count("initialize"), 2);
    assert!(count("tools/call") <= 2);
}

/// A call made during the renewal waits for the new session.
#[tokio::test]
async fn a_call_made_during_the_renewal_is_not_lost() {
    let renewing = Signal::default();
    let reached = Signal::default();
    let begun = Arc::new(AtomicUsize::new(0));
    let (hold, tell) = (renewing.clone(), reached.clone());
    let server = web(move |asked| match (&*asked.method, asked.http.header("mcp-session-id")) {
        ("initialize", _) => {
            let id = begun.fetch_add(1, Ordering::SeqCst);
            let text = asked.response(&super::initialized("2025-11-25"));
            let reply =
                Reply::events().header("mcp-session-id", if id == 0 { "old" } else { "new" });
            if id == 0 {
                return reply.event(&text);
            }
            tell.fire();
            reply.wait(&hold).event(&text)
        }
        ("tools/call", Some("new")) => asked.result("{}"),
        ("tools/call", Some("old")) => Reply::empty(404),
        ("tools/call", _) => Reply::empty(400),
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    let first = client.call(CallRequest::call_tool("a", &raw("{}"))).result();
    let second = async {
        reached.wait().await;
        let calling = client.call(CallRequest::call_tool("b", &raw("{}"))).result();
        let releasing = async {
            server.received(6).await;
            renewing.fire();
        };
        tokio::join!(calling, releasing).0
    };
    let (first, second) = soon(async { tokio::join!(first, second) }).await;
    first.unwrap();
    second.unwrap();
}
