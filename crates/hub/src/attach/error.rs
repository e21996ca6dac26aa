//! Why a client could not be attached, or no longer is.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use switchboard_wire::sanitize;

use crate::socket::{self, HelloRefusal, HelloRefusalKind};

/// Why there is no hub to speak with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubAttachError {
    /// We are a server of the very hub that we were to attach to.
    #[error("`connect` was started by a hub, as one of its servers; that would be a loop")]
    Loop,
    /// The socket has no place.
    #[error("the hub's socket cannot be used")]
    Socket(#[from] socket::SocketError),
    /// The hub said no.
    #[error("the hub refused: {}", sanitize::sanitize_line(&.0.message))]
    Refused(HelloRefusal),
    /// Somebody listens there and says nothing.
    #[error("the hub does not answer (waited {after:?})")]
    Silent {
        /// How long was waited.
        after: Duration,
    },
    /// What listens there is no hub of ours.
    #[error("what listens on `{}` {fault}", path.display())]
    NotAHub {
        /// The socket.
        path: PathBuf,
        /// How it can be told.
        fault: &'static str,
    },
    /// The hello cannot be sent.
    #[error("the hello cannot be written as JSON")]
    Hello(#[source] serde_json::Error),
    /// The hub's program could not be started.
    #[error("cannot start the hub `{}`", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The hub ended before it answered.
    #[error("the hub ended as it started ({status}){}", log_section(.log))]
    Ended {
        /// How.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// Nobody answered in time.
    #[error("no hub answered within {after:?}{}", log_section(.log))]
    Late {
        /// How long was waited.
        after: Duration,
        /// The end of the log of the hub that was started.
        log: String,
    },
    /// The hub was lost while the session was being taken up again.
    #[error("the hub was lost again")]
    LostAgain,
    /// Hubs were lost one after another.
    #[error("the hub was lost {times} times in a row")]
    Unsteady {
        /// How often.
        times: u32,
    },
}

// === impl Error ===

impl HubAttachError {
    /// Whether another attempt could end otherwise: a hub may be on its way out, a file in the middle of an edit, a
    /// program in the middle of an upgrade.
    pub(super) fn is_transient(&self) -> bool {
        use HelloRefusalKind::{Foreign, Malformed, Protocol};
        match self {
            Self::Refused(refusal) => !matches!(refusal.kind, Foreign | Malformed | Protocol),
            Self::Silent { .. }
            | Self::Start { .. }
            | Self::Ended { .. }
            | Self::Late { .. }
            | Self::LostAgain => true,
            Self::Loop
            | Self::Socket(_)
            | Self::NotAHub { .. }
            | Self::Hello(_)
            | Self::Unsteady { .. } => false,
        }
    }
}

/// The end of a log, on lines of its own, or nothing.
fn log_section(log: &str) -> String {
    let log = log.trim();
    if log.is_empty() { String::new() } else { format!("; its log ends with:\n{log}") }
}
