//! Tests of a version 2 plugin with every feature, through the whole host.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_plugin::{PluginServer, worker::BuiltinPlugin};
use switchboard_plugin_sdk::{Context, Plugin, Result, plugin, tool};

use crate::{
    client::{Client, words},
    source::options,
};

/// The worker program contains this plugin too; here it only describes itself.
mod offered {
    use super::{Context, Result, plugin, tool};

    macro_rules! tools {
        ($($name:ident ($($argument:ident: $kind:ty),*)),*) => {
            $(#[tool] fn $name($($argument: $kind,)* cx: &Context) -> Result<String> {
                $(let _ = $argument;)*
                let _ = cx;
                Ok(String::new())
            })*
            plugin! { name: "test", version: "1.0.0", items: [$($name),*] }
        };
    }
    tools! { say(text: String), wait(milliseconds: u64), stubborn(milliseconds: u64), ask(), panic(), crash(), tell(), refuse(), work(milliseconds: u64), later() }
}

fn offered_with_more() -> Plugin {
    use switchboard_plugin_sdk::{Item, ItemInfo};
    #[derive(
        switchboard_plugin_sdk::serde::Deserialize, switchboard_plugin_sdk::schemars::JsonSchema,
    )]
    #[serde(crate = "switchboard_plugin_sdk::serde")]
    #[schemars(crate = "switchboard_plugin_sdk::schemars")]
    #[allow(dead_code)]
    struct Name {
        name: String,
    }
    let named = |name| ItemInfo { name, title: None, description: "" };
    let greeting = Item::prompt(named("greeting"), |_: Name, _: &Context| String::new());
    let state = Item::resource(named("state"), ("test://state", "text/plain"), |_| String::new());
    let plugin = offered::plugin().extension("io.modelcontextprotocol/tasks", json!({}));
    plugin.with(greeting.with_completer(|_, _, _| Vec::new())).with(state)
}

static BUILTINS: [BuiltinPlugin; 1] =
    [BuiltinPlugin { name: "test", table: offered::entry, plugin: offered_with_more }];

