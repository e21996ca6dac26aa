//! A plugin to try a connection with: a tool that echoes, and a tool that asks the user.
//!
//! Built into `switchboard` and used as an example of elicitation.

use serde::Deserialize;
use serde_json::json;
use switchboard_plugin_sdk::{Context, Failure, Result, UserAnswer, plugin, tool};

#[derive(Deserialize)]
struct Name {
    name: String,
}

/// Says what it is told.
#[tool(read_only)]
fn echo(
    /// What to say
    text: String,
) -> String {
    text
}

/// Greets by name; asks for the name if it is not given.
#[tool(read_only)]
fn greet(
    /// Whom to greet
    name: Option<String>,
    cx: &Context,
) -> Result<String> {
    let name = match name {
        Some(name) => Some(name),
        None => asked(cx)?,
    };
    Ok(format!("Hello, {}!", name.as_deref().unwrap_or("whoever you are")))
}

/// The name that the user gives, if the client can ask.
fn asked(cx: &Context) -> Result<Option<String>> {
    let schema = json!({ "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string", "title": "Name" } } });
    match cx.elicit::<Name>("What is your name?", &schema) {
        Ok(UserAnswer::Accepted(Name { name })) => Ok(Some(name)),
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
        Ok(_) | Err(_) => Ok(None),
    }
}

plugin! {
    name: "hello",
    version: env!("CARGO_PKG_VERSION"),
    instructions: "Tools to try a connection with.",
    items: [echo, greet],
}

#[cfg(feature = "export")]
switchboard_plugin_sdk::export!();
