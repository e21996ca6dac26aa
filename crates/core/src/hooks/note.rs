//! What is worth telling about a hook that decided nothing.

use serde::Serialize;
use switchboard_config::{Hook, HookEvent, SourceLocation};

/// Something a person may want to know about a hook that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookNote {
    /// When it ran.
    pub event: HookEvent,
    /// Where it stands.
    pub at: SourceLocation,
    /// What kind of note this is.
    pub kind: HookNoteKind,
    /// The words, safe to show.
    pub message: String,
}

/// What kind of note it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookNoteKind {
    /// It failed, and so decided nothing.
    Failed,
    /// It answered, and the answer cannot be read.
    Unreadable,
    /// It has something to say to the person.
    Message,
}

// === impl HookNote ===

impl HookNote {
    pub(super) fn new(hook: &Hook, kind: HookNoteKind, message: impl Into<String>) -> Self {
        Self { event: hook.event, at: hook.at.clone(), kind, message: message.into() }
    }
}
