//! A fast check for simple schemas: an object with members of given types. Most tools have one.
//!
//! Used by `schema` before the full check. It scans the text of the arguments without decoding a tree. Where it is
//! not certain that arguments are valid, it leaves the decision to the full check, which also explains mistakes.

use serde_json::{Map, Value};
use switchboard_wire::json::JsonMembers;

/// A simple schema.
#[derive(Debug)]
pub(super) struct SimpleSchema {
    properties: Vec<SimpleProperty>,
    /// A bit for each required property.
    required: u64,
    /// Whether unlisted members are allowed.
    is_open: bool,
}

#[derive(Debug)]
struct SimpleProperty {
    name: String,
    types: TypeSet,
}

/// The types that a value may have; empty means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct TypeSet(u8);

/// How many properties, and members of arguments, are supported.
const MAX_PROPERTIES: usize = 64;

// === impl SimpleSchema ===

impl SimpleSchema {
    /// Reads `schema`; `None` if it is not simple.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let schema = schema.as_object()?;
        let is_known =
            |key: &str| matches!(key, "properties" | "required" | "additionalProperties");
        if !only_typed(schema, is_known) || schema.get("type")? != "object" {
            return None;
        }
        let is_open = schema.get("additionalProperties").map_or(Some(true), Value::as_bool)?;
        let properties = match schema.get("properties") {
            None => Vec::new(),
            Some(properties) => {
                let properties =
                    properties.as_object().filter(|all| all.len() <= MAX_PROPERTIES)?;
                properties.iter().map(SimpleProperty::of).collect::<Option<_>>()?
            }
        };
        let mut plain = Self { properties, required: 0, is_open };
        if let Some(required) = schema.get("required") {
            for name in required.as_array()? {
                plain.required |= 1 << plain.place(|known| Some(known) == name.as_str())?;
            }
        }
        Some(plain)
    }

    /// Whether these arguments, one well-formed value, are certainly valid.
    pub(super) fn admits(&self, arguments: &str) -> bool {
        let mut found = 0;
        let mut members = JsonMembers::of(arguments);
        for member in members.by_ref().take(MAX_PROPERTIES) {
            match self.place(|name| member.is_named(name)) {
                Some(place) if self.properties[place].types.admit(member.value) => {
                    found |= 1 << place;
                }
                None if self.is_open && !is_nested(member.value) => {}
                _ => return false,
            }
        }
        let is_whole = arguments.starts_with('{') && members.next().is_none();
        is_whole && found & self.required == self.required
    }

    fn place(&self, is_meant: impl Fn(&str) -> bool) -> Option<usize> {
        self.properties.iter().position(|property| is_meant(&property.name))
    }
}

/// Whether a schema has only a type, known keywords and annotations.
fn only_typed(schema: &Map<String, Value>, is_known: impl Fn(&str) -> bool) -> bool {
    const WORDS: [&str; 7] =
        ["type", "title", "description", "default", "examples", "$comment", "deprecated"];
    schema.keys().all(|key| WORDS.contains(&key.as_str()) || is_known(key))
}

/// Whether a value is an object or an array. The full check judges nesting.
fn is_nested(value: &str) -> bool {
    value.starts_with(['{', '['])
}

// === impl SimpleProperty ===

impl SimpleProperty {
    fn of((name, schema): (&String, &Value)) -> Option<Self> {
        let schema = schema.as_object().filter(|schema| only_typed(schema, |_| false))?;
        let types = match schema.get("type") {
            None => TypeSet::default(),
            Some(Value::Array(types)) if !types.is_empty() => types
                .iter()
                .try_fold(TypeSet::default(), |all, one| Some(all.or(TypeSet::of(one)?)))?,
            Some(one) => TypeSet::of(one)?,
        };
        Some(Self { name: name.clone(), types })
    }
}

// === impl TypeSet ===

impl TypeSet {
    const NULL: Self = Self(1);
    const BOOLEAN: Self = Self(2);
    const STRING: Self = Self(4);
    const INTEGER: Self = Self(8);
    const NUMBER: Self = Self(16);
    const NESTED: Self = Self(32);

