//! Expansion of `${VAR}` and `${VAR:-default}` in string values.
//!
//! Used by `entry_check` and `resolve::settings`; `redact` uses the parser. It makes one pass from left to
//! right: the value of a variable is text and is not expanded again, a default is text up to the first `}`,
//! and there is no escape. Text that does not have the form of a reference stays unchanged.

use std::collections::BTreeSet;

use crate::source::{ConfigNode, ConfigValue, SourceLocation};

/// Looks up a variable. A variable that is set but empty counts as set.
pub(crate) trait VariableLookup {
    fn value(&self, name: &str) -> Option<&str>;
}

impl VariableLookup for std::collections::BTreeMap<String, String> {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// A variable without a value or a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingVariable {
    /// The member that names it, as a path such as `env.TOKEN`.
    pub(crate) field: String,
    pub(crate) variable: String,
    pub(crate) at: SourceLocation,
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplatePiece<'a> {
    /// Literal text.
    Literal(&'a str),
    /// A reference to a variable.
    Reference { name: &'a str, default: Option<&'a str>, written: &'a str },
}

/// Splits a template into pieces.
pub(crate) fn split_template(template: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let (mut literal, mut from) = (0, 0);
    while let Some(start) = template[from..].find("${").map(|at| from + at) {
        let Some((piece, end)) = reference(template, start) else {
            from = start + 2;
            continue;
        };
        if literal < start {
            pieces.push(TemplatePiece::Literal(&template[literal..start]));
        }
        pieces.push(piece);
        (literal, from) = (end, end);
    }
    if literal < template.len() {
        pieces.push(TemplatePiece::Literal(&template[literal..]));
    }
    pieces
}

fn reference(template: &str, start: usize) -> Option<(TemplatePiece<'_>, usize)> {
    let length = template[start + 2..].find('}')?;
    let end = start + 2 + length + 1;
    let body = &template[start + 2..end - 1];
    let (name, default) = match body.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (body, None),
    };
    let piece = TemplatePiece::Reference { name, default, written: &template[start..end] };
    is_name(name).then_some((piece, end))
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Expands one string; references without a value stay unchanged, and the second part of the result names
/// them.
pub(crate) fn expand_string(
    template: &str,
    variables: &dyn VariableLookup,
) -> (String, Vec<String>) {
    let mut missing = Vec::new();
    let mut text = String::with_capacity(template.len());
    for piece in split_template(template) {
        match piece {
            TemplatePiece::Literal(literal) => text.push_str(literal),
            TemplatePiece::Reference { name, default, written } => {
                let value = variables.value(name).or(default);
                if value.is_none() {
                    missing.push(name.to_owned());
                }
                text.push_str(value.unwrap_or(written));
            }
        }
    }
    (text, missing)
}

/// Expands every string value of a tree, but no member names.
pub(crate) fn expand_node(
    template: &ConfigNode,
    variables: &dyn VariableLookup,
) -> (ConfigNode, Vec<MissingVariable>) {
    let mut missing = Vec::new();
    let node = expand_at(template, "", variables, &mut missing);
    (node, missing)
}

fn expand_at(
    node: &ConfigNode,
    field: &str,
    variables: &dyn VariableLookup,
    missing: &mut Vec<MissingVariable>,
) -> ConfigNode {
    let value = match &node.value {
        ConfigValue::String(template) => {
            let (text, absent) = expand_string(template, variables);
            missing.extend(absent.into_iter().map(|variable| MissingVariable {
                field: field.to_owned(),
                variable,
                at: node.at.clone(),
            }));
            ConfigValue::String(text)
        }
        ConfigValue::List(elements) => {
            let each = elements.iter().enumerate();
            let each = each.map(|(index, element)| {
                expand_at(element, &format!("{field}[{index}]"), variables, missing)
            });
            ConfigValue::List(each.collect())
        }
        ConfigValue::Object(members) => {
            let each = members.iter().map(|member| {
                let mut copy = member.clone();
                copy.value =
                    expand_at(&member.value, &joined(field, &member.key), variables, missing);
                copy
            });
            ConfigValue::Object(each.collect())
        }
        other => other.clone(),
    };
    ConfigNode { value, at: node.at.clone() }
}

fn joined(field: &str, key: &str) -> String {
    if field.is_empty() { key.to_owned() } else { format!("{field}.{key}") }
}

/// Collects the variables that a tree names.
pub(crate) fn collect_variables(template: &ConfigNode, names: &mut BTreeSet<String>) {
    match &template.value {
        ConfigValue::String(text) => {
            names.extend(split_template(text).into_iter().filter_map(|piece| match piece {
                TemplatePiece::Reference { name, .. } => Some(name.to_owned()),
                TemplatePiece::Literal(_) => None,
            }));
        }
        ConfigValue::List(elements) => {
            for element in elements {
                collect_variables(element, names);
            }
        }
        ConfigValue::Object(members) => {
            for member in members {
                collect_variables(&member.value, names);
            }
        }
        _ => {}
    }
}
