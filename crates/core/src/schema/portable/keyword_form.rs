//! The form that the value of each keyword must have, in every dialect.
//!
//! Used by `schema::portable`. Our validator checks only the keywords of the named dialect; Ajv checks each keyword
//! that it knows, from any dialect.

use serde_json::{Map, Value};

/// The form of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeywordForm {
    Schema,
    SchemaOrList,
    SchemaList,
    SchemaMap,
    /// An object of schemas or lists of names.
    Dependencies,
    /// An object of lists of names.
    NameLists,
    Number,
    Count,
    Text,
    Flag,
    Names,
    /// A type or a list of types.
    Types,
    /// A list with at least one value.
    Values,
}

use KeywordForm::{
    Count, Dependencies, Flag, NameLists, Names, Number, Schema, SchemaList, SchemaMap,
    SchemaOrList, Text, Types, Values,
};

const FORMS: [(&str, KeywordForm); 48] = [
    ("$id", Text),
    ("$ref", Text),
    ("$dynamicRef", Text),
    ("$recursiveRef", Text),
    ("$anchor", Text),
    ("$dynamicAnchor", Text),
    ("$recursiveAnchor", Flag),
    ("$defs", SchemaMap),
    ("definitions", SchemaMap),
    ("allOf", SchemaList),
    ("anyOf", SchemaList),
    ("oneOf", SchemaList),
    ("not", Schema),
    ("if", Schema),
    ("then", Schema),
    ("else", Schema),
    ("properties", SchemaMap),
    ("patternProperties", SchemaMap),
    ("additionalProperties", Schema),
    ("unevaluatedProperties", Schema),
    ("propertyNames", Schema),
    ("dependencies", Dependencies),
    ("dependentSchemas", SchemaMap),
    ("dependentRequired", NameLists),
    ("prefixItems", SchemaList),
    ("items", SchemaOrList),
    ("additionalItems", Schema),
    ("unevaluatedItems", Schema),
    ("contains", Schema),
    ("minContains", Count),
    ("maxContains", Count),
    ("minItems", Count),
    ("maxItems", Count),
    ("minLength", Count),
    ("maxLength", Count),
    ("minProperties", Count),
    ("maxProperties", Count),
    ("minimum", Number),
    ("maximum", Number),
    ("exclusiveMinimum", Number),
    ("exclusiveMaximum", Number),
    ("multipleOf", Number),
    ("uniqueItems", Flag),
    ("pattern", Text),
    ("format", Text),
    ("required", Names),
    ("type", Types),
    ("enum", Values),
];

const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// The first keyword of `schema` that has a value of another form.
pub(super) fn wrong_keyword(schema: &Map<String, Value>) -> Option<&'static str> {
    let is_wrong = |(keyword, form): &(&str, KeywordForm)| {
        schema.get(*keyword).is_some_and(|value| !form.fits(value))
    };
    FORMS.iter().find(|entry| is_wrong(entry)).map(|(keyword, _)| *keyword)
}

// === impl KeywordForm ===

impl KeywordForm {
    fn fits(self, value: &Value) -> bool {
        match self {
            Schema => is_schema(value),
            SchemaOrList => is_schema(value) || is_list_of(value, is_schema),
            SchemaList => is_list_of(value, is_schema) && !is_empty(value),
            SchemaMap => is_map_of(value, is_schema),
            Dependencies => is_map_of(value, |value| is_schema(value) || is_names(value)),
            NameLists => is_map_of(value, is_names),
            Number => value.is_number(),
            Count => value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0),
            Text => value.is_string(),
            Flag => value.is_boolean(),
            Names => is_names(value),
            Types => is_type(value) || is_list_of(value, is_type) && !is_empty(value),
            Values => value.is_array() && !is_empty(value),
        }
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_names(value: &Value) -> bool {
    is_list_of(value, Value::is_string)
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn is_list_of(value: &Value, is_fit: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(is_fit))
}

fn is_map_of(value: &Value, is_fit: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|map| map.values().all(is_fit))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}
