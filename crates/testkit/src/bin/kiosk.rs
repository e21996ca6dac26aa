//! A server on standard streams with one tool, prompt or resource of every kind that a person can
//! meet.
//!
//! Used by tests of the console and the terminal UI.

#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a program for tests")]

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_testkit::kiosk_skills;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve, stdio,
};

/// A picture of one pixel.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

struct Kiosk;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    eprintln!("the kiosk is open");
    let (writer, reader, writing) = stdio::stdio_link(64 << 20);
    let changes = ChangeBroadcaster::default();
    let serving = serve((writer, reader), Arc::new(Kiosk), &changes, ServeOptions::default());
    let (_, ()) = tokio::join!(serving, writing);
}

impl ServerHandler for Kiosk {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(&json!({ "name": "kiosk", "version": "1" })),
            capabilities: raw(&capabilities()),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            if kiosk_skills::are_wanted() {
                let text = |key| asked.params.get(key).ok().flatten().and_then(|raw| raw.to_text());
                let uri = text("uri").unwrap_or_default();
                let found = kiosk_skills::answer(&asked.method, &uri, text("cursor").as_deref());
                if let Some(result) = found {
                    return done(&result);
                }
            }
            match &*asked.method {
                "tools/list" => done(&all_tools()),
                "tools/call" => tool(asked, context).await,
                "resources/list" => done(&json!({ "resources": [
                    { "uri": "kiosk://leaflet", "name": "leaflet", "title": "Leaflet",
                      "description": "What there is.\nAnd more.", "mimeType": "text/plain" },
                    { "uri": "kiosk://stamp", "name": "stamp", "mimeType": "image/png" },
                ] })),
                "resources/templates/list" => done(&json!({ "resourceTemplates": [
                    { "uriTemplate": "kiosk://page/{number}", "name": "page" },
                ] })),
                "resources/read" => read(&asked),
                "prompts/list" => done(&json!({ "prompts": [
                    { "name": "letter", "description": "A letter to somebody.", "arguments": [
                        { "name": "to", "required": true }, { "name": "from" } ] },
                    { "name": "postcard" },
                ] })),
                "prompts/get" => prompt(&asked),
                "completion/complete" => done(&json!({ "completion": {
                    "values": ["Ada", "Alan\u{1b}[2J"], "hasMore": true } })),
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

fn capabilities() -> Value {
    let mut declared = json!({
        "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {},
    });
    if kiosk_skills::are_wanted() {
        declared["extensions"] = json!({ "io.modelcontextprotocol/skills": {} });
    }
    declared
}

/// The tools; with `--tools N`, that many more, for tests of long lists; with `--app`, one for apps only.
fn all_tools() -> Value {
    let mut args = std::env::args().skip_while(|arg| arg != "--tools").skip(1);
    let more: usize = args.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let mut listed = tools();
    let more = (0..more).map(|number| {
        json!({ "name": format!("leaflet{number}"), "description": format!("Leaflet number {number} of many."),
                "inputSchema": { "type": "object" } })
    });
    let for_apps = std::env::args().any(|arg| arg == "--app").then(|| {
        json!({ "name": "restock", "inputSchema": { "type": "object" },
                "_meta": { "ui": { "resourceUri": "ui://kiosk/shelf", "visibility": ["app"] } } })
    });
    listed["tools"].as_array_mut().unwrap().extend(more.chain(for_apps));
    listed
}

fn tools() -> Value {
    let takes = |properties: Value, required: &[&str]| {
        json!({ "type": "object", "properties": properties, "required": required,
                "additionalProperties": false })
    };
    let nothing = takes(json!({}), &[]);
    json!({ "tools": [
        { "name": "say", "description": "Says it.\nIn so many words.", "inputSchema": takes(json!({
              "text": { "type": "string", "description": "What to say" } }), &["text"]),
          "annotations": { "readOnlyHint": true } },
        { "name": "order", "title": "Order", "description": "Orders something.",
          "inputSchema": takes(json!({
              "what": { "enum": ["paper", "pens"], "description": "Which thing" },
              "count": { "type": "integer", "minimum": 1, "default": 1 },
              "gift": { "type": "boolean" },
              "names": { "type": "array", "items": { "type": "string" } },
              "to": { "type": "object", "properties": { "city": { "type": "string" } },
                      "required": ["city"] },
          }), &["what"]),
          "outputSchema": { "type": "object", "properties": { "ordered": { "type": "object" } } },
          "annotations": { "destructiveHint": false, "openWorldHint": true } },
        { "name": "erase", "description": "Erases it.", "inputSchema": nothing,
          "annotations": { "destructiveHint": true, "openWorldHint": false } },
        { "name": "count", "inputSchema": takes(json!({ "to": { "type": "integer" } }), &["to"]) },
        { "name": "picture", "inputSchema": nothing },
        { "name": "album", "inputSchema": nothing },
        { "name": "book", "inputSchema": takes(json!({ "lines": { "type": "integer" } }), &["lines"]) },
        { "name": "fail", "inputSchema": nothing },
        { "name": "refuse", "inputSchema": nothing },
        { "name": "hang", "inputSchema": nothing },
        { "name": "register", "inputSchema": nothing },
        { "name": "sign", "inputSchema": takes(json!({ "url": { "type": "string" } }), &["url"]) },
        { "name": "careful", "inputSchema": nothing,
          "_meta": { "anthropic/requiresUserInteraction": true } },
        { "name": "crooked", "inputSchema": { "type": "object", "properties": { "a": { "type": 7 } } } },
    ] })
}

async fn tool(asked: HandlerRequest, context: &RequestContext) -> Result<HandlerReply, RpcError> {
    let arguments = asked.params.get("arguments").ok().flatten();
    let arguments: Value = arguments.and_then(|raw| raw.decode().ok()).unwrap_or_default();
    let name = asked.params.get("name").ok().flatten().and_then(|name| name.to_text());
    match name.unwrap_or_default().as_str() {
        "say" => text(arguments["text"].as_str().unwrap_or_default()),
        "order" => {
            let ordered = json!({ "ordered": arguments });
            // An order for Ada comes with its result as text, too, as servers send it for older clients.
            let repeated = match arguments["names"][0].as_str() {
                Some("Ada") => json!([{ "type": "text", "text": ordered.to_string() }]),
                _ => json!([]),
            };
            done(&json!({ "content": repeated, "structuredContent": ordered }))
        }
        "erase" => text("erased"),
        "restock" => text("restocked"),
        "count" => count(arguments["to"].as_u64().unwrap_or(0), context).await,
        "picture" => done(&json!({ "content": [
            { "type": "image", "mimeType": "image/png", "data": DOT } ] })),
        "album" => done(&json!({ "content": [
            { "type": "text", "text": "an album" },
            { "type": "image", "mimeType": "image/png", "data": DOT },
            { "type": "audio", "mimeType": "audio/wav", "data": "UklGRg==" },
            { "type": "resource", "resource": { "uri": "kiosk://a", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "kiosk://b", "blob": "AAEC" } },
            { "type": "resource_link", "uri": "kiosk://leaflet", "name": "leaflet" },
            { "type": "hologram", "depth": 3 },
        ] })),
        "book" => {
            let lines = 0..arguments["lines"].as_u64().unwrap_or(0);
            let lines: Vec<_> = lines.map(|line| format!("line {line}")).collect();
            text(&lines.join("\n"))
        }
        "fail" => done(&json!({
            "content": [{ "type": "text", "text": "out of paper" }], "isError": true })),
        "refuse" => Err(RpcError::new(code::INTERNAL_ERROR, "the kiosk is closed")),
        "hang" => std::future::pending().await,
        "register" => ask(&asked, &form()),
        "sign" => ask(
            &asked,
            &json!({ "mode": "url", "message": "Please sign.",
            "url": arguments["url"], "elicitationId": "1" }),
        ),
        "careful" => text("carefully"),
        other => Err(RpcError::new(code::INVALID_PARAMS, format!("no tool is called {other}"))),
    }
}

async fn count(to: u64, context: &RequestContext) -> Result<HandlerReply, RpcError> {
    for number in 1..=to {
        let progress =
            json!({ "progress": number, "total": to, "message": format!("at {number}") });
        context.progress(&raw(&progress)).await;
        context.log_text("info", &format!("counted {number}")).await;
    }
    text(&format!("counted to {to}"))
}

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "required": ["name", "colour"],
            "properties": {
                "name": { "type": "string", "title": "Name", "minLength": 2,
                          "description": "As your friends say it" },
                "mail": { "type": "string", "format": "email" },
                "age": { "type": "integer", "default": 18, "maximum": 120 },
                "member": { "type": "boolean" },
                "colour": { "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] },
                "days": { "type": "array", "items": { "enum": ["mon", "tue"] } },
            },
        },
    })
}

