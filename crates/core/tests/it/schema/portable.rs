//! Tests of which output schemas reach clients: those that Ajv in the TypeScript SDKs compiles.

use serde_json::{Value, json};
use switchboard_core::schema::{check_portable, check_schema};

use super::raw;

/// Why `schema` does not reach clients.
fn refusal(schema: &Value) -> Option<String> {
    let schema = raw(schema.to_string());
    check_schema(&schema).and_then(|()| check_portable(&schema)).err()
}

/// A schema of objects whose property `a` is this.
fn of_property(property: &Value) -> Value {
    json!({ "type": "object", "properties": { "a": property } })
}

fn with_pattern(pattern: &str) -> Value {
    of_property(&json!({ "type": "string", "pattern": pattern }))
}

fn in_dialect(dialect: &str, mut schema: Value) -> Value {
    schema["$schema"] = dialect.into();
    schema
}

const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_06: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019_09: &str = "https://json-schema.org/draft/2019-09/schema";

fn accepted() -> Vec<Value> {
    let any = json!({ "type": "object" });
    vec![
        any.clone(),
        in_dialect(DRAFT_06, any.clone()),
        in_dialect(DRAFT_07, any.clone()),
        in_dialect("https://json-schema.org/draft-07/schema", any.clone()),
        in_dialect("https://json-schema.org/draft/2020-12/schema#", any),
        in_dialect(
            DRAFT_07,
            of_property(&json!({ "items": [{ "type": "string" }], "additionalItems": false })),
        ),
        in_dialect(DRAFT_07, json!({ "dependencies": { "a": ["b"], "c": { "required": ["d"] } } })),
        of_property(&json!({ "type": ["string", "number"], "nullable": true })),
        of_property(&json!({ "type": "null", "nullable": true })),
        of_property(&json!({ "type": "string", "format": "date" })),
        of_property(&json!({ "exclusiveMinimum": 0, "maxLength": 5.0 })),
        of_property(&json!({ "$ref": "#" })),
        json!({ "properties": { "a": { "$ref": "#/$defs/List[Foo]" } }, "$defs": { "List[Foo]": true } }),
        json!({ "properties": { "a": { "$ref": "#/$defs/Node" } }, "$defs": { "Node": {
            "type": "object", "properties": { "children": { "items": { "$ref": "#/$defs/Node" } } }
        } } }),
        json!({ "$id": "https://example.test/s", "properties": { "a": {
            "$ref": "https://example.test/s#/$defs/x" } }, "$defs": { "x": { "type": "string" } } }),
        // Properties that have the names of keywords.
        json!({ "properties": { "pattern": {}, "$id": {}, "nullable": {}, "$async": {}, "type": {} } }),
        with_pattern(r"^[a-z]+(?:-\d{2,})?$"),
        with_pattern("^(?!x)a+?$"),
    ]
}

fn refused() -> Vec<Value> {
    let any = json!({ "type": "object" });
    let mut schemas = vec![
        in_dialect(DRAFT_04, any.clone()),
        in_dialect("http://json-schema.org/schema#", any.clone()),
        in_dialect("https://example.test/dialect", any.clone()),
        in_dialect("", any),
        of_property(&json!({ "$schema": DRAFT_04 })),
        in_dialect(DRAFT_06, json!({ "if": 5 })),
        in_dialect(DRAFT_06, json!({ "if": {}, "then": "x" })),
        in_dialect(DRAFT_07, json!({ "dependentRequired": { "a": 5 } })),
        in_dialect(DRAFT_07, json!({ "$defs": { "x": { "type": "any" } } })),
        in_dialect(DRAFT_07, json!({ "definitions": { "x": { "$id": "#foo" } } })),
        in_dialect(DRAFT_2019_09, of_property(&json!({ "prefixItems": 5 }))),
        json!({ "dependencies": { "a": 5 } }),
        json!({ "$async": true }),
        json!({ "$defs": { "x": { "$anchor": "d" } } }),
        json!({ "$defs": { "x": { "$dynamicAnchor": "d" } } }),
        json!({ "$defs": { "x": { "$ref": "#/$defs/y" }, "y": { "$ref": "#/$defs/x" } } }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "$defs": { "x": { "anyOf": [{ "$ref": "#/$defs/x" }, {}] } } }),
        json!({ "title": "x", "properties": { "a": { "$ref": "#/title" } } }),
        json!({ "x-types": { "a": { "id": 5 } }, "properties": { "a": { "$ref": "#/x-types/a" } } }),
        json!({ "patternProperties": { "a++": {} } }),
    ];
    let properties = [
        json!({ "minimum": 0, "exclusiveMinimum": true }),
        json!({ "type": "string", "nullable": "yes" }),
        json!({ "type": ["string", "null"], "nullable": false }),
        json!({ "nullable": true }),
        json!({ "type": "object", "id": "x" }),
        json!({ "enum": [] }),
        json!({ "$id": "https://example.test/n" }),
        json!({ "additionalItems": "x" }),
        json!({ "$ref": "#/properties/a" }),
        json!({ "type": "string", "format": "date", "formatMinimum": "2020-01-01" }),
        json!({ "type": "number", "formatExclusiveMaximum": 5 }),
    ];
    schemas.extend(properties.iter().map(of_property));
    let patterns = ["a++", "a{2}{3}", "(?=a)*", "^*a", "a$+", r"\b+", "(?i)a", r"\-"];
    schemas.extend(patterns.map(with_pattern));
    schemas
}

#[test]
fn an_output_schema_that_ajv_compiles_reaches_clients() {
    for schema in accepted() {
        assert_eq!(refusal(&schema), None, "{schema}");
    }
}

#[test]
fn an_output_schema_that_ajv_refuses_does_not_reach_clients() {
    for schema in refused() {
        assert!(refusal(&schema).is_some(), "{schema}");
    }
}
