//! Tests of functions with attributes: their JSON for clients, and their answers.

use serde_json::{Value, json};
use switchboard_plugin_sdk::{
    Content, Context, Failure, Json, Message, Result, plugin, prompt, resource,
    schemars::JsonSchema, serde::Serialize, template, tool,
};

/// Adds numbers.
///
/// Both are whole.
#[tool(read_only, title = "Add")]
fn add(
    /// The first
    a: i64,
    /// The second, or one
    b: Option<i64>,
    #[schemars(range(min = 0))]
    #[serde(default)]
    times: u32,
    cx: &Context,
) -> Result<String> {
    cx.progress(1.0, Some(2.0), "half");
    Ok((a + b.unwrap_or(1) + i64::from(times)).to_string())
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "switchboard_plugin_sdk::serde")]
#[schemars(crate = "switchboard_plugin_sdk::schemars")]
struct Point {
    x: i32,
}

/// A point.
#[tool(name = "a-point")]
fn point(x: i32) -> Json<Point> {
    Json(Point { x })
}

/// Fails.
#[tool]
fn fail(how: String) -> Result<Vec<Content>> {
    match how.as_str() {
        "said" => Err(Failure::new("no")),
        "rpc" => Err(Failure::invalid("never")),
        "error" => Ok(vec![Content::text("x".parse::<i32>()?.to_string())]),
        _ => panic!("on purpose"),
    }
}

/// Reviews.
#[prompt(complete = languages)]
fn review(
    /// Of the code
    language: String,
) -> Message {
    Message::user(format!("Review this {language}"))
}

fn languages(_argument: &str, typed: &str, _cx: &Context) -> Vec<String> {
    let known = ["Rust", "Ruby", "C"].into_iter().filter(|known| known.starts_with(typed));
    known.map(str::to_owned).collect()
}

/// A picture.
#[resource(uri = "pic://one", mime = "image/png")]
fn picture() -> Vec<u8> {
    vec![1, 2, 3]
}

/// Notes.
#[template(uri = "notes://{folder}/{id}")]
fn note(folder: String, id: String) -> String {
    format!("{folder} {id}")
}

plugin! { name: "items", version: "1.2.3", instructions: "Try.", items: [add, point, fail, review, picture, note] }

#[test]
fn what_clients_see() {
    let expected = json!({
        "tools": [
            { "name": "add", "title": "Add", "description": "Adds numbers.\n\nBoth are whole.",
              "inputSchema": { "type": "object", "additionalProperties": false, "required": ["a"],
                "properties": {
                    "a": { "type": "integer", "format": "int64", "description": "The first" },
                    "b": { "type": ["integer", "null"], "format": "int64",
                           "description": "The second, or one" },
                    "times": { "type": "integer", "format": "uint32", "minimum": 0, "default": 0 },
                } },
              "annotations": { "readOnlyHint": true } },
            { "name": "a-point", "description": "A point.",
              "inputSchema": { "type": "object", "additionalProperties": false, "required": ["x"],
                "properties": { "x": { "type": "integer", "format": "int32" } } },
              "outputSchema": { "type": "object", "required": ["x"],
                "properties": { "x": { "type": "integer", "format": "int32" } } } },
            { "name": "fail", "description": "Fails.",
              "inputSchema": { "type": "object", "additionalProperties": false,
                "required": ["how"], "properties": { "how": { "type": "string" } } } },
        ],
        "prompts": [{ "name": "review", "description": "Reviews.", "arguments": [
            { "name": "language", "required": true, "description": "Of the code" }] }],
        "resources": [{ "name": "picture", "description": "A picture.", "uri": "pic://one",
            "mimeType": "image/png" }],
        "resourceTemplates": [{ "name": "note", "description": "Notes.",
            "uriTemplate": "notes://{folder}/{id}", "mimeType": "text/plain" }],
        "methods": [], "completions": true, "extensions": {}, "instructions": "Try.",
    });
    assert_eq!(plugin().describe(), expected);
}

#[test]
fn what_is_answered() {
    let check = |method: &str, params: Value, expected: Value| {
        let cx = Context::for_tests();
        let found = match plugin().handle(method, params.clone(), &cx) {
            Ok(result) => result,
            Err(Failure::Rpc { code, message, .. }) => json!([code, message]),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{method} {params}");
    };
    let said = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let mistake =
        |text: &str| json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });

    check("tools/call", call("add", json!({ "a": 1 })), said("2"));
    check("tools/call", call("add", json!({ "a": 1, "b": 2, "times": 3 })), said("6"));
    check("tools/call", call("add", json!({})), mistake("missing field `a`"));
    check("tools/call", json!({ "name": "add" }), mistake("missing field `a`"));
    let mut structured = said(r#"{"x":4}"#);
    structured["structuredContent"] = json!({ "x": 4 });
    check("tools/call", call("a-point", json!({ "x": 4 })), structured);
    check("tools/call", call("fail", json!({ "how": "said" })), mistake("no"));
    check("tools/call", call("fail", json!({ "how": "rpc" })), json!([-32602, "never"]));
    check(
        "tools/call",
        call("fail", json!({ "how": "error" })),
        mistake("invalid digit found in string"),
    );
    check("tools/call", call("none", json!({})), json!([-32602, "there is no tool `none`"]));
    check("tools/call", json!({}), json!([-32602, "missing field `name`"]));
    check(
        "prompts/get",
        call("review", json!({ "language": "C" })),
        json!({ "description": "Reviews.", "messages": [{ "role": "user",
            "content": { "type": "text", "text": "Review this C" } }] }),
    );
    check("prompts/get", call("review", json!({})), json!([-32602, "missing field `language`"]));
    let contents = |contents: Value| json!({ "contents": [contents] });
    check(
        "resources/read",
        json!({ "uri": "pic://one" }),
        contents(json!({ "uri": "pic://one", "mimeType": "image/png", "blob": "AQID" })),
    );
    check(
        "resources/read",
        json!({ "uri": "notes://a/b%20c" }),
        contents(json!({ "uri": "notes://a/b%20c", "mimeType": "text/plain", "text": "a b c" })),
    );
    check(
        "resources/read",
        json!({ "uri": "x://" }),
        json!([-32002, "there is no resource `x://`"]),
    );
    let reference = json!({ "type": "ref/prompt", "name": "review" });
    check(
        "completion/complete",
        json!({ "ref": reference, "argument": { "name": "language", "value": "Ru" } }),
        json!({ "completion": { "values": ["Rust", "Ruby"], "total": 2, "hasMore": false } }),
    );
    check("no/such", json!({}), json!([-32601, "Method not found: no/such"]));
}

#[test]
fn what_is_said_on_the_way_is_heard() {
    let cx = Context::for_tests();
    add(1, None, 0, &cx).unwrap();
    let progress = json!({ "progress": 1.0, "total": 2.0, "message": "half" });
    assert_eq!(cx.recorded_notifications(), [("notifications/progress".to_owned(), progress)]);
}
