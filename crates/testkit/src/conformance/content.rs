//! The prompts, resources and completions of the conformance server.
//!
//! Used by `conformance`.

use serde_json::{Value, json};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{HandlerReply, HandlerRequest};

use super::{asking, done, invalid, skills, text};

/// A picture of one pixel.
pub(super) const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A WAV file without sound.
pub(super) const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

/// `prompts/get`.
pub(super) fn prompt(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let argument = |name: &str| text(asked, &["arguments", name]);
    match text(asked, &["name"]).as_str() {
        "test_simple_prompt" => said(&[words("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            said(&[words(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))])
        }
        "test_prompt_with_embedded_resource" => said(&[
            json!({ "type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing." } }),
            words("Please process the embedded resource above."),
        ]),
        "test_prompt_with_image" => said(&[
            json!({ "type": "image", "mimeType": "image/png", "data": DOT }),
            words("Please analyze the image above."),
        ]),
        "test_input_required_result_prompt" => asking::prompt(asked),
        other => Err(invalid(format!("no prompt is called {other}"))),
    }
}

/// A prompt of these contents, each a message of the user.
pub(super) fn said(contents: &[Value]) -> Result<HandlerReply, RpcError> {
    let message = |content: &Value| json!({ "role": "user", "content": content });
    let messages: Vec<_> = contents.iter().map(message).collect();
    done(&json!({ "messages": messages }))
}

/// A text content.
pub(super) fn words(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// `resources/read`.
pub(super) fn read(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let uri = text(asked, &["uri"]);
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri.as_str(), id) {
        ("test://static-text", _) => json!({ "uri": uri, "mimeType": "text/plain",
            "text": "This is the content of the static text resource." }),
        ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": DOT }),
        ("test://watched-resource", _) => json!({ "uri": uri, "mimeType": "text/plain",
            "text": "Watched resource content" }),
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
        _ => skills::file(&uri).ok_or_else(|| missing(&uri))?,
    };
    done(&json!({ "contents": [contents] }))
}

fn missing(uri: &str) -> RpcError {
    let data = Raw::from_value(&json!({ "uri": uri })).unwrap();
    RpcError::new(code::RESOURCE_NOT_FOUND, "Resource not found").with_data(data)
}

/// `completion/complete`: the values that begin with the typed text.
pub(super) fn complete(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let typed = text(asked, &["argument", "value"]);
    let values: Vec<_> =
        ["paris", "park", "party"].into_iter().filter(|value| value.starts_with(&typed)).collect();
    done(&json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
}
