//! One field of an elicitation form: its title, kind, choices and default, and the check of a typed value.
//!
//! Used by `ask::form` on the command line and by `ui::app::form`. It does not print or read.

use serde_json::{Map, Value};
use switchboard_core::schema::SchemaValidator;
use switchboard_wire::json::{Raw, quote};
use switchboard_wire::sanitize;
use url::Url;

/// One field of a form.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) key: String,
    /// The title, sanitized.
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    /// The choices; empty if any value may be typed.
    pub(crate) choices: Vec<Choice>,
    pub(crate) kind: FieldKind,
    default: Option<Raw>,
    pub(crate) is_required: bool,
    schema: Raw,
}

/// One of several values.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The value, as JSON.
    value: Raw,
    pub(crate) label: String,
}

/// The kind of value that a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Text,
    Number,
    Integer,
    Truth,
    /// Several of the choices, as an array.
    Several,
    /// A list of texts.
    Texts,
    /// A schema without a simpler shape: JSON is typed.
    Json,
    /// A schema without a type: JSON, or else text.
    Any,
}

/// The value of a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FieldValue {
    /// A value, as JSON.
    Value(String),
    /// The field was left empty.
    Nothing,
}

// === impl Choice ===

impl Choice {
    /// Whether a word is the label or the value of this choice.
    pub(crate) fn matches(&self, word: &str) -> bool {
        self.label == word || display_value(&self.value) == word
    }
}

// === impl Field ===

impl Field {
    pub(crate) fn new(key: String, schema: Raw, is_required: bool) -> Self {
        let schema = without_null(schema);
        let line = |key| {
            let text =
                text(&schema, key).map(|text| sanitize::sanitize_line(&text).trim().to_owned());
            text.filter(|text| !text.is_empty())
        };
        let several = member(&schema, "items").map(|items| choices(&items)).unwrap_or_default();
        let kind = match text(&schema, "type").as_deref() {
            Some("string") => FieldKind::Text,
            Some("number") => FieldKind::Number,
            Some("integer") => FieldKind::Integer,
            Some("boolean") => FieldKind::Truth,
            Some("array") if !several.is_empty() => FieldKind::Several,
            Some("array") if has_text_items(&schema) => FieldKind::Texts,
            Some("array" | "object") => FieldKind::Json,
            _ => FieldKind::Any,
        };
        let choices = match kind {
            FieldKind::Several => several,
            _ => choices(&schema),
        };
        Self {
            title: line("title").unwrap_or_else(|| sanitize::sanitize_line(&key).into_owned()),
            description: line("description"),
            choices,
            kind,
            default: member(&schema, "default"),
            is_required,
            key,
            schema,
        }
    }

    /// The text in brackets: the default, or else the expected kind.
    pub(crate) fn expected(&self) -> String {
        if let Some(default) = &self.default {
            return sanitize::sanitize_line(&display_value(default)).into_owned();
        }
        let numbers = format!("1 to {}", self.choices.len());
        let expected = match (self.kind, self.choices.len()) {
            (FieldKind::Several, _) => format!("{numbers}, several with commas"),
            (FieldKind::Truth, _) => "y/n".to_owned(),
            (_, 1..) => numbers,
            (FieldKind::Integer, 0) => "a whole number".to_owned(),
            (FieldKind::Number, 0) => "a number".to_owned(),
            (FieldKind::Text, 0) => format(&self.schema).to_owned(),
            (FieldKind::Texts, 0) => "text, several with commas".to_owned(),
            (FieldKind::Json, 0) => "JSON".to_owned(),
            (FieldKind::Any, 0) => "JSON, or text".to_owned(),
        };
        if self.is_required { expected } else { format!("{expected}, or nothing") }
    }

    /// Parses a typed text into JSON, or says why it does not fit.
    pub(crate) fn parse(&self, typed: &str) -> Result<FieldValue, String> {
        if typed.is_empty() {
            return match &self.default {
                Some(default) => Ok(FieldValue::Value(default.to_string())),
                None if self.is_required => Err("This field is required.".to_owned()),
                None => Ok(FieldValue::Nothing),
            };
        }
        let value = self.value(typed)?;
        self.check(&value)?;
        Ok(FieldValue::Value(value))
    }

