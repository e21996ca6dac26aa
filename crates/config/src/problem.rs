//! Problems of the configuration as values: a stable kind, a sentence, a location and a hint.
//!
//! Used by every module that reads configuration, and shown by all fronts. They do not stop the servers that
//! work.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::command_line;
use crate::source::{SourceLocation, SourceOrigin};

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemSeverity {
    /// Worth knowing.
    Note,
    /// Probably not intended.
    Warning,
    /// Some part of the configuration does not work.
    Error,
}

/// The kind of a problem. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ConfigProblemKind {
    /// A file exists and cannot be read.
    Unreadable,
    /// A file's text is not of its format.
    Malformed,
    /// A file in the project tree belongs to another user.
    ForeignOwner,
    /// A file of a project's `.switchboard` is a link, and was not read.
    LinkNotFollowed,
    /// Commands are not looked up in a folder of the caller's `PATH`.
    SkippedPathFolder,
    /// An unknown member; it is kept.
    UnknownMember,
    /// A member occurs twice.
    RepeatedMember,
    /// A value has the wrong type.
    WrongType,
    /// A required member is missing.
    MissingMember,
    /// A value has the right type but is invalid.
    BadValue,
    /// A remote entry without a type.
    UrlWithoutType,
    /// A variable has no value and no default.
    MissingVariable,
    /// A secret has no value.
    MissingSecret,
    /// The setting has no effect in this scope.
    NotHonoured,
    /// An administrator's file is unreadable, so nothing is started.
    FailedClosed,
    /// A policy rule does not parse.
    BadPolicy,
    /// A permission rule does not parse.
    BadRule,
    /// A requested item is not approved yet.
    AwaitingApproval,
    /// No agent has this name.
    AgentNotFound,
    /// A server that the agent requires is missing or not ready.
    RequiredServer,
    /// The servers of a client in `inherit` cannot be read.
    CannotInherit,
    /// A part of another client's file has no equivalent.
    CannotImport,
    /// The record of approvals is unreadable, so nothing counts as approved.
    ApprovalsUnreadable,
}

/// What a person can do about a problem. The terminal prints it; a console may show a button.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemHint {
    /// Set an environment variable, or give it a default.
    SetVariable(String),
    /// Store a secret.
    SetSecret(String),
    /// Review the server and approve it.
    Approve(String),
    /// Correct the entry of this server.
    EditServer(String),
    /// Correct this file.
    EditFile(PathBuf),
    /// Ask the administrator of this machine.
    AskAdministrator,
    /// Move a setting to the user's own file.
    MoveToUserSettings,
    /// Add a member with a value.
    AddMember(String),
    /// Configure this server.
    AddServer(String),
    /// Any other advice.
    Other(String),
}

impl fmt::Display for ProblemHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetVariable(name) => {
                write!(f, "set `{name}`, or give it a default with `${{{name}:-default}}`")
            }
            Self::SetSecret(name) => {
                write!(f, "run `{}`", command_line("secret", ["set", name]))
            }
            Self::Approve(name) => {
                write!(f, "look at it and run `{}`", command_line("approve", [name]))
            }
            Self::EditServer(name) => {
                write!(f, "correct it with `{}`", command_line("edit", [name]))
            }
            Self::EditFile(path) => write!(f, "correct {}", path.display()),
            Self::AskAdministrator => f.write_str("ask the administrator of this machine"),
            Self::MoveToUserSettings => f.write_str("move it to your own settings"),
            Self::AddMember(member) => write!(f, "add `{member}`"),
            Self::AddServer(name) => {
                write!(f, "configure it with `{} …`", command_line("add", [name]))
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for ProblemHint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One problem. It is shown beside the servers that work and never stops them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// The kind.
    pub kind: ConfigProblemKind,
    /// The severity.
    pub severity: ProblemSeverity,
    /// One sentence, without secrets.
    pub message: String,
    /// The affected server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<SourceLocation>,
    /// The hint on what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<ProblemHint>,
}

impl ConfigProblem {
    pub(crate) fn error(kind: ConfigProblemKind, message: impl Into<String>) -> Self {
        Self::new(kind, ProblemSeverity::Error, message.into())
    }

    pub(crate) fn warning(kind: ConfigProblemKind, message: impl Into<String>) -> Self {
        Self::new(kind, ProblemSeverity::Warning, message.into())
    }

    pub(crate) fn note(kind: ConfigProblemKind, message: impl Into<String>) -> Self {
        Self::new(kind, ProblemSeverity::Note, message.into())
    }

    fn new(kind: ConfigProblemKind, severity: ProblemSeverity, message: String) -> Self {
        Self { kind, severity, message, server: None, at: None, hint: None }
    }

    pub(crate) fn at(mut self, at: SourceLocation) -> Self {
        self.at = Some(at);
        self
    }

    pub(crate) fn in_file(self, path: &Path) -> Self {
        self.at(SourceOrigin::file(path).start())
    }

    pub(crate) fn of_server(mut self, name: &str) -> Self {
        self.server = Some(name.to_owned());
        self
    }

    pub(crate) fn hint(mut self, hint: ProblemHint) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
