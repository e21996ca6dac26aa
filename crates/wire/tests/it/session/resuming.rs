//! Tests of broken streams: resumable ones are resumed, others fail their calls.

use std::time::{Duration, Instant};

use switchboard_testkit::http::Reply;
use switchboard_wire::{
    Error,
    client::{CallRequest, ExchangeEvent, InboxEvent, VersionNegotiation},
};

use super::{
    options, over_http, raw,
    web::{self, web},
};
use crate::http::soon;

#[tokio::test]
async fn a_post_stream_cut_after_an_id_is_resumed_when_the_server_says() {
    let server = web(|asked| match &*asked.method {
        "tools/call" => {
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":1}}}}"#,
                asked.id
            );
            Reply::events()
                .bytes(format!("id: {}\nretry: 60\ndata: {progress}\n\n", asked.id))
                .close()
        }
        "GET" => match asked.http.header("last-event-id") {
            None => Reply::empty(405),
            Some(id) => {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resumed":true}}}}"#);
                Reply::events().event(&text)
            }
        },
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    let mut exchange = client.call(CallRequest::call_tool("x", &raw("{}")).with_progress());
    assert!(matches!(soon(exchange.next()).await, Ok(ExchangeEvent::Progress(_))));
    let cut = Instant::now();
    let result = soon(exchange.result()).await.unwrap();
    assert_eq!(result.as_str(), r#"{"resumed":true}"#);
    assert!(cut.elapsed() >= Duration::from_millis(60), "too eager: {:?}", cut.elapsed());
}

#[tokio::test]
async fn a_post_stream_cut_without_an_id_is_lost() {
    for (cut, clean) in [(Reply::events(), true), (Reply::events().bytes(": x\n").reset(), false)] {
        let server = web(move |asked| match &*asked.method {
            "tools/call" => cut.clone(),
            _ => web::legacy(asked, "{}"),
        })
        .await;
        let (client, _inbox) =
            soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
        let error =
            soon(client.call(CallRequest::call_tool("x", &raw("{}"))).result()).await.unwrap_err();
        match error {
            Error::StreamLost { method } if clean => assert_eq!(method, "tools/call"),
            Error::Http(_) if !clean => {}
            other => panic!("{other:?}"),
        }
        // Sent once, and not repeated.
        let calls = web::methods(&server).iter().filter(|method| *method == "tools/call").count();
        assert_eq!(calls, 1);
        client.list(switchboard_wire::client::ListKind::Tools).await.unwrap_err();
    }
}

#[tokio::test]
async fn the_servers_own_stream_is_reopened_after_its_last_event() {
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let server = web(|asked| match (&*asked.method, asked.http.header("last-event-id")) {
        ("GET", None) => Reply::events().bytes(format!("id: e1\ndata: {CHANGED}\n\n")),
        ("GET", Some("e1")) => {
            Reply::events().bytes(format!("id: e2\ndata: {CHANGED}\n\n")).reset()
        }
        ("GET", Some("e2")) => Reply::empty(503),
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let (_client, mut inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    let mut changes = 0;
    while changes < 2 {
        match soon(inbox.next()).await.unwrap() {
            InboxEvent::ListChanged(_) => changes += 1,
            InboxEvent::Problem(_) => {}
            other => panic!("{other:?}"),
        }
    }
    soon(async {
        let after = |id| {
            let requests = server.requests();
            requests.iter().filter(|request| request.header("last-event-id") == Some(id)).count()
        };
        // A failing server is tried again, with growing pauses.
        while after("e2") < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Closing deletes the session; a server that ignores the request is not waited for.
#[tokio::test]
async fn a_server_that_ignores_the_end_of_a_session_holds_nobody() {
    let server = web(|asked| match &*asked.method {
        "DELETE" => Reply::silence(),
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    soon(client.close()).await;
    let requests = server.requests();
    let goodbye = requests.iter().find(|request| request.method == "DELETE");
    let session = goodbye.and_then(|request| request.header("mcp-session-id"));
    assert_eq!(session, Some("one"));
}

/// A 404 for a stream that never existed is not the end of a session.
#[tokio::test]
async fn a_server_without_a_stream_of_its_own_keeps_its_session() {
    let server = web(|asked| match &*asked.method {
        "GET" => Reply::empty(404),
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let (client, _inbox) =
        soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await.unwrap();
    soon(async {
        while !web::methods(&server).contains(&"GET".to_owned()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for _ in 0..20 {
        soon(client.call(CallRequest::call_tool("x", &raw("{}"))).result()).await.unwrap();
    }
    let asked = web::methods(&server);
    assert_eq!(asked.iter().filter(|method| *method == "initialize").count(), 1);
    assert_eq!(asked.iter().filter(|method| *method == "GET").count(), 1);
}
