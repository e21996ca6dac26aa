//! The plugin that the official conformance suite wants to find: everything a plugin can do, once.
//!
//! `cargo build -p switchboard-plugin-sdk --example conformance` makes a file that `switchboard plugin serve` loads;
//! `cargo xtask conformance --side plugin` runs the suite against it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use switchboard_plugin_sdk::{
    Content, Contents, Context, Item, Message, Named, Note, Plugin, Result, ToolResult, export,
    plugin, prompt, resource, template, tool,
};

/// A picture of one dot, and the head of a recording without a sound in it.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
const PAUSE: Duration = Duration::from_millis(50);

/// Whether one more tool, or one more prompt, is offered.
static MORE_TOOLS: AtomicBool = AtomicBool::new(false);
static MORE_PROMPTS: AtomicBool = AtomicBool::new(false);

fn dot() -> Result<Vec<u8>> {
    Ok(STANDARD.decode(DOT)?)
}

/// Answers with text
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Answers with an image
#[tool]
fn test_image_content() -> Result<Content> {
    Ok(Content::image(dot()?, "image/png"))
}

/// Answers with a recording
#[tool]
fn test_audio_content() -> Result<Content> {
    Ok(Content::audio(STANDARD.decode(SILENCE)?, "audio/wav"))
}

/// Answers with a resource
#[tool]
fn test_embedded_resource() -> Content {
    let text = "This is an embedded resource content.";
    Content::resource(Contents::text("test://embedded-resource", "text/plain", text))
}

/// Answers with text, an image and a resource
#[tool]
fn test_multiple_content_types() -> Result<Vec<Content>> {
    let (uri, mime) = ("test://mixed-content-resource", "application/json");
    Ok(vec![
        Content::text("Multiple content types test:"),
        Content::image(dot()?, "image/png"),
        Content::resource(Contents::text(uri, mime, r#"{"test":"data","value":123}"#)),
    ])
}

/// Fails
#[tool]
fn test_error_handling() -> ToolResult {
    ToolResult::mistake("This tool intentionally returns an error for testing")
}

/// Logs three times
#[tool]
fn test_tool_with_logging(cx: &Context) -> Result<&'static str> {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        cx.log("info", text);
        cx.sleep(PAUSE)?;
    }
    Ok("logged three times")
}

/// Logs for those who asked
#[tool]
fn test_logging_tool(cx: &Context) -> &'static str {
    cx.log("info", "only for those who asked");
    "logged"
}

/// Reports progress three times
#[tool]
fn test_tool_with_progress(cx: &Context) -> Result<&'static str> {
    for step in [0_u32, 50, 100] {
        cx.progress(step.into(), Some(100.0), &format!("{step} of 100"));
        cx.sleep(PAUSE)?;
    }
    Ok("made progress three times")
}

/// Takes a moment
#[tool]
fn test_reconnection(cx: &Context) -> Result<&'static str> {
    cx.log("info", "more is to come");
    cx.sleep(PAUSE)?;
    Ok("Reconnection test completed successfully")
}

/// Says a value that travels in a header too
#[tool]
fn test_custom_header(#[schemars(extend("x-mcp-header" = "Value"))] value: String) -> String {
    value
}

/// Needs a client that can sample
#[tool]
fn test_missing_capability(cx: &Context) -> Result<String> {
    Ok(cx.request("sampling/createMessage", &sampling("Anything", 10))?.to_string())
}

/// Announces that the tools changed
#[tool]
fn test_trigger_tool_change(cx: &Context) -> &'static str {
    MORE_TOOLS.fetch_xor(true, Ordering::Relaxed);
    cx.list_changed("tools");
    "announced"
}

/// Announces that the prompts changed
#[tool]
fn test_trigger_prompt_change(cx: &Context) -> &'static str {
    MORE_PROMPTS.fetch_xor(true, Ordering::Relaxed);
    cx.list_changed("prompts");
    "announced"
}

// === tools that ask ===

fn form(message: &str, properties: &Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "message": message, "requestedSchema": schema })
}

fn sampling(prompt: &str, tokens: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    json!({ "messages": [message], "maxTokens": tokens })
}

fn user_name() -> Value {
    form("What is your name?", &json!({ "name": { "type": "string" } }), &["name"])
}

/// Asks under a name of its own.
fn ask(cx: &Context, key: &str, method: &str, params: Value) -> Result<String> {
    let answers = cx.request_all(&[(key, method, params)])?;
    let answers: Result<Vec<Value>> = answers.into_iter().collect();
    Ok(answers?.iter().map(Value::to_string).collect())
}

const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";

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
    let properties = json!({
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" },
    });
    ask(cx, "user", ELICIT, form(&message, &properties, &["username", "email"]))
}

/// Asks with default values
#[tool]
fn test_elicitation_sep1034_defaults(cx: &Context) -> Result<String> {
    let properties = json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    });
    ask(cx, "defaults", ELICIT, form("Please review the values", &properties, &[]))
}

