//! TOML, which one other client keeps its servers in.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Lines, Member, Node, Origin, Value};
use crate::problem::{Kind, Problem};

/// Parses `text`.
pub(crate) fn parse(origin: &Origin, text: &str) -> Result<Node, Problem> {
    let lines = Lines::new(origin, text);
    let table = DeTable::parse(text).map_err(|error| {
        let message = format!("cannot read {origin} as TOML: {}", error.message());
        let at = error.span().map_or_else(|| origin.start(), |span| lines.at(span.start));
        Problem::error(Kind::Malformed, message).at(at)
    })?;
    Ok(Node { value: object(table.get_ref(), &lines), at: origin.start() })
}

fn object(table: &DeTable<'_>, lines: &Lines<'_>) -> Value {
    let member = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        Member { key: name.to_string(), at: lines.at(key.span().start), value: node(value, lines) }
    };
    Value::Object(table.iter().map(member).collect())
}

fn node(value: &Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Node {
    let at = lines.at(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => scalar(number.as_str()),
        DeValue::Float(number) => scalar(number.as_str()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(elements) => {
            Value::List(elements.iter().map(|element| node(element, lines)).collect())
        }
        DeValue::Table(table) => object(table, lines),
    };
    Node { value, at }
}

fn scalar(digits: &str) -> Value {
    digits.parse().map_or_else(|_| Value::String(digits.to_owned()), Value::Number)
}
