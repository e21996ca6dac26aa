//! Errors of connections: why a server is not connected, and why a call gets no session.
//!
//! Used by `connection`, `dispatch`, the snapshot and the commands. The errors of calls are in `dispatch::error`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use switchboard_wire::{self as wire, Remedy};

use super::sign_in::SignInError;
use super::state::{ConnectionFailure, SignInNeeded};

/// Why a connection could not be made, or was lost. Clones share their source.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// An error of the transport or the protocol.
    #[error(transparent)]
    Wire(#[from] wire::Error),
    /// The entry starts this program again, beneath itself.
    #[error("the server is this program itself, started beneath itself")]
    Loop,
    /// The server should run inside this process, which has no link to it.
    #[error("the server is not in this process")]
    NotInProcess,
    /// The `envFile` cannot be read.
    #[error("cannot read its `envFile` {}", path.display())]
    EnvFile {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A line of the `envFile` is not a variable.
    #[error("line {line} of its `envFile` {} is not `KEY=VALUE`", path.display())]
    EnvLine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The `envFile` of a project sets a variable that decides which code runs.
    #[error(
        "its `envFile` {} sets `{name}`, which decides what code runs; set it in `env` of the entry instead, \
         where it is approved",
        path.display()
    )]
    EnvVariable {
        /// The file.
        path: PathBuf,
        /// The variable.
        name: String,
    },
    /// The URL is invalid. It may hold a secret, so it is not shown.
    #[error("its `url` is not a URL")]
    Url(#[source] url::ParseError),
    /// A header is invalid. Its value may be a secret, so it is not shown.
    #[error("its header `{name}` cannot be sent")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The background task that prepares the target failed.
    #[error("the connection could not be prepared")]
    Preparing(#[source] Arc<tokio::task::JoinError>),
}

/// Why [`ready`](super::Connection::ready) returns no session.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectionNotReady {
    /// The connection was stopped.
    #[error("the server was stopped")]
    Stopped,
    /// Connecting failed.
    #[error("the server is not connected")]
    Failed(#[source] Arc<ConnectionFailure>),
    /// A person has to sign in.
    #[error("the server needs authentication")]
    NeedsAuth(#[source] Arc<SignInNeeded>),
    /// A person was asked to sign in, and did not.
    #[error("the sign-in was not completed")]
    NotSignedIn(#[source] SignInError),
    /// Connecting took too long.
    #[error("the server did not connect within {after:?}")]
    Timeout {
        /// The timeout.
        after: Duration,
    },
    /// Another connection would exceed a limit.
    #[error("no further connection is made to the server")]
    Limit(#[source] ConnectionLimit),
}

/// Another connection would exceed a limit. None was made; a retry may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionLimit {
    /// The limit of one principal is reached.
    #[error(
        "{limit} connections are open for this user, the most that `limits.connectionsPerPrincipal` allows; \
         try again when another session of this user has ended"
    )]
    PerPrincipal {
        /// The limit.
        limit: usize,
    },
    /// One principal has as many connections as are free for all others.
    #[error(
        "{held} connections are open for this user, as many as are left for all other users (`limits.connections`); \
         try again when another session of this user has ended"
    )]
    Share {
        /// The connections of the principal.
        held: usize,
    },
    /// The limit of all principals together is reached.
    #[error(
        "{limit} connections are open for all users, the most that `limits.connections` allows; \
         try again when another session has ended"
    )]
    InAll {
        /// The limit.
        limit: usize,
    },
}

/// Too many calls are in flight. The call was not sent and may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{limit} calls are in flight already")]
pub struct ConnectionBusy {
    /// The limit.
    pub limit: usize,
}

// === impl ConnectionError ===

impl ConnectionError {
    /// Returns the class of the next step.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Wire(error) => error.remedy(),
            Self::Preparing(_) => Remedy::Retry,
            Self::Loop
            | Self::NotInProcess
            | Self::EnvFile { .. }
            | Self::EnvLine { .. }
            | Self::EnvVariable { .. }
            | Self::Url(_)
            | Self::Header { .. } => Remedy::Reconfigure,
        }
    }
}

// === impl ConnectionNotReady ===

impl ConnectionNotReady {
    /// Returns the class of the next step.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Stopped | Self::Timeout { .. } | Self::Limit(_) => Remedy::Retry,
            Self::Failed(failed) => failed.error.remedy(),
            Self::NeedsAuth(_) | Self::NotSignedIn(_) => Remedy::SignIn,
        }
    }
}
