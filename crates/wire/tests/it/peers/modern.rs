//! Tests against a server on the TypeScript SDK 2.x, which speaks 2026-07-28 only.

use std::time::Duration;

use switchboard_wire::client::{
    CallRequest, Client, ExchangeEvent, InboxEvent, ServerInbox, VersionNegotiation, elicitation,
};
use switchboard_wire::{Error, Version};

use super::check::{Expected, check};
use super::place::our_node;
use super::server::{Connected, Way, options};
use super::{bounded, raw};

fn expected(version: Version) -> Expected {
    Expected {
        version,
        lists: [Some(4), Some(1), Some(1), Some(1)],
        call: ("add", r#"{"a":2,"b":40}"#.into(), "42"),
        read: Some(("note://other", "a note named other")),
        prompt: Some(("greet", r#"{"name":"Ada"}"#, "Please greet Ada.")),
        complete: Some((
            r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}"#,
            "Alan",
        )),
        slow: Some(("slow", r#"{"ms":200}"#, r#"{"ms":600000,"steps":6000}"#, 10)),
        subscribe: Some("note://hello"),
    }
}

#[test]
fn over_stdio() {
    bounded(whole(&["stdio"], Way::Stdio));
}

#[test]
fn over_http() {
    bounded(whole(&["http", "0"], Way::Http));
}

async fn whole(args: &[&str], way: Way) {
    let mut connected = Connected::start(our_node("ts2-server.mjs", args), way, "").await;
    check(&mut connected, &expected(Version::V2026_07_28)).await;
    let Connected { client, inbox, .. } = &mut connected;
    asks(client).await;
    tells_of_changes(client, inbox).await;
    connected.close().await;
}

/// Checks a call that is answered with a question and then repeated with the answer.
async fn asks(client: &Client) {
    let nothing = raw("{}");
    let call = CallRequest::call_tool("ask", &nothing);
    let mut exchange = client.call(call.clone());
    let ExchangeEvent::NeedsInput(questions) = exchange.next().await.unwrap() else {
        panic!("a question was expected")
    };
    assert_eq!(questions[0].key, "who");
    let resume = exchange.suspend().unwrap();
    let answer = questions[0].answer(elicitation::accept_form(&raw(r#"{"name":"Ada"}"#)));
    let said = client.resume(&call, resume, vec![answer]).result().await;
    let said = said.unwrap();
    assert!(said.as_str().contains("Hello, Ada!"), "{said}");
    let unanswered = client.call(call).result().await.unwrap_err();
    assert!(matches!(unanswered, Error::InputNeeded { .. }), "{unanswered}");
}

/// Checks change notifications. The subscription is granted some time later, so the change repeats
/// until it is heard.
async fn tells_of_changes(client: &Client, inbox: &mut ServerInbox) {
    client.subscribe("note://hello").await.unwrap();
    let touching = async {
        let mut pace = tokio::time::interval(Duration::from_millis(50));
        loop {
            pace.tick().await;
            let call = CallRequest::call_tool("touch", &raw("{}"));
            client.call(call).result().await.unwrap();
        }
    };
    let heard = tokio::select! {
        heard = inbox.next() => heard.unwrap(),
        () = touching => unreachable!(),
    };
    assert!(
        matches!(&heard, InboxEvent::ResourceUpdated { uri, .. } if uri == "note://hello"),
        "{heard:?}"
    );
}

/// With both eras offered, the probe takes the modern one; on request, the legacy one is used.
#[test]
fn with_both_eras() {
    bounded(async {
        for (args, way) in
            [(&["stdio", "--both"][..], Way::Stdio), (&["http", "0", "--both"], Way::Http)]
        {
            for (greeting, version) in [
                (VersionNegotiation::Probe, Version::V2026_07_28),
                (VersionNegotiation::Only(Version::V2025_11_25), Version::V2025_11_25),
                (VersionNegotiation::Only(Version::V2025_06_18), Version::V2025_06_18),
            ] {
                let command = our_node("ts2-server.mjs", args);
                let options = options(greeting);
                let connected = Connected::start_with(command, way, "", options).await;
                assert_eq!(connected.client.server_facts().version, version);
                let call = CallRequest::call_tool("add", &raw(r#"{"a":1,"b":2}"#));
                let sum = connected.client.call(call).result().await.unwrap();
                assert!(sum.as_str().contains("\"3\""), "{sum}");
                connected.close().await;
            }
        }
    });
}
