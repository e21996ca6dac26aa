//! What the derived schema cannot know: which spellings of `type` are taken, and where it may be left out.

use schemars::Schema;
use serde_json::{Value, json};

/// `stdio` may leave out `type`, and `streamable-http` is another word for `http`.
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
    // One entry can satisfy `stdio` and another variant at once, since unknown members are allowed.
    if let Some(variants) = schema.remove("oneOf") {
        schema.insert("anyOf".to_owned(), variants);
    }
}

fn retain_required(variant: &mut Value) {
    if let Some(required) = variant.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != "type");
    }
}