    fn value(&self, typed: &str) -> Result<String, String> {
        match self.kind {
            FieldKind::Several => {
                let chosen: Result<Vec<_>, _> =
                    typed.split(',').map(|part| self.choice(part.trim())).collect();
                Ok(join_values(&chosen?))
            }
            _ if !self.choices.is_empty() => self.choice(typed),
            FieldKind::Truth => match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok("true".to_owned()),
                "n" | "no" | "false" => Ok("false".to_owned()),
                _ => Err("Please answer y or n.".to_owned()),
            },
            FieldKind::Integer | FieldKind::Number => match typed.parse::<f64>() {
                Ok(number) if number.is_finite() && Raw::parse(typed.to_owned()).is_ok() => {
                    Ok(typed.to_owned())
                }
                _ => Err("Please type a number.".to_owned()),
            },
            FieldKind::Text if !fits(typed, text(&self.schema, "format").as_deref()) => {
                Err(format!("Please type {}.", format(&self.schema)))
            }
            FieldKind::Text => Ok(quote(typed)),
            FieldKind::Texts => Ok(texts(typed)),
            FieldKind::Json => {
                let json = Raw::parse(typed.to_owned());
                json.map(|raw| raw.to_string())
                    .map_err(|error| format!("That is not JSON: {error}."))
            }
            FieldKind::Any => {
                let json = Raw::parse(typed.to_owned());
                Ok(json.map_or_else(|_| quote(typed), |raw| raw.to_string()))
            }
        }
    }

    /// The choices with these numbers, counted from zero, as JSON; or why they do not fit.
    pub(crate) fn choose(&self, numbers: &[usize]) -> Result<FieldValue, String> {
        let mut chosen = numbers.iter().filter_map(|number| self.choices.get(*number));
        let value = match self.kind {
            FieldKind::Several => {
                join_values(&chosen.map(|choice| choice.value.to_string()).collect::<Vec<_>>())
            }
            _ => match chosen.next() {
                Some(choice) => choice.value.to_string(),
                None => return self.parse(""),
            },
        };
        self.check(&value)?;
        Ok(FieldValue::Value(value))
    }

    /// The choices that apply if the person makes none.
    pub(crate) fn default_choices(&self) -> Vec<usize> {
        let is_usual = |choice: &Choice| match (&self.default, self.kind) {
            (Some(default), FieldKind::Several) => {
                default.elements().any(|each| each == choice.value)
            }
            (Some(default), _) => *default == choice.value,
            (None, _) => false,
        };
        let numbered = self.choices.iter().enumerate();
        numbered.filter(|(_, choice)| is_usual(choice)).map(|(number, _)| number).collect()
    }

    /// Finds a choice by its number, value or label.
    fn choice(&self, typed: &str) -> Result<String, String> {
        let numbered = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let numbered = numbered.and_then(|at| self.choices.get(at));
        let named = || {
            let same = |text: &str| text.eq_ignore_ascii_case(typed);
            self.choices
                .iter()
                .find(|choice| same(&display_value(&choice.value)) || same(&choice.label))
        };
        let chosen = numbered.or_else(named);
        let wrong = || format!("Please type a number from 1 to {}.", self.choices.len());
        chosen.map(|choice| choice.value.to_string()).ok_or_else(wrong)
    }

    /// Checks the value against the rest of the field's schema.
    fn check(&self, value: &str) -> Result<(), String> {
        let key = quote(&self.key);
        let schema = format!(r#"{{"type":"object","properties":{{{key}:{}}}}}"#, self.schema);
        let parts = (Raw::parse(schema), Raw::parse(format!("{{{key}:{value}}}")));
        let (Ok(schema), Ok(value)) = parts else { return Ok(()) };
        // A schema that does not compile checks nothing here; the server checks the value itself.
        let Ok(validator) = SchemaValidator::compile(&schema) else { return Ok(()) };
        validator.validate(&value).map_err(|invalid| {
            let first = invalid.problems.into_iter().next();
            let first = first.map(|mistake| mistake.message).unwrap_or_default();
            format!("That is not valid: {first}.")
        })
    }
}

