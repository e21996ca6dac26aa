//! Windows over a view: server, log, form, entry, question, review, JSON and others.
//!
//! Used by `Model`, which keeps a stack of windows; `view` draws the top one.

use std::collections::VecDeque;

use serde_json::Value;

use super::form::Form;
use super::hub_model::PastCall;
use super::text_line::TextArea;

/// The most lines of a log that are kept.
const MAX_LOG_LINES: usize = 2_000;

/// One window.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) kind: WindowKind,
    pub(crate) scroll: Scroll,
}

/// The content of a window.
#[derive(Debug)]
pub(crate) enum WindowKind {
    Help,
    Server {
        name: String,
    },
    Log {
        server: String,
        lines: VecDeque<String>,
    },
    /// An item that awaits approval.
    Review {
        name: String,
    },
    /// A past call, with parameters and result if they are known.
    Record(Box<Record>),
    /// A permission question or a page to visit.
    Question {
        id: String,
    },
    /// Something as JSON.
    Json {
        title: String,
        text: String,
    },
    /// The sign-in page of a server.
    SignIn {
        server: String,
        page: String,
    },
    /// The confirmation to remove a server.
    Remove {
        server: String,
        scope: String,
        file: String,
    },
    Form(Box<Form>),
    Entry(Box<Entry>),
}

/// A past call.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) call: PastCall,
    /// `params`, and `result` or `error`.
    pub(crate) said: Option<Value>,
}

/// A server's entry in the editor.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) server: String,
    pub(crate) scope: String,
    pub(crate) file: String,
    pub(crate) text: TextArea,
    pub(crate) problem: Option<String>,
    pub(crate) writing: Writing,
}

/// Whether an entry may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Allowed,
    /// The file of the entry cannot be written.
    Forbidden,
}

/// The scroll position of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// From this line on.
    At(usize),
    /// At the end.
    End,
    /// At the focused field.
    Focus,
    /// At the result of the call.
    Outcome,
}

// === impl Window ===

impl Window {
    pub(crate) fn new(kind: WindowKind) -> Self {
        let scroll = match &kind {
            WindowKind::Log { .. } => Scroll::End,
            WindowKind::Form(_) => Scroll::Focus,
            _ => Scroll::At(0),
        };
        Self { kind, scroll }
    }
}

// === impl WindowKind ===

impl WindowKind {
    pub(crate) fn log(server: &str) -> Self {
        Self::Log { server: server.to_owned(), lines: VecDeque::new() }
    }

    /// Whether the window is for the question with this id.
    pub(crate) fn asks(&self, id: &str) -> bool {
        match self {
            Self::Question { id: of } => of == id,
            Self::Form(form) => form.purpose.question() == Some(id),
            _ => false,
        }
    }
}

/// Appends lines to a log, and drops the oldest beyond the limit.
pub(crate) fn extend(lines: &mut VecDeque<String>, more: Vec<String>) {
    lines.extend(more);
    let spare = lines.len().saturating_sub(MAX_LOG_LINES);
    lines.drain(..spare);
}

// === impl Entry ===

impl Entry {
    /// From the hub's response to `GET /servers/{name}`.
    pub(crate) fn new(server: &str, told: &Value) -> Self {
        let text = |pointer| told.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let entry = told.get("entry").cloned().unwrap_or_default();
        let is_ours = told.get("writable").and_then(Value::as_bool).unwrap_or_default();
        Self {
            server: server.to_owned(),
            scope: text("/scope").to_owned(),
            file: text("/at/origin").to_owned(),
            text: TextArea::new(&format!("{entry:#}")),
            problem: None,
            writing: if is_ours { Writing::Allowed } else { Writing::Forbidden },
        }
    }
}
