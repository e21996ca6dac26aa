//! Notices: notes, warnings and errors that a command shows beside its result.
//!
//! Used by all commands, with `printer`; with `--json` they are part of the result. A failure that ends the command is
//! a `report::Failure`.

use serde::Serialize;
use switchboard_config::{ConfigProblem, ProblemSeverity, SourceLocation};
use switchboard_core::EngineProblemKind;
use switchboard_wire::sanitize;

/// The kind of problem, as a stable word.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
enum NoticeKind {
    Configuration(switchboard_config::ConfigProblemKind),
    Engine(EngineProblemKind),
}

/// A note, a warning or an error that does not end the command.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Notice {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<NoticeKind>,
    pub(crate) severity: ProblemSeverity,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<SourceLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Notice {
    pub(crate) fn note(message: impl AsRef<str>) -> Self {
        Self::new(ProblemSeverity::Note, message.as_ref())
    }

    pub(crate) fn warning(message: impl AsRef<str>) -> Self {
        Self::new(ProblemSeverity::Warning, message.as_ref())
    }

    fn new(severity: ProblemSeverity, message: &str) -> Self {
        Self {
            kind: None,
            severity,
            message: sanitize::sanitize_line(message).into_owned(),
            server: None,
            at: None,
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(sanitize::sanitize_line(hint.as_ref()).into_owned());
        self
    }

    pub(crate) fn with_location(mut self, at: Option<SourceLocation>) -> Self {
        self.at = at;
        self
    }

    /// Makes an error a warning, for a command that does its work in spite of it.
    pub(crate) fn weaken(&mut self) {
        self.severity = self.severity.min(ProblemSeverity::Warning);
    }

    /// Adds the server that the notice is about.
    pub(crate) fn with_server(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    /// Whether the notice is about this server, or about none.
    pub(crate) fn concerns(&self, server: &str) -> bool {
        self.server.as_deref().is_none_or(|concerned| concerned == server)
    }

    /// Whether the notice is about an item that works although its definition breaks the schema.
    pub(crate) fn is_about_imperfect_item(&self) -> bool {
        matches!(self.kind, Some(NoticeKind::Engine(EngineProblemKind::Imperfect)))
    }

    /// The word before the message.
    pub(crate) fn kind_word(&self) -> &'static str {
        match self.severity {
            ProblemSeverity::Note => "note",
            ProblemSeverity::Warning => "warning",
            ProblemSeverity::Error => "error",
        }
    }
}

impl From<&ConfigProblem> for Notice {
    fn from(problem: &ConfigProblem) -> Self {
        let mut notice =
            Self::new(problem.severity, &problem.message).with_location(problem.at.clone());
        notice.kind = Some(NoticeKind::Configuration(problem.kind));
        notice.server.clone_from(&problem.server);
        match &problem.hint {
            Some(hint) => notice.with_hint(hint.to_string()),
            None => notice,
        }
    }
}

impl From<&switchboard_sources::SourceProblem> for Notice {
    fn from(problem: &switchboard_sources::SourceProblem) -> Self {
        match problem {
            switchboard_sources::SourceProblem::Configuration(problem) => Self::from(problem),
            other => Self::warning(other.to_string()).with_location(other.location()),
        }
    }
}

impl From<&switchboard_core::EngineProblem> for Notice {
    fn from(problem: &switchboard_core::EngineProblem) -> Self {
        let about = match (&problem.server, &problem.item) {
            (Some(server), Some(item)) => format!("`{server}`, `{item}`: "),
            (Some(server), None) => format!("`{server}`: "),
            (None, Some(item)) => format!("`{item}`: "),
            (None, None) => String::new(),
        };
        let severity = match problem.kind {
            // The user cannot repair the server, and its tools work.
            EngineProblemKind::Imperfect => ProblemSeverity::Note,
            _ => ProblemSeverity::Warning,
        };
        let mut notice = Self::new(severity, &format!("{about}{}", problem.message));
        notice.kind = Some(NoticeKind::Engine(problem.kind));
        notice.server.clone_from(&problem.server);
        notice
    }
}
