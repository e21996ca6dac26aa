//! Test of four thousand progress notifications: in order, complete, and before the result.

use std::fmt::Write as _;

use switchboard_testkit::http::Reply;
use switchboard_wire::client::{
    CallRequest, Client, ExchangeEvent, ServerTarget, VersionNegotiation,
};

use super::puppet;
use crate::{
    http::soon,
    session::web::{self, Asked, web},
    suite::{http_target, member, options, raw},
};

const STEPS: usize = 4000;

async fn counts(client: &Client) {
    let mut exchange = client.call(CallRequest::call_tool("count", &raw("{}")).with_progress());
    for step in 0..STEPS {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Progress(params) => {
                assert_eq!(member(&params, "progress"), step.to_string());
            }
            other => panic!("instead of step {step}: {other:?}"),
        }
    }
    let event = exchange.next().await.unwrap();
    assert!(matches!(event, ExchangeEvent::Done(_)), "{event:?}");
}

#[tokio::test]
async fn over_stdio() {
    let target = puppet(["progress", &STEPS.to_string()]);
    let (client, _inbox) =
        soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap();
    for _ in 0..3 {
        soon(counts(&client)).await;
    }
    client.close().await;
}

fn stream(asked: &Asked) -> Reply {
    let mut events = String::new();
    for step in 0..STEPS {
        let _ = write!(
            events,
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{},\"progress\":{step}}}}}\n\n",
            asked.id
        );
    }
    Reply::events().bytes(events).event(&asked.response("{}"))
}

#[tokio::test]
async fn over_http() {
    let legacy = web(|asked| match &*asked.method {
        "tools/call" => stream(asked),
        _ => web::legacy(asked, "{}"),
    });
    let modern = web(|asked| match &*asked.method {
        "tools/call" => stream(asked),
        _ => web::modern(asked, r#"[{"name":"count"}]"#),
    });
    for server in [legacy.await, modern.await] {
        let target = ServerTarget::Http(http_target(&server.url("/mcp")));
        let (client, _inbox) =
            soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap();
        for _ in 0..3 {
            soon(counts(&client)).await;
        }
        client.close().await;
    }
}
