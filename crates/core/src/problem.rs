//! What is wrong with a server's items or a setting, shown beside what works.

use serde::{Deserialize, Serialize};

/// What kind of problem it is. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EngineProblemKind {
    /// An item of a list cannot be used and was left out alone.
    Quarantined,
    /// An item of a list breaks the protocol or has a schema that cannot be used. It is listed, as far as it can be.
    Imperfect,
    /// A list has more than was read of it.
    ListCutShort,
    /// A list could not be read again; the one from before is still shown.
    StaleList,
    /// A hook can never run as written.
    BadHook,
    /// A rule could mean two servers, and so permits nothing.
    AmbiguousRule,
    /// Something on the disk of this machine failed.
    Storage,
    /// An editor's file cannot be used.
    Editor,
    /// A variable that should hold a number holds something else.
    BadVariable,
    /// A server is configured in a way that leads back to us.
    Loop,
    /// Connections to a server are shared in a way that clients may notice.
    Sharing,
    /// A plugin cannot be loaded, or has failed.
    Plugin,
}

/// One thing that is wrong. It never stops what works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineProblem {
    /// What kind of problem.
    pub kind: EngineProblemKind,
    /// The server it concerns, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, prompt, resource, hook or rule.
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
