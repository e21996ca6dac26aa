//! What lies over a view: one thing, looked at closely.

use std::collections::VecDeque;

use serde_json::Value;

use super::form::Form;
use super::hub_model::PastCall;
use super::text_line::TextArea;

/// Lines of a log that are kept.
const MAX_LOG_LINES: usize = 2_000;

/// One window.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) kind: WindowKind,
    pub(crate) scroll: Scroll,
}

/// What it shows.
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
    /// Something that awaits approval.
    Review {
        name: String,
    },
    /// One call of the past, and what it said, where that is known.
    Record(Box<Record>),
    /// A permission or a page, to be said yes or no to.
    Question {
        id: String,
    },
    /// The page to sign in at.
    SignIn {
        server: String,
        page: String,
    },
    /// Whether a server is to be removed.
    Remove {
        server: String,
        scope: String,
        file: String,
    },
    Form(Box<Form>),
    Entry(Box<Entry>),
}

/// A call of the past.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) call: PastCall,
    /// `params`, and `result` or `error`.
    pub(crate) said: Option<Value>,
}

/// A server's entry while it is changed.
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
    /// Its file is not ours to write.
    Forbidden,
}

/// What of a window is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// From this line on.
    At(usize),
    /// Its end.
    End,
    /// Whatever is being filled in.
    Focus,
    /// What came of a call.
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

// === impl Kind ===

impl WindowKind {
    pub(crate) fn log(server: &str) -> Self {
        Self::Log { server: server.to_owned(), lines: VecDeque::new() }
    }

    /// Whether it is about that question.
    pub(crate) fn asks(&self, id: &str) -> bool {
        match self {
            Self::Question { id: of } => of == id,
            Self::Form(form) => form.purpose.question() == Some(id),
            _ => false,
        }
    }
}

/// Adds to a log, which does not grow without end.
pub(crate) fn extend(lines: &mut VecDeque<String>, more: Vec<String>) {
    lines.extend(more);
    let spare = lines.len().saturating_sub(MAX_LOG_LINES);
    lines.drain(..spare);
}

// === impl Entry ===

impl Entry {
    /// From what the hub tells of it.
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
