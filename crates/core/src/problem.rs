//! Problems that the engine reports beside the servers and settings that work.
//!
//! Used by every part of the engine that finds a mistake, and shown by the commands, the terminal UI and the hub.
//! Problems of configuration files are `switchboard_config`'s.

use serde::{Deserialize, Serialize};

/// The kind of a problem. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EngineProblemKind {
    /// An item of a list cannot be used and was left out; the other items are listed.
    Quarantined,
    /// An item of a list breaks the protocol or has an unusable schema. It is listed without the broken parts.
    Imperfect,
    /// A list is longer than the limit up to which it is read.
    ListCutShort,
    /// A list could not be read again; the former list is still shown.
    StaleList,
    /// A hook can never run as written.
    BadHook,
    /// A rule could mean two servers, and so permits nothing.
    AmbiguousRule,
    /// Reading or writing a file on this machine failed.
    Storage,
    /// An editor's lock file cannot be used.
    Editor,
    /// A variable that should hold a number holds another text.
    BadVariable,
    /// A server's configuration leads back to Switchboard itself.
    Loop,
    /// Connections to a server are shared in a way that clients may notice.
    Sharing,
    /// A plugin cannot be loaded, or has failed.
    Plugin,
}

/// One problem. A problem never stops the parts that work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineProblem {
    /// The kind of problem.
    pub kind: EngineProblemKind,
    /// The server that the problem concerns, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, prompt, resource, hook or rule that the problem concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// One sentence, safe to show.
    pub message: String,
}

// === impl EngineProblem ===

impl EngineProblem {
    pub(crate) fn new(kind: EngineProblemKind, message: impl Into<String>) -> Self {
        Self { kind, server: None, item: None, message: message.into() }
    }

    pub(crate) fn of_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    pub(crate) fn of_item(mut self, item: impl Into<String>) -> Self {
        self.item = Some(item.into());
        self
    }
}
