//! Items of a project that await approval, shown whole, as text and as JSON.
//!
//! Used by `approve` and `decide`. Nothing is redacted: the redaction reads text that the project's author
//! chose, so a project could make it cover a part of a command. Nothing is cut either, and invisible characters are
//! escaped.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};
use switchboard_config::{ApprovalChange, ApprovalItem, ApprovalItemKind, SourceLocation};

use crate::printer::{BOLD, Printer, YELLOW};
use crate::show;

/// A description longer than this gets a line with its length.
const LONG_CHARACTERS: usize = 2_000;

/// One item that awaits approval.
#[derive(Debug, Clone)]
pub(super) struct PendingCase {
    pub(super) item: ApprovalItem,
    pub(super) changes: Option<Vec<ApprovalChange>>,
}

/// The item as an element of `--json`.
#[derive(Debug, Serialize)]
pub(super) struct PendingOutput {
    kind: ApprovalItemKind,
    name: String,
    at: SourceLocation,
    content: Value,
    /// The secrets that it gets once it is approved.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    secrets: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ApprovalChange>>,
}

impl PendingCase {
    pub(super) fn to_json(&self) -> PendingOutput {
        PendingOutput {
            kind: self.item.kind,
            name: self.item.name.clone(),
            at: self.item.at.clone(),
            content: self.item.content.clone(),
            secrets: self.item.secrets(),
            changes: self.changes.clone(),
        }
    }

    /// The item's kind and name, for a sentence.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.item.kind, show::word(&self.item.name))
    }

    pub(super) fn print(&self, printer: &Printer) {
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
        let members = lines(self.item.kind, &self.item.content);
        let members = members.into_iter().map(|(label, text)| format!("{label}: {text}"));
        let changes = self.changes.iter().flatten().map(change);
        let lines: Vec<_> = members.chain(changes).collect();
        for line in &lines {
            printer.line(format_args!("  {line}"));
        }
        let secrets: Vec<_> = self.item.secrets().iter().map(|name| show::word(name)).collect();
        if !secrets.is_empty() {
            printer.line(format_args!("  {YELLOW}gets secrets{YELLOW:#}: {}", secrets.join(", ")));
        }
        let length: usize = lines.iter().map(|line| line.chars().count()).sum();
        if length > LONG_CHARACTERS {
            let length = show::group_thousands(length);
            printer.line(format_args!(
                "  {YELLOW}long{YELLOW:#}: {length} characters; read all of them before you agree"
            ));
        }
    }
}

/// A changed field, on one line.
fn change(change: &ApprovalChange) -> String {
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
    let field = show::bare(&change.field);
    format!("changed: {field} was {}, is {}", side(&change.before), side(&change.after))
}

/// The members of an item: first the command or URL, then all others.
fn lines(kind: ApprovalItemKind, content: &Value) -> Vec<(String, String)> {
    let (first, told): (Option<(&str, String)>, &[&str]) = match kind {
        ApprovalItemKind::Server if show::transport(content) == "stdio" => {
            (Some(("runs", show::command_line(content))), &["type", "command", "args"])
        }
        ApprovalItemKind::Server => {
            let url = content["url"].as_str();
            (url.map(|url| ("connects to", show::bare(url))), &["url"])
        }
        ApprovalItemKind::Hook | ApprovalItemKind::Classifier => {
            let command = content["command"].as_str().or(content.as_str());
            (command.map(|command| ("runs", show::word(command))), &["command"])
        }
        _ => (None, &[]),
    };
    let told = if first.is_some() { told } else { &[] };
    let members = content.as_object().into_iter().flatten();
    // The content of a hook has all members that hooks may have; those missing in the file are null.
    let is_absent = |value: &Value| kind == ApprovalItemKind::Hook && value.is_null();
    let others = members.filter(|(name, value)| !told.contains(&&***name) && !is_absent(value));
    let mut lines: Vec<_> =
        first.into_iter().map(|(label, text)| (label.to_owned(), text)).collect();
    lines.extend(others.map(|(name, value)| (show::word(name), member(value))));
    if lines.is_empty() {
        lines.push(("says".to_owned(), show::inline(content)));
    }
    lines
}

/// Variables and headers as assignments, other values as JSON.
fn member(value: &Value) -> String {
    match value {
        Value::Object(members) if members.values().all(Value::is_string) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{}={}", variable(name), show::word(value.as_str().unwrap_or_default()))
            };
            members.iter().map(pair).collect::<Vec<_>>().join(" ")
        }
        Value::String(text) => show::word(text),
        other => show::inline(other),
    }
}

/// The name in an assignment; quoted if it could pass for more than a name.
fn variable(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    show::inline(&name.into())
}

/// Several items as JSON.
pub(super) fn all_json(cases: &[PendingCase]) -> Value {
    let shown: Vec<_> = cases.iter().map(PendingCase::to_json).collect();
    json!(shown)
}
