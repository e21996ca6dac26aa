//! Mistakes in arguments, as messages that a person or a model can act on.
//!
//! Used by `schema`, by `dispatch` errors, and by `switchboard call`. A message names the place, the expected type
//! and the *kind* of value found. It never repeats a value: arguments carry secrets, and the caller has them
//! already.

use std::fmt;

use jsonschema::{ValidationError, error::TypeKind, error::ValidationErrorKind as Kind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_config::nearest_name;
use switchboard_wire::sanitize;

/// How many mistakes one error reports.
pub(super) const MAX_MISTAKES: usize = 5;
/// How many names or allowed values one message lists.
const MAX_NAMES_LISTED: usize = 20;
/// How many characters of a name or an allowed value are shown.
const MAX_NAME_CHARS: usize = 80;

/// How many characters of a path are shown.
const MAX_PATH_CHARS: usize = 200;

/// Arguments that do not match the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}", MistakeList(.problems))]
pub struct InvalidArguments {
    /// The first few mistakes, at least one.
    pub problems: Vec<ArgumentMistake>,
}

/// One mistake in arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentMistake {
    /// The place as a JSON pointer; empty for the arguments as a whole.
    pub path: String,
    /// The expected value and the kind of value found.
    pub message: String,
}

struct MistakeList<'a>(&'a [ArgumentMistake]);

// === impl InvalidArguments ===

impl InvalidArguments {
    /// Makes an error with one mistake.
    pub(super) fn one(path: &str, message: impl Into<String>) -> Self {
        Self { problems: vec![ArgumentMistake::new(path, message)] }
    }
}

// === impl ArgumentMistake ===

impl ArgumentMistake {
    pub(super) fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: cut(path, MAX_PATH_CHARS), message: message.into() }
    }
}

impl fmt::Display for ArgumentMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

// === impl MistakeList ===

impl fmt::Display for MistakeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

/// Converts an error of the validator to mistakes.
pub(super) fn mistakes(error: &ValidationError<'_>, schema: &Value) -> Vec<ArgumentMistake> {
    let path = error.instance_path().as_str();
    let got = || kind_of(error.instance());
    let is = |message: String| vec![ArgumentMistake::new(path, message)];
    match error.kind() {
        Kind::Type { kind } => is(format!("expected {}, got {}", types(kind), got())),
        Kind::Required { property } => is(required(error, property, schema)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|name| unknown(path, name, error, schema)).collect()
        }
        Kind::Enum { options } => is(format!("expected one of {}, got {}", values(options), got())),
        Kind::Constant { expected_value } => {
            is(format!("expected {}, got {}", value(expected_value), other(expected_value, error)))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            closest_form_mistakes(path, context, schema, error.instance())
        }
        Kind::PropertyNames { error: inner } => {
            let inner = mistakes(inner, schema).into_iter().map(|mistake| mistake.message).next();
            is(format!("has a property name that is not allowed: {}", inner.unwrap_or_default()))
        }
        kind => is(simple_message(kind, &got())),
    }
}

