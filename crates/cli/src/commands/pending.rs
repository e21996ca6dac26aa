//! What a project wants and no person agreed to yet: shown whole, as it stands in the file, in words and for machines.
//!
//! `approve` uses it. Nothing is masked here: masking reads text that the author of the project chose, so it could be made
//! to cover a part of what runs. Nothing is cut either, and what cannot be seen on a screen is written out.

use serde::Serialize;
use serde_json::{Value, json};
use switchboard_config::{ApprovalChange, ApprovalItem, ApprovalItemKind, SourceLocation};

use crate::printer::{BOLD, Printer, YELLOW};
use crate::show;

/// A longer description gets a line that says how long it is.
const LONG_CHARACTERS: usize = 2_000;

/// One thing to decide about.
#[derive(Debug, Clone)]
pub(super) struct PendingCase {
    pub(super) item: ApprovalItem,
    pub(super) changes: Option<Vec<ApprovalChange>>,
}

/// The shape of it in `--json`.
#[derive(Debug, Serialize)]
pub(super) struct PendingOutput {
    kind: ApprovalItemKind,
    name: String,
    at: SourceLocation,
    content: Value,
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
            changes: self.changes.clone(),
        }
    }

    /// What it is called in a sentence.
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
        let length: usize = lines.iter().map(|line| line.chars().count()).sum();
        if length > LONG_CHARACTERS {
            let length = show::group_thousands(length);
            printer.line(format_args!(
                "  {YELLOW}long{YELLOW:#}: {length} characters; read all of them before you agree"
            ));
        }
    }
}

/// A difference, on one line.
fn change(change: &ApprovalChange) -> String {
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show::inline);
    let field = show::bare(&change.field);
    format!("changed: {field} was {}, is {}", side(&change.before), side(&change.after))
}

/// What would happen first, then every other member.
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
    // A hook has every member that hooks may have, also those that its file leaves out.
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

/// Variables and headers as assignments, everything else as JSON.
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

/// The name in an assignment; quoted where it could be taken for more than a name.
fn variable(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    show::inline(&name.into())
}

/// Several of them, for machines.
pub(super) fn all_json(cases: &[PendingCase]) -> Value {
    let shown: Vec<_> = cases.iter().map(PendingCase::to_json).collect();
    json!(shown)
}
