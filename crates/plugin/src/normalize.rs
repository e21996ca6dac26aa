//! Repairs results of version 1 plugins into the form that MCP requires.
//!
//! Used by `server` and `tasks`. Results of version 2 plugins pass unchanged.

use serde_json::{Value, json};
use switchboard_wire::{
    json::{JsonKind, Raw},
    meta::method,
};

/// The prefix for a `system` message, a role that MCP does not have.
const SYSTEM_MESSAGE_PREFIX: &str = "[Written as a system message]\n";

/// Returns the result for the client. A valid result is passed on byte for byte.
pub(crate) fn normalize_result(abi: u32, asked: &str, result: Raw) -> Raw {
    match (abi, asked) {
        (1, method::TOOLS_CALL) if !has_list(&result, "content") => with_text_content(result),
        (1, method::PROMPTS_GET) => replace_system_messages(result),
        _ => result,
    }
}

fn has_list(result: &Raw, key: &str) -> bool {
    matches!(result.get(key), Ok(Some(value)) if value.kind() == JsonKind::Array)
}

/// Puts a result without `content` into a text block.
fn with_text_content(result: Raw) -> Raw {
    let mut shown = json!({ "content": [{ "type": "text", "text": result.as_str() }] });
    if let Ok(Some(is_error)) = result.get("isError") {
        shown["isError"] = json!(is_error.as_str() == "true");
    }
    Raw::from_value(&shown).unwrap_or(result)
}

fn replace_system_messages(result: Raw) -> Raw {
    let Ok(mut prompt) = result.decode::<Value>() else { return result };
    let messages = prompt["messages"].as_array_mut().into_iter().flatten();
    let mut changed = false;
    for message in messages.filter(|message| message["role"] == "system") {
        changed = true;
        message["role"] = json!("user");
        if let Some(text) = message["content"]["text"].as_str() {
            message["content"]["text"] = json!(format!("{SYSTEM_MESSAGE_PREFIX}{text}"));
        }
    }
    match Raw::from_value(&prompt) {
        Ok(prompt) if changed => prompt,
        _ => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_is_left_alone_and_the_rest_is_put_right() {
        let check = |abi: u32, asked: &str, given: &str, expected: &str| {
            let given = Raw::parse(given.to_owned()).unwrap();
            assert_eq!(normalize_result(abi, asked, given).as_str(), expected);
        };
        let right = r#"{ "content" : [], "isError": true, "x": 1.50 }"#;
        check(1, "tools/call", right, right);
        check(2, "tools/call", r#"{"x":1}"#, r#"{"x":1}"#);
        check(
            1,
            "tools/call",
            r#"{"x":1,"isError":true}"#,
            r#"{"content":[{"type":"text","text":"{\"x\":1,\"isError\":true}"}],"isError":true}"#,
        );
        let prompt = r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}"#;
        check(1, "prompts/get", prompt, prompt);
        check(
            1,
            "prompts/get",
            &prompt.replace("user", "system"),
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"[Written as a system message]\na"}}]}"#,
        );
    }
}
