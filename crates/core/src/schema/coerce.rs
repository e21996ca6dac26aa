//! Arguments as a person types them, made into JSON by the schema.
//!
//! `key=value` is read as the property's type says; `key:=json` is JSON as it stands; `a.b=c` reaches into an
//! object; a repeated key, or commas, make a list. This module refuses to guess: what the schema does not
//! explain is a mistake that says how to write it.

use serde_json::Value;
use switchboard_wire::json::Raw;

use super::{
    Invalid, Mistake,
    built::Built,
    mistake::{MOST, names, quoted, unknown_name},
};

/// How far `$ref`s and dots are followed.
const MOST_STEPS: usize = 32;

/// One argument as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The property; dots reach into objects.
    pub key: String,
    /// What it is to be.
    pub form: Form,
}

/// How a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// `key=value`: the schema says what the text means.
    Text(String),
    /// `key:=json`: JSON as it stands.
    Json(Raw),
}

/// What a property is to be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    List,
    Object,
}

// === impl Argument ===

impl Argument {
    /// Reads `key=value` or `key:=json`.
    pub fn parse(word: &str) -> Result<Self, Mistake> {
        let Some((key, value)) = word.split_once('=') else {
            let how = "write `key=value`, or `key:=json` for JSON";
            return Err(Mistake::new("", format!("{} is not an argument; {how}", quoted(word))));
        };
        let (key, form) = match key.strip_suffix(':') {
            Some(key) => (key, Form::Json(json(key, value)?)),
            None => (key, Form::Text(value.to_owned())),
        };
        if key.is_empty() {
            return Err(Mistake::new("", "an argument has no name; write `key=value`"));
        }
        Ok(Self { key: key.to_owned(), form })
    }
}

/// The arguments object that `arguments` describe, by `schema`. Only what has to be known to read them is
/// checked: names, types, and what is required at the top; the rest is [`super::Validator`]'s.
pub fn arguments_from(arguments: &[Argument], schema: &Raw) -> Result<Raw, Invalid> {
    let root = super::read(schema).map_err(|bad| Invalid::one("", bad.to_string()))?;
    let mut built = Built::default();
    let mut problems = Vec::new();
    for argument in arguments {
        if let Err(mistake) = place(&mut built, argument, &root) {
            problems.push(mistake);
        }
    }
    if problems.is_empty() {
        problems.extend(missing(&built, &root));
    }
    problems.truncate(MOST);
    if !problems.is_empty() {
        return Err(Invalid { problems });
    }
    Raw::parse(built.text()).map_err(|error| Invalid::one("", error.to_string()))
}

fn place(built: &mut Built, argument: &Argument, root: &Value) -> Result<(), Mistake> {
    let mut schema = followed(root, root);
    let mut built = built;
    let mut key = argument.key.as_str();
    for _ in 0..MOST_STEPS {
        match property(schema, key) {
            Some(found) => return set(built, key, argument, followed(found, root), root),
            // A dot reaches into an object, unless the name itself has it.
            None => match key.split_once('.').and_then(|(outer, inner)| {
                let found = followed(property(schema, outer)?, root);
                kinds(found, root).contains(&Kind::Object).then_some((outer, inner, found))
            }) {
                Some((outer, inner, found)) => {
                    built = built.object(outer).ok_or_else(|| twice(argument))?;
                    (key, schema) = (inner, found);
                }
                None if is_open(schema) => return set(built, key, argument, &Value::Null, root),
                None => return Err(stranger(argument, key, schema)),
            },
        }
    }
    Err(Mistake::new("", format!("{} reaches too deep", quoted(&argument.key))))
}

fn set(
    built: &mut Built,
    key: &str,
    argument: &Argument,
    schema: &Value,
    root: &Value,
) -> Result<(), Mistake> {
    let text = match &argument.form {
        Form::Json(json) => return built.put(key, json.to_string()).ok_or_else(|| twice(argument)),
        Form::Text(text) => text,
    };
    let kinds = kinds(schema, root);
    if kinds.contains(&Kind::List) && !(text.starts_with('[') && is_json(text)) {
        let item = schema.get("items").map_or(&Value::Null, |items| followed(items, root));
        let kinds = self::kinds(item, root);
        // Commas separate scalars only: they are part of objects and lists.
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let items: Result<Vec<String>, Mistake> =
            parts.map(|part| read(part, &kinds, &argument.key)).collect();
        return built.extend(key, items?).ok_or_else(|| twice(argument));
    }
    let json = read(text, &kinds, &argument.key)?;
    built.put(key, json).ok_or_else(|| twice(argument))
}

