//! What a project wants and nobody agreed to yet: shown exactly, in words and for machines.

use serde::Serialize;
use serde_json::{Value, json};
use switchboard_config::{Change, Item, ItemKind, Location, mask};
use switchboard_wire::sanitize;

use crate::printer::{BOLD, DIM, Printer};
use crate::show;

/// One thing to decide about.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) item: Item,
    pub(super) changes: Option<Vec<Change>>,
}

/// The shape of it in `--json`.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    kind: ItemKind,
    name: String,
    at: Location,
    content: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Change>>,
}

/// Whether secrets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Secrets,
    Nothing,
}

impl Case {
    pub(super) fn to_json(&self, hidden: Hidden) -> Shown {
        Shown {
            kind: self.item.kind,
            name: self.item.name.clone(),
            at: self.item.at.clone(),
            content: content(&self.item, hidden),
            changes: self.changes.clone(),
        }
    }

    /// What it is called in a sentence.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.item.kind, show::word(&self.item.name))
    }

    pub(super) fn print(&self, hidden: Hidden, printer: &Printer) {
        let news = match &self.changes {
            Some(_) => ", changed since you approved it",
            None => "",
        };
        let name = show::word(&self.item.name);
        printer.line(format_args!(
            "{} {BOLD}{name}{BOLD:#}{news}\n  --> {}",
            self.item.kind,
            printer.places.location(&self.item.at)
        ));
        let content = content(&self.item, hidden);
        for (label, text) in lines(self.item.kind, &content) {
            printer.line(format_args!("  {label}: {text}"));
        }
        for each in self.changes.iter().flatten() {
            printer.line(format_args!("  {}", change(each)));
        }
        if content != self.item.content {
            printer.line(format_args!("  {DIM}secrets are hidden; `--reveal` shows them{DIM:#}"));
        }
    }
}

/// A difference, on one line.
pub(super) fn change(change: &Change) -> String {
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
    let field = sanitize::line(&change.field);
    format!("changed: {field} was {}, is {}", side(&change.before), side(&change.after))
}

/// As written. Variables that carry no secret are shown: some of them decide what runs.
fn content(item: &Item, hidden: Hidden) -> Value {
    if hidden == Hidden::Nothing {
        return item.content.clone();
    }
    mask::reviewed(&item.content)
}

/// What would happen first, then every other member.
fn lines(kind: ItemKind, content: &Value) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut shown: &[&str] = &[];
    match kind {
        ItemKind::Server if content["command"].is_string() => {
            lines.push(("runs".to_owned(), show::target(content)));
            shown = &["type", "command", "args"];
        }
        ItemKind::Server => {
            lines.push(("connects to".to_owned(), show::target(content)));
            shown = &["type", "url"];
        }
        ItemKind::Hook | ItemKind::Classifier => {
            let command = content["command"].as_str().or(content.as_str());
            lines.push(("runs".to_owned(), show::word(command.unwrap_or_default())));
            shown = &["command"];
        }
        _ => {}
    }
    let members = content.as_object().into_iter().flatten();
    let others = members.filter(|(name, value)| !shown.contains(&&***name) && !value.is_null());
    lines.extend(others.map(|(name, value)| (sanitize::line(name).into_owned(), member(value))));
    if lines.is_empty() {
        lines.push(("says".to_owned(), show::inline(content)));
    }
    lines
}

/// Variables as assignments, everything else as JSON.
fn member(value: &Value) -> String {
    match value {
        Value::Object(members) if members.values().all(Value::is_string) => {
            let pair = |(name, value): (&String, &Value)| {
                let name = sanitize::line(name).into_owned();
                format!("{name}={}", show::word(value.as_str().unwrap_or_default()))
            };
            members.iter().map(pair).collect::<Vec<_>>().join(" ")
        }
        Value::String(text) => show::word(text),
        other => show::inline(other),
    }
}

/// Several of them, for machines.
pub(super) fn all_json(cases: &[Case], hidden: Hidden) -> Value {
    let shown: Vec<_> = cases.iter().map(|case| case.to_json(hidden)).collect();
    json!(shown)
}
