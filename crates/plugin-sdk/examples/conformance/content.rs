//! Tools, prompts and resources with every kind of content.
//!
//! Used by the conformance plugin. The doc comments of its functions are the items' descriptions.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use switchboard_plugin_sdk::{
    Content, Contents, Context, Item, Message, Result, ToolResult, prompt, resource, template, tool,
};

/// A PNG of one pixel, and the header of a silent WAV.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn items() -> Vec<Item> {
    vec![
        test_simple_text::item(),
        test_image_content::item(),
        test_audio_content::item(),
        test_embedded_resource::item(),
        test_multiple_content_types::item(),
        test_error_handling::item(),
        test_tool_with_logging::item(),
        test_logging_tool::item(),
        test_tool_with_progress::item(),
        test_reconnection::item(),
        test_custom_header::item(),
        test_simple_prompt::item(),
        test_prompt_with_arguments::item(),
        test_prompt_with_embedded_resource::item(),
        test_prompt_with_image::item(),
        static_text::item(),
        static_binary::item(),
        watched::item(),
        by_id::item(),
    ]
}

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
    ToolResult::error("This tool intentionally returns an error for testing")
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
