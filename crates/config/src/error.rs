//! Why something that was asked for could not be done.
//!
//! Reading configuration never fails as a whole (it gives [`ConfigProblem`](crate::ConfigProblem)s); writing can.

use std::path::PathBuf;

use crate::edit::EditError;
use crate::problem::ConfigProblem;
use crate::scope::Scope;
use crate::server_name::InvalidServerName;
use crate::source::SourceLocation;

/// Why a change was not made. The file is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The lock of a file could not be had.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Our own state is damaged.
    #[error("cannot read the state in {}", path.display())]
    State {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A file that should be changed is not of its format; changing it would lose something.
    #[error("cannot change {}", path.display())]
    Edit {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: EditError,
    },
    /// A file keeps changing while it is being changed.
    #[error("cannot change {}: another program keeps changing it", path.display())]
    Contended {
        /// Which.
        path: PathBuf,
    },
    /// A file of the project is a link to somewhere else, where a project has no business writing.
    #[error("cannot change {}: it leads out of the project, to {}", path.display(), target.display())]
    LeadsOut {
        /// Which.
        path: PathBuf,
        /// Where to.
        target: PathBuf,
    },
    /// A file in a project's `.switchboard`, or that folder, is a link: nothing is read through it, so nothing is
    /// written through it.
    #[error("cannot change {}: it is a link, and links in a project's `.switchboard` are not followed", path.display())]
    LinkNotFollowed {
        /// Which.
        path: PathBuf,
    },
    /// The name cannot be used.
    #[error(transparent)]
    Name(#[from] InvalidServerName),
    /// An entry is not usable; the problems say why.
    #[error("the entry of `{name}` is not usable")]
    Entry {
        /// Whose.
        name: String,
        /// What is wrong with it.
        problems: Vec<ConfigProblem>,
    },
    /// The scope has a server of that name.
    #[error("there is a server `{name}` in the {scope} scope already, at {at}")]
    Exists {
        /// Its name.
        name: String,
        /// Its scope.
        scope: Scope,
        /// Where.
        at: SourceLocation,
    },
    /// No server of that name.
    #[error("there is no server `{name}`")]
    NoServer {
        /// The name.
        name: String,
    },
    /// The server is found, not configured: no file has an entry of it.
    #[error("`{name}` is found, not configured: no file has an entry of it")]
    NotConfigured {
        /// The name.
        name: String,
    },
    /// Several scopes have a server of that name.
    #[error("there is a server `{name}` in several scopes: {}", list(scopes))]
    Ambiguous {
        /// The name.
        name: String,
        /// Which.
        scopes: Vec<Scope>,
    },
    /// The scope is not ours to write.
    #[error("the {scope} scope cannot be changed here")]
    ReadOnly {
        /// Which.
        scope: Scope,
    },
    /// The administrator decides alone.
    #[error("servers are managed by the administrator of this machine")]
    Managed {
        /// Their file.
        path: PathBuf,
    },
    /// Policy does not let the server run.
    #[error("`{name}` may not be added: {why}")]
    Blocked {
        /// Its name.
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
