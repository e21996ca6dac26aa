//! Why a server is not connected.

use std::{path::PathBuf, sync::Arc, time::Duration};

use switchboard_wire::{self as wire, Remedy};

use super::state::{ConnectionFailure, SignInNeeded};

/// Why a connection could not be made, or was lost. Clones share their source.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// Something on the wire.
    #[error(transparent)]
    Wire(#[from] wire::Error),
    /// The entry starts this program again, beneath itself.
    #[error("the server is this program itself, started beneath itself")]
    Loop,
    /// A server inside this process that has no link to it.
    #[error("the server is not in this process")]
    NotInProcess,
    /// The file of variables cannot be read.
    #[error("cannot read its `envFile` {}", path.display())]
    EnvFile {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A line of the file of variables is none.
    #[error("line {line} of its `envFile` {} is not `KEY=VALUE`", path.display())]
    EnvLine {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// The file of variables, of a project, sets one that decides which code runs.
    #[error(
        "its `envFile` {} sets `{name}`, which decides what code runs; set it in `env` of the entry instead, \
         where it is approved",
        path.display()
    )]
    EnvVariable {
        /// Which file.
        path: PathBuf,
        /// Which variable.
        name: String,
    },
    /// The URL is none. It may hold a secret, so it is not shown.
    #[error("its `url` is not a URL")]
    Url(#[source] url::ParseError),
    /// A header cannot be sent. Its value may be a secret, so it is not shown.
    #[error("its header `{name}` cannot be sent")]
    Header {
        /// The header's name.
        name: String,
    },
    /// Looking for what to connect to broke off.
    #[error("the connection could not be prepared")]
    Preparing(#[source] Arc<tokio::task::JoinError>),
}

/// Why [`ready`](super::Connection::ready) gives no session.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectionNotReady {
    /// The connection was stopped.
    #[error("the server was stopped")]
    Stopped,
    /// Connecting failed.
    #[error("the server is not connected")]
    Failed(#[source] Arc<ConnectionFailure>),
    /// Somebody has to sign in.
    #[error("the server needs authentication")]
    NeedsAuth(#[source] Arc<SignInNeeded>),
    /// It took too long.
    #[error("the server did not connect within {after:?}")]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// A connection for it would be one too many.
    #[error("no further connection is made to the server")]
    Limit(#[source] ConnectionLimit),
}

/// A further connection would be one too many. None was made, and it may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionLimit {
    /// One principal has as many as it may have.
    #[error(
        "{limit} connections are open for this user, the most that `limits.connectionsPerPrincipal` allows; \
         try again when another session of this user has ended"
    )]
    PerPrincipal {
        /// How many it may have.
        limit: usize,
    },
    /// All principals together have as many as they may have.
    #[error(
        "{limit} connections are open for all users, the most that `limits.connections` allows; \
         try again when another session has ended"
    )]
    InAll {
        /// How many there may be.
        limit: usize,
    },
}

/// As many calls are in flight as may be; the call was not sent and may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{limit} calls are in flight already")]
pub struct ConnectionBusy {
    /// How many there may be.
    pub limit: usize,
}

// === impl ConnectionError ===

impl ConnectionError {
    /// What would help.
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
    /// What would help.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Stopped | Self::Timeout { .. } | Self::Limit(_) => Remedy::Retry,
            Self::Failed(failed) => failed.error.remedy(),
            Self::NeedsAuth(_) => Remedy::SignIn,
        }
    }
}
