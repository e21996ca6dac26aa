//! One field of a form: what it wants, and whether what was typed is that.

use switchboard_core::schema::Validator;
use switchboard_wire::json::{Raw, quote};
use switchboard_wire::sanitize;
use url::Url;

/// One field.
pub(super) struct Field {
    pub(super) key: String,
    /// What a person calls it, safe to show.
    pub(super) title: String,
    pub(super) description: Option<String>,
    /// What may be chosen from; nothing where anything may be typed.
    pub(super) choices: Vec<Choice>,
    kind: Kind,
    default: Option<Raw>,
    is_required: bool,
    schema: Raw,
}

/// One of several.
pub(super) struct Choice {
    value: String,
    pub(super) label: String,
}

/// What is typed into a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Integer,
    Truth,
    /// Several of the choices.
    Several,
}

/// What a field was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// A value, as JSON.
    Value(String),
    /// It was left out.
    Nothing,
}

// === impl Field ===

impl Field {
    pub(super) fn new(key: String, schema: Raw, is_required: bool) -> Self {
        let line = |key| {
            let text = text(&schema, key).map(|text| sanitize::line(&text).trim().to_owned());
            text.filter(|text| !text.is_empty())
        };
        let kind = match text(&schema, "type").as_deref() {
            Some("number") => Kind::Number,
            Some("integer") => Kind::Integer,
            Some("boolean") => Kind::Truth,
            Some("array") => Kind::Several,
            _ => Kind::Text,
        };
        let choices = match kind {
            Kind::Several => member(&schema, "items").map(|items| choices(&items)),
            _ => Some(choices(&schema)),
        };
        Self {
            title: line("title").unwrap_or_else(|| sanitize::line(&key).into_owned()),
            description: line("description"),
            choices: choices.unwrap_or_default(),
            kind,
            default: member(&schema, "default"),
            is_required,
            key,
            schema,
        }
    }

    /// What stands in brackets: the default, else what is expected.
    pub(super) fn expected(&self) -> String {
        if let Some(default) = &self.default {
            let shown = default.to_text().unwrap_or_else(|| default.to_string());
            return sanitize::line(&shown).into_owned();
        }
        let numbers = format!("1 to {}", self.choices.len());
        let expected = match (self.kind, self.choices.len()) {
            (Kind::Several, _) => format!("{numbers}, several with commas"),
            (Kind::Truth, _) => "y/n".to_owned(),
            (_, 1..) => numbers,
            (Kind::Integer, 0) => "a whole number".to_owned(),
            (Kind::Number, 0) => "a number".to_owned(),
            (Kind::Text, 0) => format(&self.schema).to_owned(),
        };
        if self.is_required { expected } else { format!("{expected}, or nothing") }
    }

    /// What was typed, as JSON; or why it is not what is wanted.
    pub(super) fn take(&self, typed: &str) -> Result<Taken, String> {
        if typed.is_empty() {
            return match &self.default {
                Some(default) => Ok(Taken::Value(default.to_string())),
                None if self.is_required => Err("Something is needed here.".to_owned()),
                None => Ok(Taken::Nothing),
            };
        }
        let value = self.value(typed)?;
        self.check(&value)?;
        Ok(Taken::Value(value))
    }

    fn value(&self, typed: &str) -> Result<String, String> {
        match self.kind {
            Kind::Several => {
                let chosen: Result<Vec<_>, _> =
                    typed.split(',').map(|part| self.choice(part.trim())).collect();
                Ok(format!("[{}]", chosen?.join(",")))
            }
            _ if !self.choices.is_empty() => self.choice(typed),
            Kind::Truth => match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok("true".to_owned()),
                "n" | "no" | "false" => Ok("false".to_owned()),
                _ => Err("Please answer y or n.".to_owned()),
            },
            Kind::Integer | Kind::Number => match typed.parse::<f64>() {
                Ok(number) if number.is_finite() && Raw::parse(typed.to_owned()).is_ok() => {
                    Ok(typed.to_owned())
                }
                _ => Err("Please type a number.".to_owned()),
            },
            Kind::Text if !fits(typed, text(&self.schema, "format").as_deref()) => {
                Err(format!("Please type {}.", format(&self.schema)))
            }
            Kind::Text => Ok(quote(typed)),
        }
    }

    /// A choice by its number, its value, or its label.
    fn choice(&self, typed: &str) -> Result<String, String> {
        let numbered = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let numbered = numbered.and_then(|at| self.choices.get(at));
        let named = || {
            let same = |text: &str| text.eq_ignore_ascii_case(typed);
            self.choices.iter().find(|choice| same(&choice.value) || same(&choice.label))
        };
        let chosen = numbered.or_else(named);
        let wrong = || format!("Please type a number from 1 to {}.", self.choices.len());
        chosen.map(|choice| quote(&choice.value)).ok_or_else(wrong)
    }

    /// Everything else the server wants of the value.
    fn check(&self, value: &str) -> Result<(), String> {
        let key = quote(&self.key);
        let schema = format!(r#"{{"type":"object","properties":{{{key}:{}}}}}"#, self.schema);
        let parts = (Raw::parse(schema), Raw::parse(format!("{{{key}:{value}}}")));
        let (Ok(schema), Ok(value)) = parts else { return Ok(()) };
        // A schema that cannot be used says nothing; the server checks for itself.
        let Ok(validator) = Validator::compile(&schema) else { return Ok(()) };
        validator.validate(&value).map_err(|invalid| {
            let first = invalid.problems.into_iter().next();
            let first = first.map(|mistake| mistake.message).unwrap_or_default();
            format!("That does not fit: {first}.")
        })
    }
}