pub(crate) fn plugins() -> Arc<PluginServer> {
    Arc::new(PluginServer::builtin_only(options(), &BUILTINS))
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_prompts_resources_and_completion() {
    let mut client = Client::greeted(&plugins()).await;
    let text = "ü\n\u{2028}\0\"";
    assert_eq!(client.call("say", json!({ "text": text })).await, text);
    assert!(client.call("say", json!({})).await.starts_with("mistake: "));
    assert_eq!(client.call("nothing", json!({})).await, "error: there is no tool `nothing`");
    let said = client.call("panic", json!({})).await;
    assert_eq!(said, "error: the plugin panicked: on purpose");
    let error = client.ask("tools/call", json!({ "name": "refuse" })).await["error"].clone();
    assert_eq!(error, json!({ "code": -32099, "message": "no", "data": { "why": 1 } }));

    let prompt = json!({ "name": "greeting", "arguments": { "name": "Ada" } });
    let prompt = client.ask("prompts/get", prompt).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Greet Ada");
    let prompt = client.ask("prompts/get", json!({ "name": "greeting" })).await;
    assert_eq!(prompt["error"]["message"], "argument `name` must be a string");

    let read = client.ask("resources/read", json!({ "uri": "test://state" })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "steady");
    let read = client.ask("resources/read", json!({ "uri": "test://none" })).await;
    assert_eq!(read["error"]["code"], -32002);

    let completing = json!({ "ref": { "type": "ref/prompt", "name": "greeting" },
        "argument": { "name": "name", "value": "Al" } });
    let completed = client.ask("completion/complete", completing).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["Alan"]));
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        assert!(client.ask(method, json!({})).await["result"].is_object(), "{method}");
    }
    let unknown = client.ask("no/such", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_run_at_the_same_time_and_one_that_crashes_takes_only_its_worker() {
    let plugins = plugins();
    let mut client = Client::greeted(&plugins).await;
    let slow = json!({ "name": "wait", "arguments": { "milliseconds": 300 } });
    let mut ids = Vec::new();
    let begun = std::time::Instant::now();
    for _ in 0..8 {
        ids.push(client.begin("tools/call", slow.clone()).await);
    }
    for _ in &ids {
        assert_eq!(words(&client.next_answer().await), "waited");
    }
    assert!(begun.elapsed() < Duration::from_millis(1200), "{:?}", begun.elapsed());
    let crashed = client.call("crash", json!({})).await;
    assert!(crashed.contains("killed by SIGABRT"), "{crashed}");
    assert_eq!(client.call("say", json!({ "text": "back" })).await, "back");
    assert!(plugins.problems()[0].what.contains("SIGABRT"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_cancelled_in_the_plugin() {
    let plugins = plugins();
    let mut watcher = Client::greeted(&plugins).await;
    watcher.ask("resources/subscribe", json!({ "uri": "test://state" })).await;
    let mut client = Client::greeted(&plugins).await;
    let long = json!({ "name": "wait", "arguments": { "milliseconds": 600_000 },
        "_meta": { "progressToken": 1 } });
    let id = client.begin("tools/call", long).await;
    // The first progress shows that the call has begun.
    assert_eq!(client.next().await["method"], "notifications/progress");
    client.cancel(id).await;
    assert_eq!(watcher.next().await["method"], "notifications/resources/updated");
    assert_eq!(client.call("say", json!({ "text": "next" })).await, "next");
    assert!(client.heard.is_empty(), "{:?}", client.heard);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_to_whoever_made_the_call() {
    let mut client = Client::greeted(&plugins()).await;
    let rows = [
        (json!({ "action": "accept", "content": { "name": "Ada" } }), "Hello, Ada"),
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "cancelled"),
    ];
    for (answer, expected) in rows {
        let id = client.begin("tools/call", json!({ "name": "ask" })).await;
        let question = client.next().await;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "What is your name?");
        client.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
        assert_eq!(words(&client.answer(id).await), expected);
    }
}

/// The timeout of a question is ten minutes; the test waits far less.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_while_it_asks_ends_at_once() {
    let plugins = plugins();
    let mut watcher = Client::greeted(&plugins).await;
    watcher.ask("resources/subscribe", json!({ "uri": "test://state" })).await;
    let mut client = Client::greeted(&plugins).await;
    let id = client.begin("tools/call", json!({ "name": "ask" })).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create");
    client.cancel(id).await;
    assert_eq!(watcher.next().await["method"], "notifications/resources/updated");
    let taken_back = client.next().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    // A client that disconnects ends the call too.
    client.begin("tools/call", json!({ "name": "ask" })).await;
    assert_eq!(client.next().await["method"], "elicitation/create");
    drop(client);
    assert_eq!(watcher.next().await["method"], "notifications/resources/updated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_comes_back_with_the_answer() {
    let mut client = Client::greeted(&plugins()).await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let asked = client.ask("tools/call", json!({ "name": "ask", "_meta": meta })).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    let again = json!({ "name": "ask", "_meta": meta, "requestState": result["requestState"],
        "inputResponses": { "question": { "action": "accept", "content": { "name": "Ada" } } } });
    let done = client.ask("tools/call", again.clone()).await;
    assert_eq!(words(&done), "Hello, Ada");
    let twice = client.ask("tools/call", again).await;
    assert_eq!(twice["error"]["code"], -32602, "a ticket is good once");
    let mut deaf = meta.clone();
    deaf["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let refused = client.ask("tools/call", json!({ "name": "ask", "_meta": deaf })).await;
    assert_eq!(words(&refused), "error: the client cannot be asked this");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_and_updates_reach_whom_they_are_for() {
    let plugins = plugins();
    let mut subscribed = Client::greeted(&plugins).await;
    subscribed.ask("resources/subscribe", json!({ "uri": "test://state" })).await;
    let none = subscribed.ask("resources/subscribe", json!({ "uri": "test://none" })).await;
    assert_eq!(none["error"]["code"], -32002);
    let mut client = Client::greeted(&plugins).await;
    assert_eq!(client.call("tell", json!({})).await, "told");
    let log = client.heard.pop_front().unwrap();
    assert_eq!(log["params"], json!({ "level": "warning", "data": "a line" }));
    let update = subscribed.next().await;
    assert_eq!(update["method"], "notifications/resources/updated");
    assert_eq!(update["params"], json!({ "uri": "test://state" }));
    client.ask("logging/setLevel", json!({ "level": "error" })).await;
    client.call("tell", json!({})).await;
    assert_eq!(client.heard, [] as [Value; 0], "a warning is not wanted any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_keeps_nobody_else() {
    let plugins = plugins();
    let mut client = Client::greeted(&plugins).await;
    let hung = json!({ "name": "stubborn", "arguments": { "milliseconds": 600_000 } });
    let id = client.begin("tools/call", hung).await;
    assert_eq!(client.call("say", json!({ "text": "meanwhile" })).await, "meanwhile");
    let hung = words(&client.answer(id).await);
    assert_eq!(hung, "error: plugin `test`: it did not answer within 1500 ms");
    assert_eq!(client.call("say", json!({ "text": "after" })).await, "after");
}
