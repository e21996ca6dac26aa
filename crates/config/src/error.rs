//! The errors of writing configuration.
//!
//! Used by `workspace`, `edit`, `install` and their callers. Reading never fails as a whole: it returns
//! [`ConfigProblem`](crate::ConfigProblem)s.

use std::path::PathBuf;

use crate::edit::EditError;
use crate::problem::ConfigProblem;
use crate::scope::Scope;
use crate::server_name::InvalidServerName;
use crate::source::SourceLocation;

/// Why a change was not made. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The lock of a file could not be acquired.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file in user state is damaged.
    #[error("cannot read the state in {}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// A file to change does not parse; changing it could lose data.
    #[error("cannot change {}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// The mistake in it.
        source: EditError,
    },
    /// A file keeps changing during the edit.
    #[error("cannot change {}: another program keeps changing it", path.display())]
    Contended {
        /// The file.
        path: PathBuf,
    },
    /// A file that a plan is about has changed since the plan was shown to a person.
    #[error("{} has changed since the plan was made", path.display())]
    PlanOutdated {
        /// The file.
        path: PathBuf,
    },
    /// A file of the project is a link out of the project, where a project must not write.
    #[error("cannot change {}: it leads out of the project, to {}", path.display(), target.display())]
    LeadsOut {
        /// The file.
        path: PathBuf,
        /// The link's target.
        target: PathBuf,
    },
    /// A file in a project's `.switchboard`, or that folder, is a link. Links there are neither read nor
    /// written through.
    #[error("cannot change {}: it is a link, and links in a project's `.switchboard` are not followed", path.display())]
    LinkNotFollowed {
        /// The file.
        path: PathBuf,
    },
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] InvalidServerName),
    /// An entry is not usable; the problems say why.
    #[error("the entry of `{name}` is not usable")]
    Entry {
        /// The server's name.
        name: String,
        /// The entry's problems.
        problems: Vec<ConfigProblem>,
    },
    /// The scope already has a server with this name.
    #[error("there is a server `{name}` in the {scope} scope already, at {at}")]
    Exists {
        /// The server's name.
        name: String,
        /// The scope.
        scope: Scope,
        /// Where its entry stands.
        at: SourceLocation,
    },
    /// No server has this name.
    #[error("there is no server `{name}`")]
    NoServer {
        /// The name.
        name: String,
    },
    /// The server is discovered, not configured: no file has an entry for it.
    #[error("`{name}` is not in a configuration file: Switchboard found it on this machine")]
    NotConfigured {
        /// The name.
        name: String,
    },
    /// Several scopes have a server with this name.
    #[error("there is a server `{name}` in several scopes: {}", list(scopes))]
    Ambiguous {
        /// The name.
        name: String,
        /// The scopes.
        scopes: Vec<Scope>,
    },
    /// The scope cannot be written by commands.
    #[error("the {scope} scope cannot be changed here")]
    ReadOnly {
        /// The scope.
        scope: Scope,
    },
    /// A permission rule is not usable.
    #[error("the rule `{rule}` is not usable: {why}")]
    Rule {
        /// The rule.
        rule: String,
        /// The mistake in it.
        why: String,
    },
    /// The file has no such permission rule.
    #[error("{} has no rule `{rule}` there", path.display())]
    NoRule {
        /// The rule.
        rule: String,
        /// The file.
        path: PathBuf,
    },
    /// The secret store could not be read or changed. The text contains no value.
    #[error("cannot use the secret store")]
    SecretStore {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The administrator's servers are exclusive.
    #[error("servers are managed by the administrator of this machine")]
    Managed {
        /// The administrator's file.
        path: PathBuf,
    },
    /// Policy does not allow the server.
    #[error("`{name}` may not be added: {why}")]
    Blocked {
        /// The server's name.
        name: String,
        /// The rule.
        why: String,
        /// Where the rule stands.
        by: Option<SourceLocation>,
    },
}

fn list(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
}
