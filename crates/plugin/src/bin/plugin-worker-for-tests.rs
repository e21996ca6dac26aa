//! The guard and worker program of the tests, with one built-in plugin.
//!
//! Used by `crates/plugin/tests` as `PluginHostOptions::program`. The doc comments of its functions are the
//! tools' descriptions.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_plugin::worker::{BuiltinPlugin, run_if_worker};
use switchboard_plugin_sdk::{
    Context, Failure, Result, UserAnswer, plugin, prompt, resource, tool,
};

/// Says what it is told.
#[tool(read_only)]
fn say(text: String) -> String {
    text
}

/// Waits.
#[tool]
fn wait(milliseconds: u64, cx: &Context) -> Result<String> {
    cx.progress(0.0, None, "waiting");
    let waited = cx.sleep(Duration::from_millis(milliseconds));
    if waited.is_err() {
        // The client that cancelled gets no more notifications of the call; this one goes to all clients.
        cx.updated("test://state");
    }
    waited.map(|()| "waited".into())
}

/// Does not care whether anybody waits.
#[tool]
fn stubborn(milliseconds: u64) -> String {
    std::thread::sleep(Duration::from_millis(milliseconds));
    "done".into()
}

/// Becomes a task where it can, and works.
#[tool]
fn work(milliseconds: u64, cx: &Context) -> Result<String> {
    // A client without tasks waits for the result.
    let _ = cx.become_task();
    wait(milliseconds, cx).map(|_| "worked".into())
}

/// Becomes a task, and asks for two names.
#[tool]
fn later(cx: &Context) -> Result<String> {
    cx.become_task()?;
    let mut names = Vec::new();
    for message in ["Who are you?", "And who are you?"] {
        match cx.elicit::<Value>(message, &name_schema())? {
            UserAnswer::Accepted(answer) => {
                names.extend(answer["name"].as_str().map(str::to_owned));
            }
            _ => return Err(Failure::new("nobody")),
        }
    }
    Ok(names.join(" and "))
}

fn name_schema() -> Value {
    json!({ "type": "object", "properties": { "name": { "type": "string" } } })
}

/// Asks for a name.
#[tool]
fn ask(cx: &Context) -> Result<String> {
    let asked = cx.elicit::<Value>("What is your name?", &name_schema());
    if cx.is_cancelled() {
        cx.updated("test://state");
    }
    Ok(match asked? {
        UserAnswer::Accepted(answer) => {
            format!("Hello, {}", answer["name"].as_str().unwrap_or("you"))
        }
        UserAnswer::Declined => "declined".into(),
        UserAnswer::Cancelled => "cancelled".into(),
    })
}

/// Panics.
#[tool]
fn panic() -> String {
    panic!("on purpose")
}

/// Crashes.
#[tool]
fn crash() -> String {
    std::process::abort()
}

/// Logs a line and tells of a change to the resource.
#[tool]
fn tell(cx: &Context) -> String {
    cx.log("warning", "a line");
    cx.updated("test://state");
    "told".into()
}

/// Refuses.
#[tool]
fn refuse() -> Result<String> {
    Err(Failure::Rpc { code: -32099, message: "no".into(), data: Some(json!({ "why": 1 })) })
}

/// Greets.
#[prompt(complete = names)]
fn greeting(name: String) -> String {
    format!("Greet {name}")
}

fn names(_argument: &str, typed: &str, _cx: &Context) -> Vec<String> {
    ["Ada", "Alan"].into_iter().filter(|name| name.starts_with(typed)).map(str::to_owned).collect()
}

/// State.
#[resource(uri = "test://state")]
fn state() -> &'static str {
    "steady"
}

plugin! {
    name: "test",
    version: "1.0.0",
    items: [
        say, wait, stubborn, ask, panic, crash, tell, refuse, work, later, greeting, state,
    ],
}

fn main() {
    switchboard_process::guard::run_if_guard();
    run_if_worker(&[BuiltinPlugin { name: "test", table: entry, plugin }]);
}
