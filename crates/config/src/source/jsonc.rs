//! The parser of JSON with comments and trailing commas, and no looser syntax.
//!
//! Used by `load`, `import`, `entry_check` and `edit`.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{ConfigMember, ConfigNode, ConfigValue, LineIndex, SourceOrigin};
use crate::problem::{ConfigProblem, ConfigProblemKind};

/// The accepted syntax: other clients read these files too, and most clients accept no single quotes or bare
/// words.
pub(crate) const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses `text` without locations, for edits.
pub(crate) fn ast(text: &str) -> Result<Option<ast::Value<'_>>, ParseError> {
    parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS).map(|parsed| parsed.value)
}

/// Parses `text`; empty text is an empty object.
pub(crate) fn parse(origin: &SourceOrigin, text: &str) -> Result<ConfigNode, ConfigProblem> {
    // Some editors write a byte-order mark, which is not JSON.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = LineIndex::new(origin, text);
    match ast(text) {
        Ok(Some(value)) => Ok(node(&value, &lines)),
        Ok(None) => Ok(ConfigNode { value: ConfigValue::Object(Vec::new()), at: origin.start() }),
        Err(error) => Err(malformed(&error, &lines)),
    }
}

fn malformed(error: &ParseError, lines: &LineIndex<'_>) -> ConfigProblem {
    let what = error.kind().to_string();
    let what = what.trim_end_matches('.');
    let message = format!("cannot read {} as JSON: {}", lines.origin(), lower_first(what));
    ConfigProblem::error(ConfigProblemKind::Malformed, message).at(lines.at(error.range().start))
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

pub(crate) fn node(value: &ast::Value<'_>, lines: &LineIndex<'_>) -> ConfigNode {
    let at = lines.at(value.start());
    let value = match value {
        ast::Value::NullKeyword(_) => ConfigValue::Null,
        ast::Value::BooleanLit(literal) => ConfigValue::Bool(literal.value),
        ast::Value::NumberLit(literal) => number(literal.value),
        ast::Value::StringLit(literal) => ConfigValue::String(literal.value.to_string()),
        ast::Value::Array(array) => {
            ConfigValue::List(array.elements.iter().map(|element| node(element, lines)).collect())
        }
        ast::Value::Object(object) => ConfigValue::Object(
            object.properties.iter().map(|property| member(property, lines)).collect(),
        ),
    };
    ConfigNode { value, at }
}

fn member(property: &ast::ObjectProp<'_>, lines: &LineIndex<'_>) -> ConfigMember {
    ConfigMember {
        key: property.name.as_str().to_owned(),
        at: lines.at(property.start()),
        value: node(&property.value, lines),
    }
}

/// Parses a number; one that is too large stays text, and is then refused by its type.
fn number(literal: &str) -> ConfigValue {
    literal.parse().map_or_else(|_| ConfigValue::String(literal.to_owned()), ConfigValue::Number)
}