/// The choices of `enum`, with or without `enumNames`, or of `oneOf` and `anyOf` with titles.
fn choices(schema: &Raw) -> Vec<Choice> {
    let list = |key| member(schema, key).map(|list| list.elements().collect::<Vec<_>>());
    let choice = |value: Raw, label: Option<String>| Choice {
        label: sanitize::sanitize_line(&label.unwrap_or_else(|| display_value(&value)))
            .into_owned(),
        value,
    };
    if let Some(values) = list("enum") {
        let names = list("enumNames").unwrap_or_default();
        let values = values.into_iter().enumerate();
        return values
            .map(|(at, value)| choice(value, names.get(at).and_then(Raw::to_text)))
            .collect();
    }
    let titled = list("oneOf").or_else(|| list("anyOf")).unwrap_or_default();
    let titled = titled.iter().filter_map(|one| Some((member(one, "const")?, text(one, "title"))));
    titled.map(|(value, title)| choice(value, title)).collect()
}

/// A schema that also allows null, as generators write optional members, without the null.
fn without_null(schema: Raw) -> Raw {
    not_null(&schema).unwrap_or(schema)
}

/// The schema without its null; `None` if it does not allow null beside one other type.
fn not_null(schema: &Raw) -> Option<Raw> {
    let mut members: Map<String, Value> = schema.decode().ok()?;
    let is_null = |each: &Value| each.get("type").unwrap_or(each).as_str() == Some("null");
    let other = |listed: &Value| match listed.as_array().map(Vec::as_slice) {
        Some([null, other] | [other, null]) if is_null(null) && !is_null(other) => {
            Some(other.clone())
        }
        _ => None,
    };
    if let Some(kind) = members.get("type").and_then(other) {
        members.insert("type".to_owned(), kind);
    } else {
        let key = ["anyOf", "oneOf"].into_iter().find(|key| members.contains_key(*key))?;
        let Value::Object(inner) = other(&members.remove(key)?)? else { return None };
        members = inner.into_iter().chain(members).collect();
    }
    // The default `null` means that the field is left empty.
    members.retain(|key, value| key != "default" || !value.is_null());
    Some(Raw::from(Value::Object(members)))
}

fn has_text_items(schema: &Raw) -> bool {
    member(schema, "items").and_then(|items| text(&items, "type")).as_deref() == Some("string")
}

/// A typed list of texts as JSON: a JSON array as it is, otherwise the parts between commas.
fn texts(typed: &str) -> String {
    match Raw::parse(typed.to_owned()) {
        Ok(array) if typed.starts_with('[') => array.to_string(),
        _ => {
            let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
            join_values(&parts.map(quote).collect::<Vec<_>>())
        }
    }
}

/// A string without its quotes, any other value as JSON.
fn display_value(value: &Raw) -> String {
    value.to_text().unwrap_or_else(|| value.to_string())
}

fn join_values(values: &[String]) -> String {
    format!("[{}]", values.join(","))
}

fn format(schema: &Raw) -> &'static str {
    match text(schema, "format").as_deref() {
        Some("email") => "an email address",
        Some("uri") => "a URL",
        Some("date") => "a date, YYYY-MM-DD",
        Some("date-time") => "a date and time, YYYY-MM-DDThh:mm:ssZ",
        _ => "text",
    }
}

/// Whether a text roughly has a format, for example `email` or `date`; the server checks it exactly.
fn fits(text: &str, format: Option<&str>) -> bool {
    let is_date = |text: &str| {
        let mut parts = text.splitn(3, '-').map(|part| (part.len(), part.parse::<u32>()));
        matches!(
            (parts.next(), parts.next(), parts.next()),
            (Some((4, Ok(_))), Some((2, Ok(1..=12))), Some((2, Ok(1..=31))))
        )
    };
    match format {
        Some("email") => text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace)
        }),
        Some("uri") => Url::parse(text).is_ok(),
        Some("date") => is_date(text),
        Some("date-time") => text.split_once(['T', 't']).is_some_and(|(date, _)| is_date(date)),
        _ => true,
    }
}

fn member(raw: &Raw, key: &str) -> Option<Raw> {
    raw.get(key).ok().flatten()
}

