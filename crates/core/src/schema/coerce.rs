//! Converts arguments that a person types (`key=value`) to JSON by the tool's schema.
//!
//! Used by `switchboard call`. `key=value` is read by the property's type; `key:=json` is taken as JSON; `a.b=c`
//! sets a member of an object; a repeated key, or commas, make a list.
//!
//! It does not guess: where the schema does not determine the type, the mistake says how to write the argument. It
//! does not validate the whole (`SchemaValidator`).

use serde_json::Value;
use switchboard_wire::json::Raw;

use super::{
    ArgumentMistake, InvalidArguments,
    argument_builder::ArgumentBuilder,
    mistake::{MAX_MISTAKES, names, quoted, unknown_name},
};

/// How many `$ref`s and dots are followed.
const MAX_REFERENCE_STEPS: usize = 32;

/// One argument as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedArgument {
    /// The name of the property; dots separate nested names.
    pub key: String,
    /// The typed value.
    pub form: ArgumentForm,
}

/// The form of a typed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentForm {
    /// `key=value`: the schema determines the type of the text.
    Text(String),
    /// `key:=json`: JSON as it stands.
    Json(Raw),
}

/// The type of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    List,
    Object,
}

// === impl TypedArgument ===

impl TypedArgument {
    /// Parses `key=value` or `key:=json`.
    pub fn parse(word: &str) -> Result<Self, ArgumentMistake> {
        let Some((key, value)) = word.split_once('=') else {
            let how = "write `key=value`, or `key:=json` for JSON";
            return Err(ArgumentMistake::new(
                "",
                format!("{} is not an argument; {how}", quoted(word)),
            ));
        };
        let (key, form) = match key.strip_suffix(':') {
            Some(key) => (key, ArgumentForm::Json(json(key, value)?)),
            None => (key, ArgumentForm::Text(value.to_owned())),
        };
        if key.is_empty() {
            return Err(ArgumentMistake::new("", "an argument has no name; write `key=value`"));
        }
        Ok(Self { key: key.to_owned(), form })
    }
}

/// Builds the arguments object from typed arguments, by `schema`. Checks only names, types and required members at
/// the top; [`super::SchemaValidator`] checks the rest.
pub fn build_arguments(arguments: &[TypedArgument], schema: &Raw) -> Result<Raw, InvalidArguments> {
    let root = super::read(schema).map_err(|bad| InvalidArguments::one("", bad.to_string()))?;
    let mut built = ArgumentBuilder::default();
    let mut problems = Vec::new();
    for argument in arguments {
        if let Err(mistake) = place(&mut built, argument, &root) {
            problems.push(mistake);
        }
    }
    if problems.is_empty() {
        problems.extend(missing_property_mistakes(&built, &root));
    }
    problems.truncate(MAX_MISTAKES);
    if !problems.is_empty() {
        return Err(InvalidArguments { problems });
    }
    Raw::parse(built.text()).map_err(|error| InvalidArguments::one("", error.to_string()))
}

fn place(
    built: &mut ArgumentBuilder,
    argument: &TypedArgument,
    root: &Value,
) -> Result<(), ArgumentMistake> {
    let mut schema = follow_references(root, root);
    let mut built = built;
    let mut key = argument.key.as_str();
    for _ in 0..MAX_REFERENCE_STEPS {
        match property(schema, key) {
            Some(found) => return set(built, key, argument, follow_references(found, root), root),
            // A dot separates nested names, unless a property's own name contains it.
            None => match key.split_once('.').and_then(|(outer, inner)| {
                let found = follow_references(property(schema, outer)?, root);
                kinds(found, root).contains(&ValueKind::Object).then_some((outer, inner, found))
            }) {
                Some((outer, inner, found)) => {
                    built = built.object(outer).ok_or_else(|| duplicate_mistake(argument))?;
                    (key, schema) = (inner, found);
                }
                None if is_open(schema) => return set(built, key, argument, &Value::Null, root),
                None => return Err(unknown_property_mistake(argument, key, schema)),
            },
        }
    }
    Err(ArgumentMistake::new("", format!("{} reaches too deep", quoted(&argument.key))))
}

fn set(
    built: &mut ArgumentBuilder,
    key: &str,
    argument: &TypedArgument,
    schema: &Value,
    root: &Value,
) -> Result<(), ArgumentMistake> {
    let text = match &argument.form {
        ArgumentForm::Json(json) => {
            return built.put(key, json.to_string()).ok_or_else(|| duplicate_mistake(argument));
        }
        ArgumentForm::Text(text) => text,
    };
    let kinds = kinds(schema, root);
    if kinds.contains(&ValueKind::List) && !(text.starts_with('[') && is_json(text)) {
        let item = schema.get("items").map_or(&Value::Null, |items| follow_references(items, root));
        let kinds = self::kinds(item, root);
        // Commas separate scalars only: they are part of objects and lists.
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let items: Result<Vec<String>, ArgumentMistake> =
            parts.map(|part| read(part, &kinds, &argument.key)).collect();
        return built.extend(key, items?).ok_or_else(|| duplicate_mistake(argument));
    }
    let json = read(text, &kinds, &argument.key)?;
    built.put(key, json).ok_or_else(|| duplicate_mistake(argument))
}

