//! Tools and a prompt that ask their client questions.
//!
//! Used by the conformance plugin. The doc comments of its functions are the items' descriptions.

use serde_json::{Value, json};
use switchboard_plugin_sdk::{Context, Item, Result, prompt, tool};

pub(super) const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";

/// Forms that every server under test has to show unchanged.
const CONTACT: &str = include_str!("../../../../tests/conformance/forms/contact.json");
const DEFAULTS: &str = include_str!("../../../../tests/conformance/forms/defaults.json");
const ENUMS: &str = include_str!("../../../../tests/conformance/forms/enums.json");

fn shared(message: &str, schema: &str) -> Result<Value> {
    let schema: Value = serde_json::from_str(schema)?;
    Ok(json!({ "message": message, "requestedSchema": schema }))
}

pub(super) fn items() -> Vec<Item> {
    vec![
        test_missing_capability::item(),
        test_sampling::item(),
        test_elicitation::item(),
        test_elicitation_sep1034_defaults::item(),
        test_elicitation_sep1330_enums::item(),
        test_streaming_elicitation::item(),
        test_input_required_result_elicitation::item(),
        test_input_required_result_sampling::item(),
        test_input_required_result_list_roots::item(),
        test_input_required_result_request_state::item(),
        test_input_required_result_tampered_state::item(),
        test_input_required_result_multiple_inputs::item(),
        test_input_required_result_multi_round::item(),
        test_input_required_result_capabilities::item(),
        test_input_required_result_prompt::item(),
    ]
}

pub(super) fn form(message: &str, properties: &Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "message": message, "requestedSchema": schema })
}

fn sampling(prompt: &str, tokens: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    json!({ "messages": [message], "maxTokens": tokens })
}

pub(super) fn user_name() -> Value {
    form("What is your name?", &json!({ "name": { "type": "string" } }), &["name"])
}

/// Asks one question under its own key.
pub(super) fn ask(cx: &Context, key: &str, method: &str, params: Value) -> Result<String> {
    let answers = cx.request_all(&[(key, method, params)])?;
    let answers: Result<Vec<Value>> = answers.into_iter().collect();
    Ok(answers?.iter().map(Value::to_string).collect())
}

/// Asks the client's model
#[tool]
fn test_sampling(
    /// What to ask
    prompt: String,
    cx: &Context,
) -> Result<String> {
    ask(cx, "sampling", SAMPLE, sampling(&prompt, 100))
}

/// Asks for a name and an address
#[tool]
fn test_elicitation(
    /// What to ask
    message: String,
    cx: &Context,
) -> Result<String> {
    ask(cx, "user", ELICIT, shared(&message, CONTACT)?)
}

/// Asks with default values
#[tool]
fn test_elicitation_sep1034_defaults(cx: &Context) -> Result<String> {
    ask(cx, "defaults", ELICIT, shared("Please review the values", DEFAULTS)?)
}

/// Asks with every form of choice
#[tool]
fn test_elicitation_sep1330_enums(cx: &Context) -> Result<String> {
    ask(cx, "enums", ELICIT, shared("Please choose", ENUMS)?)
}

/// Asks for a name
#[tool]
fn test_streaming_elicitation(cx: &Context) -> Result<String> {
    ask(cx, "user_name", ELICIT, user_name())
}

/// Asks for a name
#[tool]
fn test_input_required_result_elicitation(cx: &Context) -> Result<String> {
    ask(cx, "user_name", ELICIT, user_name())
}

/// Asks the client's model
#[tool]
fn test_input_required_result_sampling(cx: &Context) -> Result<String> {
    ask(cx, "capital_question", SAMPLE, sampling("What is the capital of France?", 100))
}

/// Asks for roots
#[tool]
fn test_input_required_result_list_roots(cx: &Context) -> Result<String> {
    ask(cx, "client_roots", "roots/list", json!({}))
}

fn confirm(cx: &Context) -> Result<String> {
    let properties = json!({ "ok": { "type": "boolean" } });
    ask(cx, "confirm", ELICIT, form("Please confirm", &properties, &["ok"]))
}

/// Asks, and keeps a state
#[tool]
fn test_input_required_result_request_state(cx: &Context) -> Result<String> {
    Ok(format!("{} state-ok", confirm(cx)?))
}

/// Refuses a state that was altered
#[tool]
fn test_input_required_result_tampered_state(cx: &Context) -> Result<String> {
    confirm(cx)
}

/// Asks three things at once
#[tool]
fn test_input_required_result_multiple_inputs(cx: &Context) -> Result<String> {
    let answers = cx.request_all(&[
        ("user_name", ELICIT, user_name()),
        ("greeting", SAMPLE, sampling("Generate a greeting", 50)),
        ("client_roots", "roots/list", json!({})),
    ])?;
    Ok(format!("{answers:?}"))
}

/// Asks one thing after another
#[tool]
fn test_input_required_result_multi_round(cx: &Context) -> Result<String> {
    ask(cx, "step1", ELICIT, user_name())?;
    let colour = json!({ "color": { "type": "string" } });
    let colour = form("Step 2: What is your favorite color?", &colour, &["color"]);
    Ok(format!("your colour: {}", ask(cx, "step2", ELICIT, colour)?))
}

/// Asks what the client can be asked
#[tool]
fn test_input_required_result_capabilities(cx: &Context) -> Result<String> {
    let answers = cx.request_all(&[
        ("user_name", ELICIT, user_name()),
        ("greeting", SAMPLE, sampling("Generate a greeting", 50)),
    ])?;
    Ok(format!("{answers:?}"))
}

/// A prompt that asks for its context
#[prompt]
fn test_input_required_result_prompt(cx: &Context) -> Result<String> {
    let properties = json!({ "context": { "type": "string" } });
    let question = form("What context should the prompt use?", &properties, &["context"]);
    Ok(format!("Use this: {}", ask(cx, "user_context", ELICIT, question)?))
}

/// Needs a client that can sample
#[tool]
fn test_missing_capability(cx: &Context) -> Result<String> {
    Ok(cx.request(SAMPLE, &sampling("Anything", 10))?.to_string())
}
