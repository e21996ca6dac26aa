//! Why there is no socket to speak through.

use std::{io, path::PathBuf};

/// Why a socket could not be placed or listened on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// The file system said no.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// What was under way.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Others could enter the folder, or it is theirs.
    #[error("`{}` {fault}, so the hub's socket cannot be kept there", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// No folder has a name short enough for a socket's address.
    #[error("every folder for the hub's socket has too long a name, the last being `{}`", path.display())]
    TooLong {
        /// The shortest that was tried.
        path: PathBuf,
    },
    /// Another hub is there and answers.
    #[error("a hub is already listening on `{}`", path.display())]
    AlreadyRunning {
        /// Its socket.
        path: PathBuf,
    },
    /// Another process holds the hub's lock and does not answer.
    #[error("another process holds `{}` and does not answer", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
}

// === impl Error ===

impl SocketError {
    /// For `map_err`.
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
