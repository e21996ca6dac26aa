//! The tools of the conformance server, except those that ask questions.
//!
//! Used by `conformance`; the others are in `asking` and `tasks`.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_wire::Era;
use switchboard_wire::client::ListKind;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};

use super::content::{DOT, SILENCE, words};
use super::{Subject, asking, done, raw, text};

/// The pause between two notifications of one call, as the suite describes it.
const PAUSE: Duration = Duration::from_millis(50);

/// Tools that a 2025-11-25 client may call as tasks, and whether it must.
const TASKS: [(&str, &str); 5] = [
    ("slow_compute", "optional"),
    ("failing_job", "required"),
    ("protocol_error_job", "required"),
    ("confirm_delete", "optional"),
    ("multi_input", "optional"),
];

/// `tools/list`. The modern version does not say which tools become tasks.
pub(super) fn list(context: &RequestContext) -> Result<HandlerReply, RpcError> {
    let mut listed: Value = serde_json::from_str(include_str!("lists/tools.json")).unwrap();
    if context.version.era() == Era::Legacy {
        for tool in listed["tools"].as_array_mut().into_iter().flatten() {
            let support = TASKS.iter().find(|(name, _)| tool["name"] == *name);
            if let Some((_, support)) = support {
                tool["execution"] = json!({ "taskSupport": support });
            }
        }
    }
    done(&listed)
}

/// `tools/call`.
pub(super) async fn call(
    subject: &Subject,
    asked: &HandlerRequest,
    context: &RequestContext,
) -> Result<HandlerReply, RpcError> {
    let image = || json!({ "type": "image", "mimeType": "image/png", "data": DOT });
    let resource = |uri: &str, mime: &str, text: &str| {
        let resource = json!({ "uri": uri, "mimeType": mime, "text": text });
        json!({ "type": "resource", "resource": resource })
    };
    match text(asked, &["name"]).as_str() {
        "test_simple_text" => say("This is a simple text response for testing."),
        "test_image_content" => done(&json!({ "content": [image()] })),
        "test_audio_content" => done(&json!({ "content": [
            { "type": "audio", "mimeType": "audio/wav", "data": SILENCE } ] })),
        "test_embedded_resource" => done(&json!({ "content": [
            resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        ] })),
        "test_multiple_content_types" => done(&json!({ "content": [
            words("Multiple content types test:"),
            image(),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ] })),
        "test_error_handling" => done(&json!({ "isError": true,
            "content": [words("This tool intentionally returns an error for testing")] })),
        "test_tool_with_logging" => log(context).await,
        "test_tool_with_progress" => progress(context).await,
        "test_logging_tool" => {
            context.log_text("info", "only for those who asked").await;
            say("logged")
        }
        "test_missing_capability" => needs_sampling(context),
        "test_reconnection" => reconnection(context).await,
        "test_custom_header" => say(&text(asked, &["arguments", "value"])),
        "json_schema_2020_12_tool" => say("the schema is what matters"),
        "test_trigger_tool_change" => changed(subject, ListKind::Tools),
        "test_trigger_prompt_change" => changed(subject, ListKind::Prompts),
        name => match subject.tasks.tool(name, asked, context).await {
            Some(done) => done,
            None => asking::tool(name, asked, context),
        },
    }
}

/// A result with one text.
pub(super) fn say(text: &str) -> Result<HandlerReply, RpcError> {
    done(&json!({ "content": [words(text)] }))
}

async fn log(context: &RequestContext) -> Result<HandlerReply, RpcError> {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        context.log_text("info", text).await;
        tokio::time::sleep(PAUSE).await;
    }
    say("logged three times")
}

/// Sends a message before its answer, so that the answer becomes a stream.
async fn reconnection(context: &RequestContext) -> Result<HandlerReply, RpcError> {
    context.log_text("info", "more is to come").await;
    tokio::time::sleep(PAUSE).await;
    say("Reconnection test completed successfully")
}

async fn progress(context: &RequestContext) -> Result<HandlerReply, RpcError> {
    for step in [0, 50, 100] {
        let params = json!({ "progress": step, "total": 100, "message": format!("{step} of 100") });
        context.progress(&Raw::from_value(&params).unwrap()).await;
        tokio::time::sleep(PAUSE).await;
    }
    say("made progress three times")
}

fn changed(subject: &Subject, list: ListKind) -> Result<HandlerReply, RpcError> {
    subject.announce(list);
    say("announced")
}

/// Refused before a question is asked: a server must not rely on undeclared capabilities.
fn needs_sampling(context: &RequestContext) -> Result<HandlerReply, RpcError> {
    if context.has_capability(&["sampling"]) {
        return say("the client can sample");
    }
    let data = raw(r#"{"requiredCapabilities":{"sampling":{}}}"#);
    Err(RpcError::new(code::MISSING_CAPABILITY, "this tool needs a client that can sample")
        .with_data(data))
}