    fn of(name: &Value) -> Option<Self> {
        Some(match name.as_str()? {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "string" => Self::STRING,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER.or(Self::INTEGER),
            "array" | "object" => Self::NESTED,
            _ => return None,
        })
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `value` certainly has one of these types.
    fn admit(self, value: &str) -> bool {
        let kind = match value.as_bytes().first() {
            Some(b'n') => Self::NULL,
            Some(b't' | b'f') => Self::BOOLEAN,
            Some(b'"') => Self::STRING,
            Some(b'-' | b'0'..=b'9') if value.contains(['.', 'e', 'E']) => Self::NUMBER,
            Some(b'-' | b'0'..=b'9') => Self::INTEGER,
            _ => return false,
        };
        self.0 == 0 || self.0 & kind.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_wire::json::Raw;

    use super::super::SchemaValidator;
    use super::*;

    const ARGUMENTS: &[&str] = &[
        "{}",
        r#"{"s":"x"}"#,
        r#"{"s":"x","n":1}"#,
        r#"{"s":"x","n":1.5}"#,
        r#"{"s":"x","n":1.0}"#,
        r#"{"s":"x","n":1e400}"#,
        r#"{"s":"x","n":-99999999999999999999999999}"#,
        r#"{"s":"x","n":"1"}"#,
        r#"{"s":null}"#,
        r#"{"s":true,"other":false}"#,
        r#"{"s":"x","other":"y"}"#,
        r#"{"s":"x","other":[[[]]]}"#,
        r#"{"s":["x"]}"#,
        r#"{"s":{"x":1}}"#,
        r#"{"\u0073":"x"}"#,
        r#"{"\u0073":1}"#,
        r#"{"s":"x","s":1}"#,
        r#"{"s":1,"s":"x"}"#,
        r#"{ "n" : 7 , "s" : "\ud800" }"#,
        "[]",
        "\"s\"",
        "null",
    ];

    fn compiled(schema: &Value) -> SchemaValidator {
        SchemaValidator::compile(&Raw::parse(schema.to_string()).unwrap()).unwrap()
    }

    /// The simple check never admits arguments that the full check would refuse.
    #[test]
    fn whatever_is_admitted_is_valid() {
        let types = ["string", "number", "integer", "boolean", "null", "array", "object"];
        let mut admitted = 0;
        for (one, other) in types.iter().flat_map(|one| types.map(|other| (one, other))) {
            for required in [json!([]), json!(["s"]), json!(["s", "n"])] {
                for open in [None, Some(true), Some(false)] {
                    let either = if *one == "null" { json!(one) } else { json!([one, "null"]) };
                    let mut schema = json!({
                        "type": "object",
                        "properties": {
                            "s": { "type": either, "description": "words" },
                            "n": { "type": other },
                        },
                        "required": required,
                    });
                    if let Some(open) = open {
                        schema["additionalProperties"] = open.into();
                    }
                    let (plain, whole) = (SimpleSchema::of(&schema).unwrap(), compiled(&schema));
                    for arguments in ARGUMENTS.iter().filter(|text| plain.admits(text)) {
                        let arguments = Raw::parse((*arguments).to_owned()).unwrap();
                        assert_eq!(
                            whole.check_fully(&arguments),
                            Ok(()),
                            "{arguments} with {schema}"
                        );
                        admitted += 1;
                    }
                }
            }
        }
        assert!(admitted > 500, "{admitted}");
    }

    #[test]
    fn usual_arguments_are_admitted_and_unusual_ones_left_to_the_whole_check() {
        let plain = SimpleSchema::of(&json!({
            "type": "object",
            "title": "echo",
            "properties": { "s": { "type": "string", "default": "x" }, "n": { "type": "integer" } },
            "required": ["s"],
        }));
        let plain = plain.unwrap();
        let admitted: Vec<_> = ARGUMENTS.iter().filter(|text| plain.admits(text)).collect();
        let expected = [
            r#"{"s":"x"}"#,
            r#"{"s":"x","n":1}"#,
            r#"{"s":"x","n":-99999999999999999999999999}"#,
            r#"{"s":"x","other":"y"}"#,
            r#"{"\u0073":"x"}"#,
            r#"{ "n" : 7 , "s" : "\ud800" }"#,
        ];
        assert_eq!(admitted, expected.iter().collect::<Vec<_>>());
        let many: Vec<_> = (0..=MAX_PROPERTIES).map(|at| format!(r#""k{at}":1"#)).collect();
        assert!(!plain.admits(&format!(r#"{{"s":"x",{}}}"#, many.join(","))));
    }

    #[test]
    fn schemas_that_ask_for_more_are_not_plain() {
        for schema in [
            json!(true),
            json!({ "properties": {} }),
            json!({ "type": "string" }),
            json!({ "type": ["object"] }),
            json!({ "type": "object", "minProperties": 1 }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "object", "required": ["elsewhere"] }),
            json!({ "type": "object", "$ref": "#/$defs/x", "$defs": { "x": {} } }),
            json!({ "type": "object", "properties": { "s": false } }),
            json!({ "type": "object", "properties": { "s": { "type": [] } } }),
            json!({ "type": "object", "properties": { "s": { "enum": ["x"] } } }),
            json!({ "type": "object", "properties": { "s": { "type": "string", "pattern": "x" } } }),
            json!({ "type": "object", "properties": { "s": { "type": "array", "items": {} } } }),
        ] {
            assert!(SimpleSchema::of(&schema).is_none(), "{schema}");
        }
    }
}
