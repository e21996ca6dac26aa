//! Edits of JSON with comments: text in, text out.
//!
//! Used by `workspace`, `install`, `cli::commands::edit` and `hub::admin::files`. It does not write files
//! (`edit::atomic`).

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value};

use super::layout::{TextLayout, indent_at};
use super::splice::{Container, Splice, apply_splices};
use crate::source::{LineIndex, SourceOrigin, jsonc};

/// Why a text could not be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is not JSON, so an edit could lose data.
    #[error("line {line}, column {column}: {why}")]
    Malformed {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// The mistake there.
        why: String,
    },
    /// A value on the path is not an object; the path is empty where that is the whole file.
    #[error("{} is not an object", describe_path(.0))]
    NotAnObject(String),
    /// The member is not a list.
    #[error("`{0}` is not a list")]
    NotAList(String),
}

/// The path of a value, for people.
fn describe_path(path: &str) -> String {
    if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") }
}

/// Returns the value at `path`, if there is one.
pub fn get_member(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    let found = JsonDocument::parse(text)?.find(path).map(|value| json(value));
    Ok(found)
}

/// Sets the member at `path`, and creates the objects on the way to it. If both the old and the new value are
/// objects, only the members that differ are touched.
pub fn set_member(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let (mark, text) = split_mark(text);
    merge(with_root_object(text), path, value).map(|text| format!("{mark}{text}"))
}

/// Removes the member at `path`; a text without it stays unchanged.
pub fn remove_member(text: &str, path: &[&str]) -> Result<String, EditError> {
    let (mark, rest) = split_mark(text);
    let mut rest = rest.to_owned();
    let Some((key, parent)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    // A name may occur twice, and removing only one would bring back the other.
    while let Some(splices) = plan_removal(&rest, parent, key)? {
        rest = apply_splices(&rest, splices);
    }
    Ok(format!("{mark}{rest}"))
}

/// Appends `item` to the list at `path` unless the list contains it; creates a missing list.
pub fn add_to_list(text: &str, path: &[&str], item: impl Into<Value>) -> Result<String, EditError> {
    let item = item.into();
    let document = JsonDocument::parse(text)?;
    match document.find(path) {
        None => set_member(text, path, &Value::Array(vec![item])),
        Some(ast::Value::Array(list)) if position(list, &item).is_some() => Ok(text.to_owned()),
        Some(ast::Value::Array(list)) => {
            let (mark, text) = split_mark(text);
            let item = item.to_string();
            let splices = elements(list).append(text, &TextLayout::detect(text), |_| item.clone());
            Ok(format!("{mark}{}", apply_splices(text, splices)))
        }
        Some(_) => Err(EditError::NotAList(path.join("."))),
    }
}

/// Removes `item` from the list at `path`; an empty list stays.
pub fn remove_from_list(
    text: &str,
    path: &[&str],
    item: impl Into<Value>,
) -> Result<String, EditError> {
    let item = item.into();
    let (mark, rest) = split_mark(text);
    let mut rest = rest.to_owned();
    loop {
        let splices = match JsonDocument::parse(&rest)?.find(path) {
            Some(ast::Value::Array(list)) => {
                position(list, &item).map(|index| elements(list).remove(&rest, index))
            }
            _ => None,
        };
        match splices {
            Some(splices) => rest = apply_splices(&rest, splices),
            None => return Ok(format!("{mark}{rest}")),
        }
    }
}

/// A parsed text.
struct JsonDocument<'a> {
    root: Option<ast::Value<'a>>,
}

impl<'a> JsonDocument<'a> {
    fn parse(text: &'a str) -> Result<Self, EditError> {
        let text = split_mark(text).1;
        let root = jsonc::ast(text).map_err(|error| {
            let at = LineIndex::new(&SourceOrigin::text(""), text).at(error.range().start);
            let why = error.kind().to_string();
            EditError::Malformed { line: at.line, column: at.column, why }
        })?;
        Ok(Self { root })
    }

