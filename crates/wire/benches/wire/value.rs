//! The contender `serde_json::Value`: a tree, as most gateways keep a message.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::inputs::{From, Input};

fn parsed(input: &Input) -> Value {
    serde_json::from_slice(&input.bytes).expect("the input is JSON")
}

pub(crate) fn read(input: &Input) -> Bytes {
    let message = parsed(input);
    let _ = std::hint::black_box(message.get("id"));
    match message.get("method").and_then(Value::as_str) {
        Some("tools/call") => "1".into(),
        _ => "0".into(),
    }
}

pub(crate) fn forward(input: &Input) -> Bytes {
    let mut message = parsed(input);
    message["id"] = json!(977);
    emit(&message)
}

pub(crate) fn splice(input: &Input) -> Bytes {
    let mut message = parsed(input);
    message["id"] = json!(977);
    match input.from {
        From::Client => {
            message["params"]["name"] = json!("forecast");
            message["params"]["_meta"]["progressToken"] = json!(99);
        }
        From::Server => message["result"]["_meta"]["traceparent"] = json!("00-ab-01"),
    }
    emit(&message)
}

fn emit(message: &Value) -> Bytes {
    serde_json::to_vec(message).expect("a tree can be written").into()
}
