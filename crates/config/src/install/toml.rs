//! Edits of TOML: text in, text out, with every byte outside the entry kept.
//!
//! Used by `install` and `setup` for Codex. The counterpart for JSON is `edit::json_edit`.

use serde_json::{Map, Number, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use crate::edit::EditError;
use crate::source::{LineIndex, SourceOrigin};

/// The byte-order mark.
const MARK: char = '\u{feff}';

pub(super) fn get(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    let document = parse(text)?;
    let Some(servers) = document.get(path[0]) else { return Ok(None) };
    let entries = table(servers, path[0])?;
    Ok(match path.get(1) {
        Some(name) => entries.get(name).map(to_json),
        None => Some(to_json(servers)),
    })
}

pub(super) fn set(text: &str, path: &[&str], entry: &Value) -> Result<String, EditError> {
    let (member, name) = (path[0], path[1]);
    rewrite(text, |document| {
        let servers = document.entry(member).or_insert_with(|| {
            // Implicit, because its header above the headers of its entries would be empty.
            let mut servers = Table::new();
            servers.set_implicit(true);
            Item::Table(servers)
        });
        let is_inline = servers.is_inline_table();
        let servers = table_mut(servers, member)?;
        match servers.get_mut(name).and_then(Item::as_table_like_mut) {
            Some(standing) => update(standing, entry),
            None if is_inline => drop(servers.insert(name, Item::Value(from_json(entry)))),
            None => {
                let mut fresh = Table::new();
                update(&mut fresh, entry);
                servers.insert(name, Item::Table(fresh));
            }
        }
        Ok(())
    })
}

pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, EditError> {
    let (member, name) = (path[0], path[1]);
    rewrite(text, |document| {
        if let Some(servers) = document.get_mut(member) {
            table_mut(servers, member)?.remove(name);
        }
        Ok(())
    })
}

/// Changes the document of a text. The parser drops carriage returns and a byte-order mark, which stay here.
fn rewrite(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let (mark, rest) = text.split_at(if text.starts_with(MARK) { MARK.len_utf8() } else { 0 });
    let mut document = parse(rest)?;
    change(&mut document)?;
    Ok(format!("{mark}{}", keep_line_ends(rest, &document.to_string())))
}

/// The text `new` with the line ends of `old`: those of equal lines before and after the change, and on changed lines
/// that of the first line.
fn keep_line_ends(old: &str, new: &str) -> String {
    // The parser ends every text with a line end.
    let has_no_end = !old.ends_with('\n') && old.lines().last() == new.lines().last();
    let new = if has_no_end { new.trim_end_matches('\n') } else { new };
    let (old, new): (Vec<_>, Vec<_>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let is_equal = |(old, new): (&&str, &&str)| {
        split_line_end(old).0 == split_line_end(new).0 && old.ends_with('\n') == new.ends_with('\n')
    };
    let start = old.iter().zip(&new).take_while(|pair| is_equal(*pair)).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = pairs.take_while(|pair| is_equal(*pair)).count();
    let has_returns = old.first().is_some_and(|first| first.ends_with("\r\n"));
    let line_end = if has_returns { "\r\n" } else { "\n" };
    let changed = new_rest[..new_rest.len() - end].iter().map(|line| match split_line_end(line) {
        (line, "") => line.to_owned(),
        (line, _) => format!("{line}{line_end}"),
    });
    let (before, after) = (old[..start].concat(), old_rest[old_rest.len() - end..].concat());
    before + &changed.collect::<String>() + &after
}

/// Splits a line from its end.
fn split_line_end(line: &str) -> (&str, &str) {
    line.split_at(line.trim_end_matches('\n').trim_end_matches('\r').len())
}

/// Sets the members of `entry` in a table; equal ones are not touched.
fn update(table: &mut dyn TableLike, entry: &Value) {
    let members = entry.as_object().into_iter().flatten();
    for (key, value) in members {
        if table.get(key).map(to_json).as_ref() != Some(value) {
            table.insert(key, Item::Value(from_json(value)));
        }
    }
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let at = LineIndex::new(&SourceOrigin::text(""), text).at(start);
        let why = error.message().to_owned();
        EditError::Malformed { line: at.line, column: at.column, why }
    })
}

fn table<'a>(item: &'a Item, member: &str) -> Result<&'a dyn TableLike, EditError> {
    item.as_table_like().ok_or_else(|| EditError::NotAnObject(member.to_owned()))
}

fn table_mut<'a>(item: &'a mut Item, member: &str) -> Result<&'a mut dyn TableLike, EditError> {
    item.as_table_like_mut().ok_or_else(|| EditError::NotAnObject(member.to_owned()))
}

fn to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(
            table.iter().map(|(key, item)| (key.to_owned(), to_json(item))).collect(),
        );
    }
    match item {
        Item::Value(value) => value_to_json(value),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| to_json(&Item::Table(table.clone()))).collect()
        }
        _ => Value::Null,
    }
}

fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(moment) => moment.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(value_to_json).collect(),
        toml_edit::Value::InlineTable(table) => {
            let members = table.iter().map(|(key, value)| (key.to_owned(), value_to_json(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Converts a value of an entry: text, lists and tables.
fn from_json(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(items) => items.iter().map(from_json).collect::<Array>().into(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.as_str(), from_json(value)));
            members.collect::<InlineTable>().into()
        }
        Value::String(text) => text.as_str().into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        // TOML has no null; an empty text is the nearest value.
        Value::Null => "".into(),
    }
}
