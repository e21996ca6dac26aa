//! The parser of TOML, the format of Codex.
//!
//! Used by `import`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ConfigMember, ConfigNode, ConfigValue, LineIndex, SourceOrigin};
use crate::problem::{ConfigProblem, ConfigProblemKind};

/// Parses `text`.
pub(crate) fn parse(origin: &SourceOrigin, text: &str) -> Result<ConfigNode, ConfigProblem> {
    let lines = LineIndex::new(origin, text);
    let table = DeTable::parse(text).map_err(|error| {
        let message = format!("cannot read {origin} as TOML: {}", error.message());
        let at = error.span().map_or_else(|| origin.start(), |span| lines.at(span.start));
        ConfigProblem::error(ConfigProblemKind::Malformed, message).at(at)
    })?;
    Ok(ConfigNode { value: object(table.get_ref(), &lines), at: origin.start() })
}

fn object(table: &DeTable<'_>, lines: &LineIndex<'_>) -> ConfigValue {
    let member = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        ConfigMember {
            key: name.to_string(),
            at: lines.at(key.span().start),
            value: node(value, lines),
        }
    };
    ConfigValue::Object(table.iter().map(member).collect())
}

fn node(value: &Spanned<DeValue<'_>>, lines: &LineIndex<'_>) -> ConfigNode {
    let at = lines.at(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => ConfigValue::String(text.to_string()),
        DeValue::Integer(number) => scalar(number.as_str()),
        DeValue::Float(number) => scalar(number.as_str()),
        DeValue::Boolean(value) => ConfigValue::Bool(*value),
        DeValue::Datetime(moment) => ConfigValue::String(moment.to_string()),
        DeValue::Array(elements) => {
            ConfigValue::List(elements.iter().map(|element| node(element, lines)).collect())
        }
        DeValue::Table(table) => object(table, lines),
    };
    ConfigNode { value, at }
}

fn scalar(digits: &str) -> ConfigValue {
    digits.parse().map_or_else(|_| ConfigValue::String(digits.to_owned()), ConfigValue::Number)
}