/// Asks a question, then returns the answer.
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
        Some(answer) => match &answer.outcome {
            Ok(said) => text(said.as_str()),
            Err(error) => text(&error.message),
        },
    }
}

fn read(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let uri = asked.params.get("uri").ok().flatten().and_then(|uri| uri.to_text());
    let uri = uri.unwrap_or_default();
    let contents = match uri.as_str() {
        "kiosk://leaflet" => json!({ "uri": uri, "text": "take one\u{1b}[2J" }),
        "kiosk://stamp" => json!({ "uri": uri, "mimeType": "image/png", "blob": "AAEC" }),
        page if page.starts_with("kiosk://page/") => json!({ "uri": uri, "text": page }),
        _ => return Err(RpcError::new(code::RESOURCE_NOT_FOUND, "no such leaflet")),
    };
    done(&json!({ "contents": [contents] }))
}

fn prompt(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let to = asked.params.get_path(&["arguments", "to"]).ok().flatten();
    let to = to.and_then(|to| to.to_text()).unwrap_or_default();
    done(&json!({ "messages": [
        { "role": "user", "content": { "type": "text", "text": format!("Write to {to}.") } },
        { "role": "assistant", "content": { "type": "image", "mimeType": "image/png", "data": DOT } },
    ] }))
}

fn text(text: &str) -> Result<HandlerReply, RpcError> {
    done(&json!({ "content": [{ "type": "text", "text": text }] }))
}

#[expect(clippy::unnecessary_wraps, reason = "the last word of many fallible functions")]
fn done(value: &Value) -> Result<HandlerReply, RpcError> {
    Ok(HandlerReply::Complete(raw(value)))
}

fn raw(value: &Value) -> Raw {
    Raw::from_value(value).unwrap()
}