/// Messages that do not need the schema.
fn simple_message(kind: &Kind, got: &str) -> String {
    let at =
        |relation: &str, limit: &Value| format!("expected a number {relation} {}", value(limit));
    match kind {
        Kind::Minimum { limit } => at("of at least", limit),
        Kind::Maximum { limit } => at("of at most", limit),
        Kind::ExclusiveMinimum { limit } => at("greater than", limit),
        Kind::ExclusiveMaximum { limit } => at("less than", limit),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("expected at least {limit} characters"),
        Kind::MaxLength { limit } => format!("expected at most {limit} characters"),
        Kind::MinItems { limit } => format!("expected at least {limit} items"),
        Kind::MaxItems { limit } => format!("expected at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("expected at most {limit} items"),
        Kind::UnevaluatedItems { .. } => "has items that are not expected".to_owned(),
        Kind::MinProperties { limit } => format!("expected at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("expected at most {limit} properties"),
        Kind::UniqueItems => "expected items that all differ".to_owned(),
        Kind::Contains => "no item is of the kind that has to be there".to_owned(),
        Kind::Pattern { pattern } => format!("expected text that matches {}", quoted(pattern)),
        Kind::Format { format } => format!("expected a {}", shortened(format)),
        Kind::OneOfMultipleValid { .. } => "fits more than one of the allowed forms".to_owned(),
        Kind::Not { .. } => format!("this {got} is of a form that is not allowed"),
        Kind::FalseSchema => format!("nothing is allowed here, got {got}"),
        other => format!("this {got} does not satisfy `{}`", shortened(other.keyword())),
    }
}

fn required(error: &ValidationError<'_>, property: &Value, schema: &Value) -> String {
    let name = property.as_str().unwrap_or_default();
    let given = error.instance().as_object();
    let known = known_beside(error, schema);
    // A misspelt name shows up as one missing and one unknown name.
    let strangers = given.into_iter().flat_map(Map::keys).filter(|key| !known.contains(key));
    match nearest_name(name, strangers.map(String::as_str)) {
        Some(meant) => format!("{} is required; is it meant by {}?", quoted(name), quoted(meant)),
        None => format!("{} is required", quoted(name)),
    }
}

fn unknown(path: &str, name: &str, error: &ValidationError<'_>, schema: &Value) -> ArgumentMistake {
    let known = known_beside(error, schema);
    let at = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    ArgumentMistake::new(&at, unknown_name(name, &known))
}

/// The message for a property that is not among `known`.
pub(super) fn unknown_name(name: &str, known: &[&String]) -> String {
    let hint = match nearest_name(name, known.iter().map(|known| known.as_str())) {
        Some(meant) => format!("; did you mean {}?", quoted(meant)),
        None if known.is_empty() => String::new(),
        None => format!("; known are {}", names(known)),
    };
    format!("unknown property {}{hint}", quoted(name))
}

/// The properties that the failing schema lists.
fn known_beside<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Vec<&'s String> {
    let keyword = error.schema_path().as_str();
    let holder = keyword.rsplit_once('/').map_or("", |(holder, _)| holder);
    let properties = schema.pointer(holder).and_then(|holder| holder.get("properties"));
    properties.and_then(Value::as_object).map(|map| map.keys().collect()).unwrap_or_default()
}

/// Of several alternatives that all fail, explains the one that was most likely meant.
fn closest_form_mistakes(
    path: &str,
    forms: &[Vec<ValidationError<'_>>],
    schema: &Value,
    instance: &Value,
) -> Vec<ArgumentMistake> {
    let wanted: Vec<&TypeKind> =
        forms.iter().filter_map(|errors| type_only(errors, path)).collect();
    if !forms.is_empty() && wanted.len() == forms.len() {
        let mut wanted: Vec<String> = wanted.into_iter().map(types).collect();
        wanted.dedup();
        let message = format!("expected {}, got {}", wanted.join(" or "), kind_of(instance));
        return vec![ArgumentMistake::new(path, message)];
    }
    // An alternative of another type was hardly meant; of the rest, the one with the fewest mistakes.
    let candidates = forms.iter().filter(|errors| type_only(errors, path).is_none());
    let Some(meant) = candidates.min_by_key(|errors| errors.len()) else {
        return vec![ArgumentMistake::new(path, "fits none of the allowed forms")];
    };
    meant
        .iter()
        .flat_map(|error| mistakes(error, schema))
        .take(MAX_MISTAKES)
        .map(|mistake| ArgumentMistake {
            message: format!("{} (the nearest of {} forms)", mistake.message, forms.len()),
            ..mistake
        })
        .collect()
}

/// The expected type, if the type is the only mistake at `path`.
fn type_only<'e>(errors: &'e [ValidationError<'_>], path: &str) -> Option<&'e TypeKind> {
    errors.iter().find_map(|error| match error.kind() {
        Kind::Type { kind } if error.instance_path().as_str() == path => Some(kind),
        _ => None,
    })
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => {
            set.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// The kind of a value.
pub(super) fn kind_of(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    kind.to_owned()
}

fn other(expected: &Value, error: &ValidationError<'_>) -> String {
    let got = kind_of(error.instance());
    if got == kind_of(expected) { format!("another {got}") } else { got }
}

/// Lists the values that the schema allows.
fn values(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    listed(options.iter().map(value), options.len())
}

fn value(value: &Value) -> String {
    shortened(&value.to_string())
}

/// Lists names.
pub(super) fn names(names: &[&String]) -> String {
    listed(names.iter().map(|name| quoted(name)), names.len())
}

fn listed(items: impl Iterator<Item = String>, count: usize) -> String {
    let shown: Vec<String> = items.take(MAX_NAMES_LISTED).collect();
    let more = count.saturating_sub(shown.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", shortened(name))
}

/// Text of a schema, sanitized and cut to one line.
pub(super) fn shortened(text: &str) -> String {
    cut(text, MAX_NAME_CHARS)
}

fn cut(text: &str, shown: usize) -> String {
    let clean = sanitize::sanitize_line(text);
    match clean.char_indices().nth(shown) {
        Some((cut, _)) => format!("{}…", &clean[..cut]),
        None => clean.into_owned(),
    }
}