/// `enum`, with names or without, or `oneOf` and its like with titles.
fn choices(schema: &Raw) -> Vec<Choice> {
    let list = |key| member(schema, key).map(|list| list.elements().collect::<Vec<_>>());
    let choice = |value: String, label: Option<String>| Choice {
        label: sanitize::line(&label.unwrap_or_else(|| value.clone())).into_owned(),
        value,
    };
    if let Some(values) = list("enum") {
        let names = list("enumNames").unwrap_or_default();
        let values = values.iter().filter_map(Raw::to_text).enumerate();
        return values
            .map(|(at, value)| choice(value, names.get(at).and_then(Raw::to_text)))
            .collect();
    }
    let titled = list("oneOf").or_else(|| list("anyOf")).unwrap_or_default();
    let titled = titled.iter().filter_map(|one| Some((text(one, "const")?, text(one, "title"))));
    titled.map(|(value, title)| choice(value, title)).collect()
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

/// Whether text is of a format, as far as can be told at a glance; the server looks closer.
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
        let value = |json: &str| Ok(Taken::Value(json.to_owned()));
        let wrong = |why: &str| Err(why.to_owned());
        let number = "Please type a number.";
        let choice = "Please type a number from 1 to 2.";
        let titled = r#"{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g"}]}"#;
        let several = r#"{"type":"array","items":{"enum":["a","b"]},"maxItems":1}"#;
        for (schema, typed, expected) in [
            (r#"{"type":"string"}"#, "a \"b\"", value(r#""a \"b\"""#)),
            (r#"{"type":"string"}"#, "", wrong("Something is needed here.")),
            (r#"{"type":"string","default":"d"}"#, "", value("\"d\"")),
            (
                r#"{"type":"string","minLength":3}"#,
                "ab",
                wrong("That does not fit: expected at least 3 characters."),
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
                wrong("That does not fit: expected integer, got number."),
            ),
            (r#"{"type":"number"}"#, "inf", wrong(number)),
            (r#"{"type":"number"}"#, "one", wrong(number)),
            (r#"{"type":"boolean"}"#, "Yes", value("true")),
            (r#"{"type":"boolean"}"#, "maybe", wrong("Please answer y or n.")),
            (titled, "1", value("\"r\"")),
            (titled, "red", value("\"r\"")),
            (titled, "g", value("\"g\"")),
            (titled, "3", wrong(choice)),
            (several, "2", value("[\"b\"]")),
            (several, "1, b", wrong("That does not fit: expected at most 1 items.")),
            (several, "1,c", wrong(choice)),
        ] {
            assert_eq!(field(schema, true).take(typed), expected, "{schema} {typed}");
        }
        assert_eq!(field("{}", false).take(""), Ok(Taken::Nothing));
    }

    #[test]
    fn brackets_say_what_is_expected() {
        for (schema, is_required, expected) in [
            ("{}", true, "text"),
            (r#"{"type":"boolean"}"#, false, "y/n, or nothing"),
            (r#"{"type":"integer","default":18}"#, true, "18"),
            (r#"{"enum":["a","b"]}"#, true, "1 to 2"),
            (r#"{"type":"array","items":{"enum":["a","b"]}}"#, true, "1 to 2, several with commas"),
        ] {
            assert_eq!(field(schema, is_required).expected(), expected);
        }
    }
}