    fn find(&self, path: &[&str]) -> Option<&ast::Value<'a>> {
        let mut value = self.root.as_ref()?;
        for key in path {
            value = &property(value.as_object()?, key)?.value;
        }
        Some(value)
    }
}

fn property<'a, 'b>(object: &'b ast::Object<'a>, key: &str) -> Option<&'b ast::ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

fn merge(text: String, path: &[&str], value: &Value) -> Result<String, EditError> {
    let document = JsonDocument::parse(&text)?;
    let found = document.find(path).map(|old| (old.range(), json(old)));
    match (found, value) {
        (None, _) => insert(&text, path, value),
        (Some((_, old)), new) if old == *new => Ok(text),
        (Some((_, Value::Object(old))), Value::Object(new)) => merge_members(text, path, &old, new),
        (Some((range, _)), new) => {
            let rendered = TextLayout::detect(&text).render(new, indent_at(&text, range.start));
            let splice = Splice { range: range.start..range.end, text: rendered };
            Ok(apply_splices(&text, vec![splice]))
        }
    }
}

fn merge_members(
    mut text: String,
    path: &[&str],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<String, EditError> {
    let inner = |key| path.iter().copied().chain([key]).collect::<Vec<&str>>();
    // New members first: an object that is emptied meanwhile would lose its layout.
    for (key, value) in new {
        text = merge(text, &inner(key), value)?;
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        text = remove_member(&text, &inner(key))?;
    }
    Ok(text)
}

fn insert(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let document = JsonDocument::parse(text)?;
    let depth = (0..path.len()).rev().find(|depth| document.find(&path[..*depth]).is_some());
    let depth = depth.unwrap_or(0);
    let wrap =
        |value: Value, key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), value)]));
    let object = match document.find(&path[..depth]) {
        Some(ast::Value::Object(object)) => object,
        // Nothing is there: readers take `null` for a missing member.
        Some(ast::Value::NullKeyword(_)) => {
            let object = path[depth..].iter().rev().fold(value.clone(), wrap);
            return merge(text.to_owned(), &path[..depth], &object);
        }
        _ => return Err(EditError::NotAnObject(path[..depth].join("."))),
    };
    let value = path[depth + 1..].iter().rev().fold(value.clone(), wrap);
    let (layout, key) = (TextLayout::detect(text), Value::from(path[depth]).to_string());
    let multiline =
        object.properties.last().is_none_or(|last| super::layout::begins_line(text, last.start()));
    let splices = members(object).append(text, &layout, |indent| {
        if multiline {
            format!("{key}: {}", layout.render(&value, indent))
        } else {
            format!("{key}: {value}")
        }
    });
    Ok(apply_splices(text, splices))
}

fn plan_removal(text: &str, parent: &[&str], key: &str) -> Result<Option<Vec<Splice>>, EditError> {
    let document = JsonDocument::parse(text)?;
    let Some(ast::Value::Object(object)) = document.find(parent) else {
        return Ok(None);
    };
    let index = object.properties.iter().rposition(|property| property.name.as_str() == key);
    Ok(index.map(|index| members(object).remove(text, index)))
}

fn members(object: &ast::Object<'_>) -> Container {
    let items = object.properties.iter().map(range).collect();
    Container { range: range(object), items }
}

fn elements(list: &ast::Array<'_>) -> Container {
    Container { range: range(list), items: list.elements.iter().map(range).collect() }
}

fn range(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

fn position(list: &ast::Array<'_>, item: &Value) -> Option<usize> {
    list.elements.iter().position(|element| json(element) == *item)
}

fn json(value: &ast::Value<'_>) -> Value {
    jsonc::node(value, &LineIndex::new(&SourceOrigin::text(""), "")).to_json()
}

/// Splits off a byte-order mark, which stays where it is.
fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// Appends an empty object to a text without a value, after its comments.
fn with_root_object(text: &str) -> String {
    match jsonc::ast(text) {
        Ok(None) if text.trim().is_empty() => "{}\n".to_owned(),
        Ok(None) => format!("{}\n{{}}\n", text.trim_end()),
        _ => text.to_owned(),
    }
}
