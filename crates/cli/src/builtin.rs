//! The server inside the program: small, real, in need of nothing.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_wire::{
    client::InputRequest,
    envelope::{RpcError, code},
    json::{Raw, quote},
    meta::method,
    server::{Asked, Context, Description, Handler, Reply},
};

/// The longest sleep on offer.
const LONGEST: u64 = 600_000;
/// How often sleep says how far it is.
const STEP: Duration = Duration::from_millis(100);

/// The built-in server.
pub(crate) struct Builtin;

impl Handler for Builtin {
    fn describe(&self) -> Description {
        Description {
            info: to_raw(&json!({
                "name": "switchboard-builtin",
                "title": "Switchboard's built-in server",
                "version": env!("CARGO_PKG_VERSION"),
            })),
            capabilities: to_raw(&json!({
                "tools": {}, "prompts": {}, "resources": {}, "completions": {}, "logging": {},
            })),
            instructions: Some("Tools to try a connection with.".into()),
        }
    }

    fn call<'a>(
        &'a self,
        asked: Asked,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            match asked.method.as_str() {
                method::TOOLS_LIST => Ok(complete(&tools())),
                method::TOOLS_CALL => call_tool(&asked, context).await,
                method::PROMPTS_LIST => Ok(complete(&prompts())),
                method::PROMPTS_GET => get_prompt(&asked),
                method::RESOURCES_LIST => Ok(complete(&resources())),
                method::TEMPLATES_LIST => Ok(complete(&json!({ "resourceTemplates": [] }))),
                method::RESOURCES_READ => read(&asked),
                method::COMPLETE => Ok(complete(&json!({
                    "completion": { "values": LANGUAGES, "hasMore": false },
                }))),
                other => {
                    Err(RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {other}")))
                }
            }
        })
    }
}

const LANGUAGES: &[&str] = &["C++", "Python", "Rust", "TypeScript"];
const NOTICE: &str = "switchboard://about";

fn tools() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let schema = |properties: Value, required: &[&str]| {
        json!({ "type": "object", "properties": properties, "required": required,
                "additionalProperties": false })
    };
    json!({ "tools": [
        { "name": "echo", "description": "Says what it is told.",
          "inputSchema": schema(json!({ "text": text("What to say") }), &["text"]),
          "annotations": { "readOnlyHint": true } },
        { "name": "sleep", "description": "Waits, and tells how far it is. Can be cancelled.",
          "inputSchema": schema(json!({ "milliseconds": {
              "type": "integer", "minimum": 0, "maximum": LONGEST } }), &["milliseconds"]),
          "annotations": { "readOnlyHint": true } },
        { "name": "greet", "description": "Greets by name; asks for the name if it is not given.",
          "inputSchema": schema(json!({ "name": text("Whom to greet") }), &[]),
          "annotations": { "readOnlyHint": true } },
    ] })
}

fn prompts() -> Value {
    json!({ "prompts": [{
        "name": "code-review", "description": "Asks for a review of code in a language.",
        "arguments": [{ "name": "language", "description": "Of the code", "required": true }],
    }] })
}

fn resources() -> Value {
    json!({ "resources": [{
        "uri": NOTICE, "name": "about", "description": "What this server is.",
        "mimeType": "text/plain",
    }] })
}

async fn call_tool(asked: &Asked, context: &Context) -> Result<Reply, RpcError> {
    let arguments = asked.params.get("arguments").ok().flatten();
    let arguments: Value = arguments.and_then(|raw| raw.decode().ok()).unwrap_or_else(|| json!({}));
    match argument(&asked.params, "name")?.as_str() {
        "echo" => match arguments["text"].as_str() {
            Some(text) => Ok(said(text)),
            None => Ok(mistake("`text` must be a string")),
        },
        "sleep" => match arguments["milliseconds"].as_u64().filter(|wanted| *wanted <= LONGEST) {
            Some(milliseconds) => Ok(sleep(milliseconds, context).await),
            None => Ok(mistake(&format!("`milliseconds` must be a whole number up to {LONGEST}"))),
        },
        "greet" => Ok(greet(asked, arguments["name"].as_str(), context)),
        other => Err(RpcError::new(code::INVALID_PARAMS, format!("there is no tool `{other}`"))),
    }
}

