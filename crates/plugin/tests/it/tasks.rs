//! Tests of calls that become tasks: polled, answered, cancelled, and only for clients that support tasks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{client::Client, items::plugins};

const PATIENCE: Duration = Duration::from_secs(20);

/// The `_meta` of a modern client, with or without tasks.
fn meta(extensions: &Value) -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "extensions": extensions } })
}

fn with_tasks() -> Value {
    meta(&json!({ "io.modelcontextprotocol/tasks": {} }))
}

async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": with_tasks() });
    let begun = client.ask("tools/call", params).await["result"].clone();
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert_eq!(begun["status"], "working");
    begun["taskId"].clone()
}

async fn about(client: &mut Client, method: &str, id: &Value, more: Value) -> Value {
    let mut params = json!({ "taskId": id, "_meta": with_tasks() });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.ask(method, params).await
}

/// Polls a task until it has this status.
async fn until(client: &mut Client, id: &Value, status: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = about(client, "tasks/get", id, json!({})).await["result"].clone();
        if found["status"] == status {
            return found;
        }
        assert!(Instant::now() < end, "{found}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_becomes_a_task_where_its_client_can_have_one() {
    let mut client = Client::greeted(&plugins()).await;
    let discovered = client.ask("server/discover", json!({ "_meta": with_tasks() })).await;
    let extensions = &discovered["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({ "io.modelcontextprotocol/tasks": {} }));
    let id = call(&mut client, "work", json!({ "milliseconds": 50 })).await;
    let done = until(&mut client, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "worked");
    assert_eq!(done["statusMessage"], "waiting", "what it said of its progress");
    // Clients without tasks wait for the result of that call, in either era.
    assert_eq!(client.call("work", json!({ "milliseconds": 5 })).await, "worked");
    let params =
        json!({ "name": "work", "arguments": { "milliseconds": 5 }, "_meta": meta(&json!({})) });
    let waited = client.ask("tools/call", params).await;
    assert_eq!(waited["result"]["content"][0]["text"], "worked");
    let refused =
        client.ask("tools/call", json!({ "name": "later", "_meta": meta(&json!({})) })).await;
    assert_eq!(refused["error"]["code"], -32021);
    let none = about(&mut client, "tasks/get", &json!("none"), json!({})).await;
    assert_eq!(none["error"]["code"], -32602);
    let params = json!({ "taskId": id, "_meta": meta(&json!({})) });
    assert_eq!(client.ask("tasks/get", params).await["error"]["code"], -32021);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_asks_and_goes_on_with_the_answer() {
    let mut client = Client::greeted(&plugins()).await;
    let id = call(&mut client, "later", json!({})).await;
    for (number, name) in [(1, "Ada"), (2, "Alan")] {
        let asks = until(&mut client, &id, "input_required").await;
        let key = format!("question-{number}");
        assert_eq!(asks["inputRequests"][&key]["method"], "elicitation/create", "{asks}");
        let other = json!({ "inputResponses": { "other": { "action": "decline" } } });
        about(&mut client, "tasks/update", &id, other).await;
        until(&mut client, &id, "input_required").await;
        let answer = json!({ "inputResponses": {
            key: { "action": "accept", "content": { "name": name } } } });
        let heard = about(&mut client, "tasks/update", &id, answer).await;
        assert!(heard["result"].is_object(), "{heard}");
        let end = Instant::now() + PATIENCE;
        // Either the next question or the end shows that the first question is answered.
        while about(&mut client, "tasks/get", &id, json!({})).await["result"]["inputRequests"]
            == asks["inputRequests"]
        {
            assert!(Instant::now() < end, "it still asks");
        }
    }
    let done = until(&mut client, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ada and Alan");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_cancelled_in_the_plugin_and_fails_with_it() {
    let plugins = plugins();
    let mut watcher = Client::greeted(&plugins).await;
    watcher.ask("resources/subscribe", json!({ "uri": "test://state" })).await;
    let mut client = Client::greeted(&plugins).await;
    let id = call(&mut client, "work", json!({ "milliseconds": 600_000 })).await;
    about(&mut client, "tasks/cancel", &id, json!({})).await;
    until(&mut client, &id, "cancelled").await;
    assert_eq!(watcher.next().await["method"], "notifications/resources/updated");
    let id = call(&mut client, "work", json!({ "milliseconds": 1000 })).await;
    client.call("crash", json!({})).await;
    let failed = until(&mut client, &id, "failed").await;
    assert!(failed["error"]["message"].as_str().unwrap().contains("SIGABRT"), "{failed}");
    // A task that has ended keeps its status.
    about(&mut client, "tasks/cancel", &id, json!({})).await;
    until(&mut client, &id, "failed").await;
}