fn text(raw: &Raw, key: &str) -> Option<String> {
    member(raw, key)?.to_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: &str, is_required: bool) -> Field {
        Field::new("x".to_owned(), Raw::parse(schema.to_owned()).unwrap(), is_required)
    }

    #[test]
    fn what_is_typed_becomes_what_is_wanted() {
        let value = |json: &str| Ok(FieldValue::Value(json.to_owned()));
        let wrong = |why: &str| Err(why.to_owned());
        let number = "Please type a number.";
        let choice = "Please type a number from 1 to 2.";
        let titled = r#"{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g"}]}"#;
        let several = r#"{"type":"array","items":{"enum":["a","b"]},"maxItems":1}"#;
        let nullable_choice = r#"{"oneOf":[{"enum":["a","b"]},{"type":"null"}]}"#;
        let texts = r#"{"type":"array","items":{"type":"string"}}"#;
        let nullable_texts = r#"{"type":["null","array"],"items":{"type":"string"}}"#;
        for (schema, typed, expected) in [
            (r#"{"type":"string"}"#, "a \"b\"", value(r#""a \"b\"""#)),
            (r#"{"type":"string"}"#, "", wrong("This field is required.")),
            (r#"{"type":"string","default":"d"}"#, "", value("\"d\"")),
            (
                r#"{"type":"string","minLength":3}"#,
                "ab",
                wrong("That is not valid: expected at least 3 characters."),
            ),
            (
                r#"{"type":"string","format":"email"}"#,
                "ada",
                wrong("Please type an email address."),
            ),
            (r#"{"type":"string","format":"email"}"#, "ada@x.org", value("\"ada@x.org\"")),
            (
                r#"{"type":"string","format":"date"}"#,
                "1.2.2026",
                wrong("Please type a date, YYYY-MM-DD."),
            ),
            (r#"{"type":"string","format":"date"}"#, "2026-07-28", value("\"2026-07-28\"")),
            (r#"{"type":"integer"}"#, "12345678901234567890", value("12345678901234567890")),
            (
                r#"{"type":"integer"}"#,
                "1.5",
                wrong("That is not valid: expected integer, got number."),
            ),
            (r#"{"type":"number"}"#, "inf", wrong(number)),
            (r#"{"type":"number"}"#, "one", wrong(number)),
            (r#"{"type":"boolean"}"#, "Yes", value("true")),
            (r#"{"type":"boolean"}"#, "maybe", wrong("Please answer y or n.")),
            (titled, "1", value("\"r\"")),
            (titled, "red", value("\"r\"")),
            (titled, "g", value("\"g\"")),
            (titled, "3", wrong(choice)),
            (r#"{"type":"integer","enum":[10,20]}"#, "20", value("20")),
            (r#"{"type":"array"}"#, "[1, 2]", value("[1, 2]")),
            (r#"{"type":["string","null"]}"#, "42", value("\"42\"")),
            (r#"{"anyOf":[{"type":"null"},{"type":"string"}]}"#, "true", value("\"true\"")),
            (r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#, "one", wrong(number)),
            (nullable_choice, "2", value("\"b\"")),
            (texts, "tea, \"big\" cake,", value(r#"["tea","\"big\" cake"]"#)),
            (texts, r#"["a, b"]"#, value(r#"["a, b"]"#)),
            (texts, "42", value(r#"["42"]"#)),
            (texts, "[", value(r#"["["]"#)),
            (nullable_texts, "a", value(r#"["a"]"#)),
            (
                r#"{"type":"array","items":{"type":"string"},"maxItems":1}"#,
                "a, b",
                wrong("That is not valid: expected at most 1 items."),
            ),
            ("{}", "true", value("true")),
            ("{}", "so so", value("\"so so\"")),
            (several, "2", value("[\"b\"]")),
            (several, "1, b", wrong("That is not valid: expected at most 1 items.")),
            (several, "1,c", wrong(choice)),
        ] {
            assert_eq!(field(schema, true).parse(typed), expected, "{schema} {typed}");
        }
        assert_eq!(field("{}", false).parse(""), Ok(FieldValue::Nothing));
    }

    #[test]
    fn brackets_say_what_is_expected() {
        for (schema, is_required, expected) in [
            (r#"{"type":"string"}"#, true, "text"),
            ("{}", true, "JSON, or text"),
            (r#"{"type":"object"}"#, true, "JSON"),
            (r#"{"type":["string","null"],"default":null}"#, false, "text, or nothing"),
            (r#"{"type":"array","items":{"type":"string"}}"#, true, "text, several with commas"),
            (r#"{"type":"boolean"}"#, false, "y/n, or nothing"),
            (r#"{"type":"integer","default":18}"#, true, "18"),
            (r#"{"enum":["a","b"]}"#, true, "1 to 2"),
            (r#"{"type":"array","items":{"enum":["a","b"]}}"#, true, "1 to 2, several with commas"),
        ] {
            assert_eq!(field(schema, is_required).expected(), expected);
        }
    }
}
