//! What is worth saying beside what was asked for.

use serde::Serialize;
use switchboard_config::{Location, Problem, Severity};
use switchboard_core::ProblemKind;
use switchboard_wire::sanitize;

/// What kind of problem it is, in a stable word.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
enum Kind {
    Configuration(switchboard_config::Kind),
    Engine(ProblemKind),
}

/// A note, a warning or an error that stops nothing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Notice {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Notice {
    pub(crate) fn note(message: impl AsRef<str>) -> Self {
        Self::new(Severity::Note, message.as_ref())
    }

    pub(crate) fn warning(message: impl AsRef<str>) -> Self {
        Self::new(Severity::Warning, message.as_ref())
    }

    fn new(severity: Severity, message: &str) -> Self {
        Self {
            kind: None,
            severity,
            message: sanitize::line(message).into_owned(),
            server: None,
            at: None,
            hint: None,
        }
    }

    pub(crate) fn hinted(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(sanitize::line(hint.as_ref()).into_owned());
        self
    }

    pub(crate) fn placed(mut self, at: Option<Location>) -> Self {
        self.at = at;
        self
    }

    /// With the server it concerns.
    pub(crate) fn about(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    /// Whether it is about something of a server.
    pub(crate) fn concerns(&self, server: &str) -> bool {
        self.server.as_deref().is_none_or(|concerned| concerned == server)
    }

    /// Whether it is about an item that works although its definition is not perfect.
    pub(crate) fn is_about_imperfect_item(&self) -> bool {
        matches!(self.kind, Some(Kind::Engine(ProblemKind::Imperfect)))
    }

    /// The word before it.
    pub(crate) fn word(&self) -> &'static str {
        match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl From<&Problem> for Notice {
    fn from(problem: &Problem) -> Self {
        let mut notice = Self::new(problem.severity, &problem.message).placed(problem.at.clone());
        notice.kind = Some(Kind::Configuration(problem.kind));
        notice.server.clone_from(&problem.server);
        match &problem.hint {
            Some(hint) => notice.hinted(hint.to_string()),
            None => notice,
        }
    }
}

impl From<&switchboard_sources::Problem> for Notice {
    fn from(problem: &switchboard_sources::Problem) -> Self {
        match problem {
            switchboard_sources::Problem::Configuration(problem) => Self::from(problem),
            other => Self::warning(other.to_string()).placed(other.at()),
        }
    }
}

impl From<&switchboard_core::Problem> for Notice {
    fn from(problem: &switchboard_core::Problem) -> Self {
        let about = match (&problem.server, &problem.item) {
            (Some(server), Some(item)) => format!("`{server}`, `{item}`: "),
            (Some(server), None) => format!("`{server}`: "),
            (None, Some(item)) => format!("`{item}`: "),
            (None, None) => String::new(),
        };
        let severity = match problem.kind {
            // Its server is not ours to mend, and its tools work.
            ProblemKind::Imperfect => Severity::Note,
            _ => Severity::Warning,
        };
        let mut notice = Self::new(severity, &format!("{about}{}", problem.message));
        notice.kind = Some(Kind::Engine(problem.kind));
        notice.server.clone_from(&problem.server);
        notice
    }
}
