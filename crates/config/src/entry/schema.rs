//! Corrections of the derived schema of entries: the accepted spellings of `type`, and where it may be left
//! out.
//!
//! Used by the `JsonSchema` of `Transport`.

use schemars::Schema;
use serde_json::{Value, json};

/// Lets `stdio` leave out `type`, and accepts `streamable-http` for `http`.
pub(super) fn relax(schema: &mut Schema) {
    let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
    for variant in variants {
        let kind =
            variant.pointer("/properties/type/const").and_then(Value::as_str).map(str::to_owned);
        match kind.as_deref() {
            Some("stdio") => retain_required(variant),
            Some("http") => {
                variant["properties"]["type"] = json!({ "enum": ["http", "streamable-http"] });
            }
            _ => {}
        }
    }
    // One entry can match `stdio` and another variant at once, since unknown members are allowed.
    if let Some(variants) = schema.remove("oneOf") {
        schema.insert("anyOf".to_owned(), variants);
    }
}

fn retain_required(variant: &mut Value) {
    if let Some(required) = variant.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != "type");
    }
}
