//! A server that puts markup, scripts and control characters into all its texts.
//!
//! Used by tests of the console and of `switchboard probe`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a program for tests")]

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve, stdio,
};

/// Text that runs a script if a page takes it for markup, an attribute or a script.
const EVIL: &str = r#""'><img src=x onerror="window.hit='img'"><script>window.hit='script'</script><svg onload="window.hit='svg'">"#;
/// Text that runs a script if a page uses it as a link.
const LINK: &str = "javascript:window.hit='link'";

struct Hostile;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    eprintln!("{EVIL}");
    // The process name, at its longest.
    std::fs::write("/proc/self/comm", "<img onerror=x>").unwrap();
    let (writer, reader, writing) = stdio::stdio_link(64 << 20);
    let changes = ChangeBroadcaster::default();
    let serving = serve((writer, reader), Arc::new(Hostile), &changes, ServeOptions::default());
    let (_, ()) = tokio::join!(serving, writing);
}

impl ServerHandler for Hostile {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(&json!({ "name": EVIL, "version": EVIL, "title": EVIL })),
            capabilities: raw(&json!({
                "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {},
            })),
            instructions: Some(EVIL.to_owned()),
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                "tools/list" => done(&tools()),
                "tools/call" => tool(&asked, context).await,
                "resources/list" => done(&json!({ "resources": [
                    { "uri": LINK, "name": EVIL, "title": EVIL, "description": EVIL, "mimeType": EVIL },
                ] })),
                "resources/templates/list" => done(&json!({ "resourceTemplates": [
                    { "uriTemplate": format!("{LINK}{{x}}"), "name": EVIL, "description": EVIL },
                ] })),
                "resources/read" => done(&json!({ "contents": [
                    { "uri": LINK, "text": EVIL },
                    { "uri": EVIL, "mimeType": "image/svg+xml", "blob": "PHN2Zz4=" },
                ] })),
                "prompts/list" => done(&json!({ "prompts": [
                    { "name": "evil", "title": EVIL, "description": EVIL,
                      "arguments": [{ "name": EVIL, "description": EVIL }] },
                ] })),
                "prompts/get" => done(&json!({ "messages": [
                    { "role": "user", "content": { "type": "text", "text": EVIL } } ] })),
                "completion/complete" => done(&json!({ "completion": { "values": [EVIL] } })),
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

fn tools() -> Value {
    let schema = json!({ "type": "object", "description": EVIL, "properties": {
        EVIL: { "type": "string", "title": EVIL, "description": EVIL, "default": EVIL },
        "pick": { "enum": [EVIL, LINK], "enumNames": [EVIL, EVIL] },
        "tree": { "type": "object", "description": EVIL },
    } });
    let titled = |name: &str| {
        json!({ "name": name, "title": EVIL, "description": EVIL, "inputSchema": schema,
                "annotations": { "title": EVIL, "readOnlyHint": true } })
    };
    json!({ "tools": [titled("say"), titled("refuse"), titled("form"), titled("page")] })
}

async fn tool(asked: &HandlerRequest, context: &RequestContext) -> Result<HandlerReply, RpcError> {
    let name = asked.params.get("name").ok().flatten().and_then(|name| name.to_text());
    let progress = json!({ "progress": 1, "total": 2, "message": EVIL });
    context.progress(&raw(&progress)).await;
    context.log_text("info", EVIL).await;
    match name.unwrap_or_default().as_str() {
        "refuse" => Err(RpcError::new(code::INTERNAL_ERROR, EVIL)),
        "form" => ask(
            asked,
            &json!({ "message": EVIL, "requestedSchema": { "type": "object",
            "properties": { "field": { "type": "string", "title": EVIL, "description": EVIL, "pattern": "(" } } } }),
        ),
        "page" => ask(
            asked,
            &json!({ "mode": "url", "message": EVIL, "url": LINK, "elicitationId": EVIL }),
        ),
        _ => done(&json!({ "structuredContent": { EVIL: EVIL }, "content": [
            { "type": "text", "text": EVIL },
            { "type": "image", "mimeType": "image/png\" onerror=\"window.hit='mime'", "data": "x" },
            { "type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4=" },
            { "type": "audio", "mimeType": EVIL, "data": EVIL },
            { "type": "resource_link", "uri": LINK, "name": EVIL },
            { "type": "resource", "resource": { "uri": LINK, "text": EVIL } },
            { "type": EVIL, "x": EVIL },
        ] })),
    }
}

fn ask(asked: &HandlerRequest, params: &Value) -> Result<HandlerReply, RpcError> {
    match asked.answers.first() {
        None => Ok(HandlerReply::NeedsInput {
            questions: vec![InputRequest {
                key: "it".into(),
                method: "elicitation/create".into(),
                params: raw(params),
            }],
            state: None,
        }),
        Some(_) => done(&json!({ "content": [{ "type": "text", "text": "answered" }] })),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the last word of many fallible functions")]
fn done(value: &Value) -> Result<HandlerReply, RpcError> {
    Ok(HandlerReply::Complete(raw(value)))
}

fn raw(value: &Value) -> Raw {
    Raw::from_value(value).unwrap()
}