/// `text` as the first of `kinds` that it can be; text if the schema does not say.
fn read(text: &str, kinds: &[Kind], key: &str) -> Result<String, Mistake> {
    // Text fits anything, so whatever is more particular has its turn before.
    let particular = kinds.iter().filter(|kind| **kind != Kind::Text);
    if let Some(json) = particular.into_iter().find_map(|kind| read_as(text, *kind)) {
        return Ok(json);
    }
    if kinds.is_empty() || kinds.contains(&Kind::Text) {
        return Ok(Raw::string(text).to_string());
    }
    let wanted: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let how = kinds.first().map_or("", |kind| kind.example());
    let message =
        format!("expected {}; write `{}{how}`", wanted.join(" or "), super::shortened(key));
    Err(Mistake::new(&pointer(key), message))
}

fn read_as(text: &str, kind: Kind) -> Option<String> {
    let fits = match kind {
        Kind::Text => return Some(Raw::string(text).to_string()),
        Kind::Boolean => matches!(text, "true" | "false"),
        Kind::Null => text == "null",
        Kind::Integer => is_number(text) && is_whole(text),
        Kind::Number => is_number(text),
        Kind::List => text.starts_with('[') && is_json(text),
        Kind::Object => text.starts_with('{') && is_json(text),
    };
    fits.then(|| text.to_owned())
}

/// What the schema says a value may be, in the order it says it; nothing if it does not say.
fn kinds(schema: &Value, root: &Value) -> Vec<Kind> {
    let mut found = Vec::new();
    match schema.get("type") {
        Some(Value::String(name)) => found.extend(Kind::named(name)),
        Some(Value::Array(names)) => {
            found.extend(names.iter().filter_map(Value::as_str).filter_map(Kind::named));
        }
        _ => {}
    }
    if found.is_empty() && schema.get("properties").is_some() {
        found.push(Kind::Object);
    }
    let allowed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    if found.is_empty() {
        let single = schema.get("const").map(std::slice::from_ref);
        found.extend(allowed.or(single).unwrap_or_default().iter().map(Kind::of));
    }
    if found.is_empty() {
        for keyword in ["anyOf", "oneOf"] {
            let forms = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
            // One level is what generators write for optional values.
            found.extend(forms.map(|form| followed(form, root)).filter_map(|form| {
                let name = form.get("type").and_then(Value::as_str);
                name.and_then(Kind::named)
            }));
        }
    }
    found
}

/// The schema behind local references.
fn followed<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MOST_STEPS {
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

fn known(schema: &Value) -> Vec<&String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|map| map.keys().collect()).unwrap_or_default()
}

/// Whether a property that is not named may stand in the object: only where the schema says so, or names
/// none. A person who types a name that is not listed has most likely mistyped it.
fn is_open(schema: &Value) -> bool {
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => false,
        Some(_) => true,
        None => known(schema).is_empty() || schema.get("patternProperties").is_some(),
    }
}

fn stranger(argument: &Argument, key: &str, schema: &Value) -> Mistake {
    let known = known(schema);
    let mut message = unknown_name(key, &known);
    if message.ends_with('?') {
        message = format!("{message} It takes {}", names(&known));
    }
    Mistake::new(&pointer(&argument.key), message)
}

fn missing(built: &Built, root: &Value) -> Vec<Mistake> {
    let schema = followed(root, root);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required
        .filter_map(Value::as_str)
        .filter(|name| !built.has(name))
        .map(|name| {
            let kinds = property(schema, name).map(|found| kinds(followed(found, root), root));
            let how = kinds.and_then(|kinds| kinds.first().map(|kind| kind.example()));
            let how = format!("{}{}", super::shortened(name), how.unwrap_or("=…"));
            Mistake::new(&pointer(name), format!("{} is required; write `{how}`", quoted(name)))
        })
        .collect()
}

fn twice(argument: &Argument) -> Mistake {
    let message = format!("{} is given more than once", quoted(&argument.key));
    Mistake::new(&pointer(&argument.key), message)
}

fn pointer(key: &str) -> String {
    format!("/{}", super::shortened(key))
}

fn json(key: &str, text: &str) -> Result<Raw, Mistake> {
    Raw::parse(text.to_owned()).map_err(|error| {
        let message = format!("after `:=` JSON is expected: {error}; for plain text write `=`");
        Mistake::new(&pointer(key), message)
    })
}

fn is_json(text: &str) -> bool {
    Raw::parse(text.to_owned()).is_ok()
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(text)
}

/// Whether a number is written as a whole one; `1.0` and `1e3` are whole too.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
        || text.parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
}

// === impl Kind ===

impl Kind {
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

    /// How such an argument is written, after its name.
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