async fn sleep(milliseconds: u64, context: &Context) -> Reply {
    let end = tokio::time::Instant::now() + Duration::from_millis(milliseconds);
    let start = tokio::time::Instant::now();
    while tokio::time::Instant::now() < end {
        tokio::time::sleep(STEP.min(end - tokio::time::Instant::now())).await;
        let passed = u64::try_from(start.elapsed().as_millis()).unwrap_or(milliseconds);
        let passed = passed.min(milliseconds);
        let progress = to_raw(&json!({ "progress": passed, "total": milliseconds }));
        context.progress(&progress).await;
    }
    said(&format!("slept {milliseconds} ms"))
}

/// Asks for the name in the client's own way, whichever era that is.
fn greet(asked: &Asked, name: Option<&str>, context: &Context) -> Reply {
    if let Some(name) = name {
        return said(&format!("Hello, {name}!"));
    }
    match asked.answers.first().map(|answer| &answer.outcome) {
        Some(Ok(answer)) => {
            let answer: Value = answer.decode().unwrap_or_default();
            match answer["content"]["name"].as_str() {
                Some(name) if answer["action"] == "accept" => said(&format!("Hello, {name}!")),
                _ => said("Hello, whoever you are!"),
            }
        }
        Some(Err(_)) => said("Hello, whoever you are!"),
        None if !context.offers(&["elicitation"]) => said("Hello, whoever you are!"),
        None => Reply::NeedsInput {
            questions: vec![InputRequest {
                key: "name".into(),
                method: method::ELICIT.into(),
                params: to_raw(&json!({
                    "message": "What is your name?",
                    "requestedSchema": { "type": "object", "required": ["name"],
                        "properties": { "name": { "type": "string", "title": "Name" } } },
                })),
            }],
            state: None,
        },
    }
}

fn get_prompt(asked: &Asked) -> Result<Reply, RpcError> {
    let name = argument(&asked.params, "name")?;
    if name != "code-review" {
        return Err(RpcError::new(code::INVALID_PARAMS, format!("there is no prompt `{name}`")));
    }
    let language = asked.params.get_path(&["arguments", "language"]).ok().flatten();
    let language = language.and_then(|raw| raw.to_text()).ok_or_else(|| {
        RpcError::new(code::INVALID_PARAMS, "argument `language` must be a string")
    })?;
    let text = format!(
        "Review the following {language} code: what is wrong, what is unclear, and what would you change first?"
    );
    Ok(complete(&json!({ "messages": [
        { "role": "user", "content": { "type": "text", "text": text } },
    ] })))
}

fn read(asked: &Asked) -> Result<Reply, RpcError> {
    let uri = argument(&asked.params, "uri")?;
    if uri != NOTICE {
        let data = Raw::parse(format!(r#"{{"uri":{}}}"#, quote(&uri))).ok();
        let mut error =
            RpcError::new(code::INVALID_PARAMS, format!("there is no resource `{uri}`"));
        error.data = data;
        return Err(error);
    }
    let text =
        "This server is part of the switchboard program. It is there to try a connection with.";
    let contents = json!([{ "uri": NOTICE, "mimeType": "text/plain", "text": text }]);
    Ok(complete(&json!({ "contents": contents })))
}

fn argument(params: &Raw, key: &str) -> Result<String, RpcError> {
    let wrong = || RpcError::new(code::INVALID_PARAMS, format!("`{key}` must be a string"));
    params.get(key).ok().flatten().and_then(|raw| raw.to_text()).ok_or_else(wrong)
}

fn said(text: &str) -> Reply {
    complete(&json!({ "content": [{ "type": "text", "text": text }] }))
}

/// A call that was understood and cannot be done is a result that says so.
fn mistake(text: &str) -> Reply {
    complete(&json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}

fn complete(value: &Value) -> Reply {
    Reply::Complete(to_raw(value))
}

/// A `Value` always has a JSON form.
fn to_raw(value: &Value) -> Raw {
    Raw::of(value).unwrap_or_else(|_| Raw::null())
}
