//! Errors of the hub: why the hub, a workspace or its faces cannot be opened as asked for.
//!
//! Used by the program that runs the hub, which turns a [`HubError`] into an exit code and advice. Where the hub
//! itself answers a client, it asks the program for these words through [`HubAdvice`]. It does not know the flags
//! of the command line.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use switchboard_config::{self as config, ConfigProblem};
use switchboard_core::remote::ErrorAdvice;
use switchboard_gateway::face::FaceError;
use switchboard_gateway::tokens::TokenStoreError;
use tokio::task::JoinError;

use crate::admin::{AdminProblem, AdminProblemKind, LoopbackError};
use crate::socket::SocketError;

/// Why the hub, a workspace or its faces cannot be opened as asked for.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The program's own file cannot be opened.
    #[error("cannot open this program to guard what it starts")]
    Guard(#[source] io::Error),
    /// The limit of open files is too low.
    #[error("this process may open {limit} files at once, and needs at least {needed}")]
    Descriptors {
        /// The limit.
        limit: u64,
        /// The number of files that the process needs.
        needed: u64,
    },
    /// The task that reads the configuration ended early.
    #[error("cannot read the configuration")]
    Configuration(#[source] JoinError),
    /// A file or text that was given for this run alone is of no use.
    #[error("cannot use the configuration that was given for this run")]
    RunConfiguration(Box<ConfigProblem>),
    /// The agent of the view does not exist, or lacks a server.
    #[error("{}", .0.message)]
    Agent(Box<ConfigProblem>),
    /// Bare names of tools were asked for, of several servers.
    #[error("bare names are for one server only")]
    BareNames,
    /// The view names a server that is not configured.
    #[error("there is no server `{name}`")]
    UnknownServer {
        /// The name.
        name: String,
    },
    /// No folder can hold the hub's socket.
    #[error("there is no place for the hub's socket")]
    SocketPath(#[source] SocketError),
    /// The hub cannot listen on its socket.
    #[error("cannot listen for clients")]
    Listen(#[source] SocketError),
    /// The admin API could not be served on a port.
    #[error("the admin API was on no port of this machine")]
    AdminPort(#[source] LoopbackError),
    /// The address of the faces cannot be listened at.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The system does not say which address was bound.
    #[error("cannot read the address that it listens on")]
    LocalAddress(#[source] io::Error),
    /// The faces ended with an error.
    #[error("cannot serve")]
    Faces(#[source] FaceError),
    /// Clients of other machines were to be let in by their user.
    #[error(
        "{place} can be reached from other machines, where `--auth user` cannot check the user"
    )]
    UserAuthBeyondMachine {
        /// The address, or the host name.
        place: String,
    },
    /// The URL that clients reach the hub by has a path, or is none.
    #[error("`{url}` is not a valid URL for a hub")]
    ResourceUrl {
        /// The text.
        url: String,
    },
    /// The URL of an authorization server is none.
    #[error("`{url}` is not a valid URL for an issuer")]
    IssuerUrl {
        /// The text.
        url: String,
    },
    /// Clients need a token, and none was made.
    #[error("clients of {place} need a token, and there is none")]
    NoToken {
        /// The address, or the host name.
        place: String,
    },
    /// The file of tokens cannot be read.
    #[error("cannot read the tokens")]
    Tokens {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TokenStoreError,
    },
    /// The file of the client secret at the issuer cannot be used.
    #[error("cannot read the client secret in `{}`", path.display())]
    ClientSecretFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A certificate or a key cannot be read.
    #[error("cannot read `{}`", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The certificate and the key cannot be used.
    #[error("cannot serve with TLS")]
    Tls {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of its key.
        key: PathBuf,
        /// Why.
        source: FaceError,
    },
}

/// Explains errors of the hub to the person whose request failed. The program that runs the hub implements it.
pub trait HubAdvice: ErrorAdvice {
    /// Explains an error: message, causes and hint.
    fn explain(&self, error: &HubError) -> ErrorExplanation;

    /// Explains why a change to a configuration file was not made; `doing` names the change.
    fn explain_change(&self, doing: &str, error: &config::Error) -> ErrorExplanation;
}

/// An error in words for a person; safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorExplanation {
    /// The error in a sentence.
    pub message: String,
    /// The causes, the nearest first.
    pub causes: Vec<String>,
    /// The advice to the person.
    pub hint: Option<String>,
}

// === impl ErrorExplanation ===

impl ErrorExplanation {
    /// Everything in one line, for a client that shows no more.
    pub fn into_line(self) -> String {
        let parts = std::iter::once(self.message).chain(self.causes).chain(self.hint);
        parts.collect::<Vec<_>>().join("; ")
    }
}

impl From<ErrorExplanation> for AdminProblem {
    fn from(error: ErrorExplanation) -> Self {
        let mut problem = Self::new(AdminProblemKind::Refused, error.message);
        if !error.causes.is_empty() {
            problem = problem.with_detail(error.causes.join(": "));
        }
        match error.hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    }
}
