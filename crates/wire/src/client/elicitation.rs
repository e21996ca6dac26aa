//! Answers to form elicitations: the schema's defaults, and the `accept` result.
//!
//! Used by the test programs, which answer without a person. It shows no form (`cli::ask`) and
//! validates no content.

use serde_json::{Map, Value};

use crate::json::Raw;

/// The defaults that a form's schema names, as the content of an accepted elicitation.
pub fn form_defaults(requested_schema: &Raw) -> Raw {
    let schema: Value = requested_schema.decode().unwrap_or_default();
    let mut content = Map::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            if let Some(default) = property.get("default") {
                content.insert(name.clone(), default.clone());
            }
        }
    }
    Raw::from_value(&content).unwrap_or_else(|_| Raw::empty_object())
}

/// The result of accepting a form with this content.
pub fn accept_form(content: &Raw) -> Raw {
    Raw::from_trusted(format!(r#"{{"action":"accept","content":{content}}}"#).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_filled_from_its_defaults() {
        let schema = Raw::parse(
            r#"{"type":"object","properties":{"a":{"type":"string","default":"x"},
               "b":{"type":"number","default":95.5},"c":{"type":"string"}}}"#,
        )
        .unwrap();
        assert_eq!(
            accept_form(&form_defaults(&schema)).as_str(),
            r#"{"action":"accept","content":{"a":"x","b":95.5}}"#
        );
    }
}
