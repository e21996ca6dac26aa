//! Expansion of `${VAR}`, `${VAR:-default}` and `${secret:NAME}` in string values.
//!
//! Used by `entry_check` and `resolve::settings`; `redact` and `secret` use the parser. It makes one pass from
//! left to right: the value of a variable or a secret is text and is not expanded again, a default is text up
//! to the first `}`, and there is no escape. A secret has no default. Text that does not have the form of a
//! reference stays unchanged.

use std::collections::BTreeSet;

use crate::source::{ConfigNode, ConfigValue, SourceLocation};

/// The reference to the root of the caller's project. Never a variable of the environment.
pub(crate) const PROJECT_ROOT_VARIABLE: &str = "workspaceFolder";
/// The reference to the name of that folder.
pub(crate) const PROJECT_NAME_VARIABLE: &str = "workspaceFolderBasename";

/// Looks up variables and secrets. A variable that is set but empty counts as set.
pub(crate) trait ReferenceLookup {
    fn variable(&self, name: &str) -> Option<&str>;

    fn secret(&self, name: &str) -> Option<&str> {
        let _ = name;
        None
    }
}

impl ReferenceLookup for std::collections::BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// A variable without a value or a default, or a secret without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingReference {
    /// The member that names it, as a path such as `env.TOKEN`.
    pub(crate) field: String,
    pub(crate) kind: ReferenceKind,
    pub(crate) name: String,
    pub(crate) at: SourceLocation,
}

impl MissingReference {
    /// Whether a project is missing, not a variable.
    pub(crate) fn is_project(&self) -> bool {
        self.kind == ReferenceKind::Variable
            && [PROJECT_ROOT_VARIABLE, PROJECT_NAME_VARIABLE].contains(&&*self.name)
    }
}

/// The kind of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferenceKind {
    Variable,
    Secret,
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplatePiece<'a> {
    /// Literal text.
    Literal(&'a str),
    /// A reference to a variable.
    Reference { name: &'a str, default: Option<&'a str>, written: &'a str },
    /// A reference to a secret. The name may be invalid; then no secret has it.
    Secret { name: &'a str, written: &'a str },
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
    let (body, written) = (&template[start + 2..end - 1], &template[start..end]);
    if let Some(name) = body.strip_prefix("secret:").filter(|name| !name.starts_with('-')) {
        return Some((TemplatePiece::Secret { name, written }, end));
    }
    let (name, default) = match body.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (body, None),
    };
    let piece = TemplatePiece::Reference { name, default, written };
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
    lookup: &dyn ReferenceLookup,
) -> (String, Vec<(ReferenceKind, String)>) {
    let mut missing = Vec::new();
    let mut text = String::with_capacity(template.len());
    for piece in split_template(template) {
        let (kind, name, value, written) = match piece {
            TemplatePiece::Literal(literal) => {
                text.push_str(literal);
                continue;
            }
            TemplatePiece::Reference { name, default, written } => {
                (ReferenceKind::Variable, name, lookup.variable(name).or(default), written)
            }
            TemplatePiece::Secret { name, written } => {
                (ReferenceKind::Secret, name, lookup.secret(name), written)
            }
        };
        if value.is_none() {
            missing.push((kind, name.to_owned()));
        }
        text.push_str(value.unwrap_or(written));
    }
    (text, missing)
}

/// Expands every string value of a tree, but no member names.
pub(crate) fn expand_node(
    template: &ConfigNode,
    lookup: &dyn ReferenceLookup,
) -> (ConfigNode, Vec<MissingReference>) {
    let mut missing = Vec::new();
    let node = expand_at(template, "", lookup, &mut missing);
    (node, missing)
}

fn expand_at(
    node: &ConfigNode,
    field: &str,
    lookup: &dyn ReferenceLookup,
    missing: &mut Vec<MissingReference>,
) -> ConfigNode {
    let value = match &node.value {
        ConfigValue::String(template) => {
            let (text, absent) = expand_string(template, lookup);
            missing.extend(absent.into_iter().map(|(kind, name)| MissingReference {
                field: field.to_owned(),
                kind,
                name,
                at: node.at.clone(),
            }));
            ConfigValue::String(text)
        }
        ConfigValue::List(elements) => {
            let each = elements.iter().enumerate();
            let each = each.map(|(index, element)| {
                expand_at(element, &format!("{field}[{index}]"), lookup, missing)
            });
            ConfigValue::List(each.collect())
        }
        ConfigValue::Object(members) => {
            let each = members.iter().map(|member| {
                let mut copy = member.clone();
                copy.value = expand_at(&member.value, &joined(field, &member.key), lookup, missing);
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
                TemplatePiece::Literal(_) | TemplatePiece::Secret { .. } => None,
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
