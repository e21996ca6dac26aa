//! Tools that become tasks if their client supports tasks.
//!
//! Used by the conformance plugin. The doc comments of its functions are the tools' descriptions.

use std::time::Duration;

use serde_json::json;
use switchboard_plugin_sdk::{Context, Failure, Item, Result, ToolResult, tool};

use super::asking::{ELICIT, ask, form, user_name};

pub(super) fn items() -> Vec<Item> {
    vec![
        greet::item(),
        slow_compute::item(),
        failing_job::item(),
        protocol_error_job::item(),
        confirm_delete::item(),
        multi_input::item(),
        test_tool_with_task::item(),
    ]
}

/// Greets at once
#[tool]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Computes for some seconds; a task, unless it takes none
#[tool]
fn slow_compute(
    #[serde(default)] seconds: u32,
    #[serde(default)] label: String,
    cx: &Context,
) -> Result<String> {
    if seconds > 0 {
        // A client without tasks waits for the result.
        let _ = cx.become_task();
    }
    cx.sleep(Duration::from_secs(seconds.into()))?;
    Ok(format!("computed {label}"))
}

/// A task, always, that says that it failed
#[tool]
fn failing_job(cx: &Context) -> Result<ToolResult> {
    cx.become_task()?;
    cx.sleep(Duration::from_secs(1))?;
    Ok(ToolResult::error("it failed, as it always does"))
}

/// A task, always, that fails
#[tool]
fn protocol_error_job(cx: &Context) -> Result<String> {
    cx.become_task()?;
    Err(Failure::Rpc { code: -32603, message: "it broke".into(), data: None })
}

/// Asks before it deletes
#[tool]
fn confirm_delete(filename: String, cx: &Context) -> Result<String> {
    let _ = cx.become_task();
    let sure = json!({ "confirm": { "type": "boolean" } });
    ask(cx, "confirm", ELICIT, form(&format!("Delete {filename}?"), &sure, &["confirm"]))
}

/// Asks two things at once
#[tool]
fn multi_input(cx: &Context) -> Result<String> {
    let _ = cx.become_task();
    let questions = ["first", "second"].map(|key| (key, ELICIT, user_name()));
    Ok(format!("{:?}", cx.request_all(&questions)?))
}

/// Asks first, and becomes a task with the answer
#[tool]
fn test_tool_with_task(cx: &Context) -> Result<String> {
    let answer = ask(cx, "user_name", ELICIT, user_name())?;
    cx.become_task()?;
    Ok(answer)
}
