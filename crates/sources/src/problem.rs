//! The problems of sources, as values.
//!
//! Used by `cli::notice` and in every snapshot. It does not print them.

use std::error::Error as _;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_config::{ProblemSeverity, SourceLocation, SourceOrigin};

use super::connectors;

/// One problem. It is shown beside the servers that work and never stops them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SourceProblem {
    /// A problem in the configuration.
    Configuration(switchboard_config::ConfigProblem),
    /// A file was broken by an edit; the last good state stays in force.
    BrokenFile {
        /// The file.
        file: PathBuf,
    },
    /// An edit broke a file, and other files changed since: of the last good state, only the parts that the
    /// other files still permit stay in force.
    Narrowed {
        /// The file.
        file: PathBuf,
    },
    /// A file of servers was broken by an edit, and others changed since: its servers wait.
    Waiting {
        /// The file.
        file: PathBuf,
    },
    /// The connector catalog could not be fetched, or not be cached.
    Connectors {
        /// Where the setting stands.
        at: SourceLocation,
        /// The cause.
        error: Arc<connectors::ConnectorsError>,
        /// Whether the cached copy is used.
        copy: bool,
    },
    /// A file that an editor left cannot be used.
    Editor(switchboard_core::EngineProblem),
    /// The operating system cannot watch files, so they are polled.
    Polling {
        /// The cause.
        error: Arc<notify::Error>,
    },
}

// === impl SourceProblem ===

impl SourceProblem {
    /// How severe the problem is.
    pub fn severity(&self) -> ProblemSeverity {
        match self {
            Self::Configuration(problem) => problem.severity,
            Self::Connectors { error, .. } => match **error {
                connectors::ConnectorsError::Keep { .. } => ProblemSeverity::Warning,
                _ => ProblemSeverity::Error,
            },
            Self::BrokenFile { .. }
            | Self::Narrowed { .. }
            | Self::Waiting { .. }
            | Self::Editor(_) => ProblemSeverity::Warning,
            Self::Polling { .. } => ProblemSeverity::Note,
        }
    }

    /// Where the problem is.
    pub fn location(&self) -> Option<SourceLocation> {
        match self {
            Self::Configuration(problem) => problem.at.clone(),
            Self::BrokenFile { file } | Self::Narrowed { file } | Self::Waiting { file } => {
                Some(SourceOrigin::file(file).start())
            }
            Self::Connectors { at, .. } => Some(at.clone()),
            Self::Editor(_) | Self::Polling { .. } => None,
        }
    }
}

impl fmt::Display for SourceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(problem) => problem.fmt(f),
            Self::BrokenFile { file } => {
                let file = file.display();
                write!(f, "until {file} is repaired the last good state stays in force")
            }
            Self::Narrowed { file } => {
                let file = file.display();
                write!(f, "until {file} is repaired nothing new is started, and its servers wait")
            }
            Self::Waiting { file } => {
                write!(f, "until {} is repaired its servers wait", file.display())
            }
            Self::Connectors { error, copy, .. } => {
                f.write_str(&with_causes(error.as_ref()))?;
                f.write_str(if *copy { "; the last copy is used" } else { "" })
            }
            Self::Editor(problem) => f.write_str(&problem.message),
            Self::Polling { error } => {
                write!(
                    f,
                    "files are looked at once in a while, for they cannot be watched: {error}"
                )
            }
        }
    }
}

/// Problems with equal texts are equal, because a user could not tell them apart.
impl PartialEq for SourceProblem {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Configuration(one), Self::Configuration(other)) => one == other,
            (one, other) => {
                std::mem::discriminant(one) == std::mem::discriminant(other)
                    && one.location() == other.location()
                    && one.to_string() == other.to_string()
            }
        }
    }
}

fn with_causes(error: &connectors::ConnectorsError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
