//! Errors of the hub's socket: its path, its lock, its listener.
//!
//! Used by `paths`, `lock` and `listen`, and by `attach` in [`HubAttachError`](crate::attach::HubAttachError). It does
//! not cover refusals of a hello ([`HelloRefusal`](super::HelloRefusal)).

use std::{io, path::PathBuf};

/// Why a socket could not be placed or listened on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// A system call failed.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// The operation that failed, as a verb.
        doing: &'static str,
        /// The file that the operation was for.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Other users can enter the folder, or own it.
    #[error("`{}` {fault}, so the hub's socket cannot be kept there", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// The reason, as the rest of a sentence about the folder.
        fault: &'static str,
    },
    /// No folder has a name short enough for a socket's address.
    #[error("every folder for the hub's socket has too long a name, the last being `{}`", path.display())]
    TooLong {
        /// The shortest path that was tried.
        path: PathBuf,
    },
    /// Another hub listens there and answers.
    #[error("a hub is already listening on `{}`", path.display())]
    AlreadyRunning {
        /// The socket of that hub.
        path: PathBuf,
    },
    /// Another process holds the hub's lock and does not answer.
    #[error("another process holds `{}` and does not answer", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
}

// === impl SocketError ===

impl SocketError {
    /// Returns a closure for `map_err` that adds the operation and the path.
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
