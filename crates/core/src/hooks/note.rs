//! Notes for the person about hooks that ran: failures, unreadable answers and messages.
//!
//! Made by `hooks::answer`; used by `dispatch::stage`, which writes them to the server's log. It does not decide
//! about a call.

use serde::Serialize;
use switchboard_config::{EffectiveHook, HookEvent, SourceLocation};

/// A note about a hook that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookNote {
    /// The event at which the hook ran.
    pub event: HookEvent,
    /// The location of the hook in the configuration.
    pub at: SourceLocation,
    /// The kind of the note.
    pub kind: HookNoteKind,
    /// The text, safe to show.
    pub message: String,
}

/// The kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookNoteKind {
    /// The hook failed, and so decided nothing.
    Failed,
    /// The hook's answer cannot be parsed.
    Unreadable,
    /// The hook has a message for the person.
    Message,
}

// === impl HookNote ===

impl HookNote {
    pub(super) fn new(
        hook: &EffectiveHook,
        kind: HookNoteKind,
        message: impl Into<String>,
    ) -> Self {
        Self { event: hook.event, at: hook.at.clone(), kind, message: message.into() }
    }
}
