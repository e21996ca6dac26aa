//! A JSON Schema as text, one line for each property.
//!
//! Used by `commands::tools::one`. It does not validate (`core::schema` does).

use serde_json::Value;
use switchboard_wire::sanitize;

use crate::show;

/// The most levels of nested objects.
const MAX_DEPTH: usize = 4;
/// The most values of an `enum`.
const MAX_ENUM_VALUES: usize = 8;

/// One property.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PropertyRow {
    /// The name; dots lead into nested objects.
    pub(super) name: String,
    /// The type.
    pub(super) kind: String,
    /// The description.
    pub(super) about: String,
}

/// The properties of a schema, each followed by its nested properties.
pub(super) fn rows(schema: &Value) -> Vec<PropertyRow> {
    let mut rows = Vec::new();
    add(schema, "", 0, &mut rows);
    rows
}

fn add(schema: &Value, before: &str, depth: usize, rows: &mut Vec<PropertyRow>) {
    let Some(properties) = schema["properties"].as_object().filter(|_| depth < MAX_DEPTH) else {
        return;
    };
    let required = schema["required"].as_array();
    for (name, property) in properties {
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
        let name = format!("{before}{}", sanitize::sanitize_line(name));
        rows.push(PropertyRow {
            kind: with_manner(&kind(property), property, is_required),
            about: sanitize::sanitize_line(property["description"].as_str().unwrap_or_default())
                .into_owned(),
            name: name.clone(),
        });
        add(property, &format!("{name}."), depth + 1, rows);
        add(&property["items"], &format!("{name}[]."), depth + 1, rows);
    }
}

fn with_manner(kind: &str, property: &Value, is_required: bool) -> String {
    let default = property.get("default").map(|value| format!(", else {}", show::inline(value)));
    match default {
        Some(default) => format!("{kind}{default}"),
        None if is_required => format!("{kind}, required"),
        None => kind.to_owned(),
    }
}

fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let named: Vec<_> = values.iter().take(MAX_ENUM_VALUES).map(show::inline).collect();
        let more = if values.len() > MAX_ENUM_VALUES { ", …" } else { "" };
        return format!("one of {}{more}", named.join(", "));
    }
    match &schema["type"] {
        Value::String(word) if word == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(word) => word_for(word),
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).map(word_for).collect();
            words.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn word_for(kind: &str) -> String {
    match kind {
        "string" => "text",
        "integer" => "whole number",
        "number" => "number",
        "boolean" => "true or false",
        "object" => "object",
        "array" => "list",
        "null" => "null",
        _ => "anything",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_in_words() {
        let check = |property: Value, expected: &[&str]| {
            let schema = json!({ "properties": { "x": property }, "required": ["x"] });
            let shown: Vec<_> =
                rows(&schema).iter().map(|row| format!("{}: {}", row.name, row.kind)).collect();
            assert_eq!(shown, expected);
        };
        check(json!({ "type": "string" }), &["x: text, required"]);
        check(json!({ "type": "integer", "default": 3 }), &["x: whole number, else 3"]);
        check(json!({ "enum": ["a", 1] }), &["x: one of \"a\", 1, required"]);
        check(json!({ "type": ["string", "null"] }), &["x: text or null, required"]);
        check(
            json!({ "type": "array", "items": { "type": "number" } }),
            &["x: list of number, required"],
        );
        check(json!({}), &["x: anything, required"]);
        check(
            json!({ "type": "object", "properties": { "y": { "type": "boolean" } } }),
            &["x: object, required", "x.y: true or false"],
        );
        check(
            json!({ "type": "array", "items": { "type": "object", "properties": { "y": {} } } }),
            &["x: list of object, required", "x[].y: anything"],
        );
    }
}
