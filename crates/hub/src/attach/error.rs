//! Errors of `attach`: a client could not be attached to a hub, or lost it for good.
//!
//! Used by the whole of [`crate::attach`] and [`crate::admin::client`]; `cli` prints them. It does not cover errors of
//! single calls (`socket::call_errors` does).

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use switchboard_wire::sanitize;

use crate::socket::{self, HelloRefusal, HelloRefusalKind};

/// Why no hub can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubAttachError {
    /// This process is itself a server of the hub that it was to attach to.
    #[error("`connect` was started by a hub, as one of its servers; that would be a loop")]
    Loop,
    /// The socket cannot be placed, locked or connected to.
    #[error("the hub's socket cannot be used")]
    Socket(#[from] socket::SocketError),
    /// The hub refused the hello.
    #[error("the hub refused: {}", sanitize::sanitize_line(&.0.message))]
    Refused(HelloRefusal),
    /// A process listens on the socket and does not answer.
    #[error("the hub does not answer (waited {after:?})")]
    Silent {
        /// How long the client waited.
        after: Duration,
    },
    /// The process that listens on the socket is not a hub of this user.
    #[error("what listens on `{}` {fault}", path.display())]
    NotAHub {
        /// The socket.
        path: PathBuf,
        /// The reason, as the rest of a sentence about the socket.
        fault: &'static str,
    },
    /// The hello cannot be serialized.
    #[error("the hello cannot be written as JSON")]
    Hello(#[source] serde_json::Error),
    /// The hub's program could not be started.
    #[error("cannot start the hub `{}`", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The hub that was started ended before it answered.
    #[error("the hub ended as it started ({status}){}", log_section(.log))]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// No hub answered in time.
    #[error("no hub answered within {after:?}{}", log_section(.log))]
    Late {
        /// How long the client waited.
        after: Duration,
        /// The end of the log of the hub that was started; empty if none was.
        log: String,
    },
    /// The hub was lost while the handshake was being repeated.
    #[error("the hub was lost again")]
    LostAgain,
    /// Hubs were lost one after another.
    #[error("the hub was lost {times} times in a row")]
    Unsteady {
        /// How many hubs were lost in a row.
        times: u32,
    },
}

// === impl HubAttachError ===

impl HubAttachError {
    /// Whether another attempt could succeed: a hub may be ending, a file half edited, a program half upgraded.
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

/// The end of a log on lines of its own, or an empty text.
fn log_section(log: &str) -> String {
    let log = log.trim();
    if log.is_empty() { String::new() } else { format!("; its log ends with:\n{log}") }
}