/// Asks with every form of choice
#[tool]
fn test_elicitation_sep1330_enums(cx: &Context) -> Result<String> {
    let titled = |first: &str| {
        json!([{ "const": "value1", "title": first }, { "const": "value2", "title": "Second" },
               { "const": "value3", "title": "Third" }])
    };
    let plain = json!(["option1", "option2", "option3"]);
    let properties = json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled("First Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
                        "enumNames": ["Option One", "Option Two", "Option Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("First Choice") } },
    });
    ask(cx, "enums", ELICIT, form("Please choose", &properties, &[]))
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

// === prompts and resources ===

/// A prompt without arguments
#[prompt(complete = cities)]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with two arguments
#[prompt(complete = cities)]
fn test_prompt_with_arguments(
    /// The first
    arg1: String,
    /// The second
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt that carries a resource
#[prompt]
fn test_prompt_with_embedded_resource(
    /// Which one
    #[serde(rename = "resourceUri")]
    uri: String,
) -> Vec<Message> {
    let text = "Embedded resource content for testing.";
    vec![
        Message::user(Content::resource(Contents::text(&uri, "text/plain", text))),
        Message::user("Please process the embedded resource above."),
    ]
}

/// A prompt that carries an image
#[prompt]
fn test_prompt_with_image() -> Result<Vec<Message>> {
    Ok(vec![
        Message::user(Content::image(dot()?, "image/png")),
        Message::user("Please analyze the image above."),
    ])
}

/// A prompt that asks for its context
#[prompt]
fn test_input_required_result_prompt(cx: &Context) -> Result<String> {
    let properties = json!({ "context": { "type": "string" } });
    let question = form("What context should the prompt use?", &properties, &["context"]);
    Ok(format!("Use this: {}", ask(cx, "user_context", ELICIT, question)?))
}

fn cities(_argument: &str, typed: &str, _cx: &Context) -> Vec<String> {
    let known = ["paris", "park", "party"].into_iter().filter(|known| known.starts_with(typed));
    known.map(str::to_owned).collect()
}

/// Text that stays as it is
#[resource(uri = "test://static-text", name = "Static Text Resource")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// An image that stays as it is
#[resource(uri = "test://static-binary", name = "Static Binary Resource", mime = "image/png")]
fn static_binary() -> Result<Vec<u8>> {
    dot()
}

/// Text that can be watched
#[resource(uri = "test://watched-resource", name = "Watched Resource")]
fn watched() -> &'static str {
    "Watched resource content"
}

/// Data by id
#[template(
    uri = "test://template/{id}/data",
    name = "Resource Template",
    mime = "application/json"
)]
fn by_id(id: String) -> String {
    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string()
}

/// A tool whose schema is made by hand.
fn by_hand() -> Item {
    let named = Named {
        name: "json_schema_2020_12_tool",
        title: None,
        description: "Has a schema of many keywords",
    };
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": {
            "street": { "type": "string" }, "city": { "type": "string" } } } },
        "properties": {
            "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" }, "email": { "type": "string" } },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    let answer = |_: Map<String, Value>, _: &Context| "the schema is what matters";
    Item::tool(named, Note::default(), answer).showing("inputSchema", schema)
}

/// Items that come and go.
fn fleeting(plugin: Plugin) -> Plugin {
    let named = |name| Named { name, title: None, description: "There now and then" };
    let tool = Item::tool(
        named("fleeting"),
        Note::default(),
        |_: Map<String, Value>, _: &Context| "there",
    );
    let prompt = Item::prompt(named("fleeting"), |_: Map<String, Value>, _: &Context| "there");
    plugin
        .with(tool.while_true(|| MORE_TOOLS.load(Ordering::Relaxed)))
        .with(prompt.while_true(|| MORE_PROMPTS.load(Ordering::Relaxed)))
}

fn make(mut plugin: Plugin) -> Plugin {
    let items = [
        test_simple_text::item,
        test_image_content::item,
        test_audio_content::item,
        test_embedded_resource::item,
        test_multiple_content_types::item,
        test_error_handling::item,
        test_tool_with_logging::item,
        test_logging_tool::item,
        test_tool_with_progress::item,
        test_reconnection::item,
        test_custom_header::item,
        test_missing_capability::item,
        test_trigger_tool_change::item,
        test_trigger_prompt_change::item,
        test_sampling::item,
        test_elicitation::item,
        test_elicitation_sep1034_defaults::item,
        test_elicitation_sep1330_enums::item,
        test_streaming_elicitation::item,
        test_input_required_result_elicitation::item,
        test_input_required_result_sampling::item,
        test_input_required_result_list_roots::item,
        test_input_required_result_request_state::item,
        test_input_required_result_tampered_state::item,
        test_input_required_result_multiple_inputs::item,
        test_input_required_result_multi_round::item,
        test_input_required_result_capabilities::item,
        test_simple_prompt::item,
        test_prompt_with_arguments::item,
        test_prompt_with_embedded_resource::item,
        test_prompt_with_image::item,
        test_input_required_result_prompt::item,
        static_text::item,
        static_binary::item,
        watched::item,
        by_id::item,
        by_hand,
    ];
    for item in items {
        plugin = plugin.with(item());
    }
    fleeting(plugin)
}

plugin! { name: "conformance", version: "1.0.0", make: make }
export!();