/// Reads `text` as the first of `kinds` that it can be; as a string if the schema gives no type.
fn read(text: &str, kinds: &[ValueKind], key: &str) -> Result<String, ArgumentMistake> {
    // Every text can be a string, so the other types are tried first.
    let particular = kinds.iter().filter(|kind| **kind != ValueKind::Text);
    if let Some(json) = particular.into_iter().find_map(|kind| read_as(text, *kind)) {
        return Ok(json);
    }
    if kinds.is_empty() || kinds.contains(&ValueKind::Text) {
        return Ok(Raw::string(text).to_string());
    }
    let wanted: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let how = kinds.first().map_or("", |kind| kind.example());
    let message =
        format!("expected {}; write `{}{how}`", wanted.join(" or "), super::shortened(key));
    Err(ArgumentMistake::new(&pointer(key), message))
}

fn read_as(text: &str, kind: ValueKind) -> Option<String> {
    let fits = match kind {
        ValueKind::Text => return Some(Raw::string(text).to_string()),
        ValueKind::Boolean => matches!(text, "true" | "false"),
        ValueKind::Null => text == "null",
        ValueKind::Integer => is_number(text) && is_whole(text),
        ValueKind::Number => is_number(text),
        ValueKind::List => text.starts_with('[') && is_json(text),
        ValueKind::Object => text.starts_with('{') && is_json(text),
    };
    fits.then(|| text.to_owned())
}

/// Returns the types that the schema allows, in its order; empty if it gives none.
fn kinds(schema: &Value, root: &Value) -> Vec<ValueKind> {
    let mut found = Vec::new();
    match schema.get("type") {
        Some(Value::String(name)) => found.extend(ValueKind::named(name)),
        Some(Value::Array(names)) => {
            found.extend(names.iter().filter_map(Value::as_str).filter_map(ValueKind::named));
        }
        _ => {}
    }
    if found.is_empty() && schema.get("properties").is_some() {
        found.push(ValueKind::Object);
    }
    let allowed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    if found.is_empty() {
        let single = schema.get("const").map(std::slice::from_ref);
        found.extend(allowed.or(single).unwrap_or_default().iter().map(ValueKind::of));
    }
    if found.is_empty() {
        for keyword in ["anyOf", "oneOf"] {
            let forms = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
            // One level of `anyOf` or `oneOf` is what generators write for optional values.
            found.extend(forms.map(|form| follow_references(form, root)).filter_map(|form| {
                let name = form.get("type").and_then(Value::as_str);
                name.and_then(ValueKind::named)
            }));
        }
    }
    found
}

/// Follows local references.
fn follow_references<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCE_STEPS {
        let reference = schema.get("$ref").and_then(Value::as_str);
        match reference.and_then(|r| r.strip_prefix('#')).and_then(|at| root.pointer(at)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

fn property<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(key)
}

fn known_properties(schema: &Value) -> Vec<&String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|map| map.keys().collect()).unwrap_or_default()
}

/// Whether an unlisted property is allowed: only where the schema says so, or lists no properties. A person who
/// types an unlisted name has most likely mistyped it.
fn is_open(schema: &Value) -> bool {
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => false,
        Some(_) => true,
        None => known_properties(schema).is_empty() || schema.get("patternProperties").is_some(),
    }
}

fn unknown_property_mistake(
    argument: &TypedArgument,
    key: &str,
    schema: &Value,
) -> ArgumentMistake {
    let known = known_properties(schema);
    let mut message = unknown_name(key, &known);
    if message.ends_with('?') {
        message = format!("{message} It takes {}", names(&known));
    }
    ArgumentMistake::new(&pointer(&argument.key), message)
}

fn missing_property_mistakes(built: &ArgumentBuilder, root: &Value) -> Vec<ArgumentMistake> {
    let schema = follow_references(root, root);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required
        .filter_map(Value::as_str)
        .filter(|name| !built.has(name))
        .map(|name| {
            let kinds =
                property(schema, name).map(|found| kinds(follow_references(found, root), root));
            let how = kinds.and_then(|kinds| kinds.first().map(|kind| kind.example()));
            let how = format!("{}{}", super::shortened(name), how.unwrap_or("=…"));
            ArgumentMistake::new(
                &pointer(name),
                format!("{} is required; write `{how}`", quoted(name)),
            )
        })
        .collect()
}

fn duplicate_mistake(argument: &TypedArgument) -> ArgumentMistake {
    let message = format!("{} is given more than once", quoted(&argument.key));
    ArgumentMistake::new(&pointer(&argument.key), message)
}

fn pointer(key: &str) -> String {
    format!("/{}", super::shortened(key))
}

fn json(key: &str, text: &str) -> Result<Raw, ArgumentMistake> {
    Raw::parse(text.to_owned()).map_err(|error| {
        let message = format!("after `:=` JSON is expected: {error}; for plain text write `=`");
        ArgumentMistake::new(&pointer(key), message)
    })
}

fn is_json(text: &str) -> bool {
    Raw::parse(text.to_owned()).is_ok()
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(text)
}

/// Whether a number is written as an integer; `1.0` and `1e3` count too.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
        || text.parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
}

// === impl ValueKind ===

impl ValueKind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            "array" => Self::List,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Null => "`null`",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }

    /// An example of an argument of this type, after its name.
    fn example(self) -> &'static str {
        match self {
            Self::Text => "=text",
            Self::Integer => "=3",
            Self::Number => "=1.5",
            Self::Boolean => "=true",
            Self::Null => ":=null",
            Self::List => "=a,b` or `…:=[…]",
            Self::Object => ":={…}",
        }
    }
}
