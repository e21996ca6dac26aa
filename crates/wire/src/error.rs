//! What can go wrong between us and a peer, and what would help.

use std::{fmt, io, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    client::skills::SkillMismatch,
    envelope::{MalformedMessage, RpcError},
    http::HttpError,
    json::SpliceError,
    sanitize,
    ws::WsError,
};
use switchboard_process::{ProcessExit, SpawnError};

/// Why something on the wire failed. Clones share their source, since one cause may end many
/// calls.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server's program could not be started.
    #[error("the server could not be started")]
    Spawn(#[source] Arc<SpawnError>),
    /// The server's program ended.
    #[error("the server {exit}{}", colon_suffix(.stderr))]
    Exited {
        /// How it ended.
        exit: ProcessExit,
        /// The last of what it wrote to its standard error.
        stderr: String,
    },
    /// HTTP failed.
    #[error(transparent)]
    Http(Arc<HttpError>),
    /// The WebSocket failed.
    #[error(transparent)]
    WebSocket(Arc<WsError>),
    /// A pipe or socket failed.
    #[error("failed while {doing}")]
    Io {
        /// What was under way.
        doing: &'static str,
        /// What the operating system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The stream that was to carry the answer ended without it.
    #[error("the server's stream ended before the answer to `{method}`")]
    StreamLost {
        /// What had been asked.
        method: String,
    },
    /// An HTTP status that carries no message.
    #[error("the server answered {status} to `{method}`{}", colon_suffix(.text))]
    Status {
        /// What had been asked.
        method: String,
        /// The status.
        status: u16,
        /// The beginning of the body.
        text: String,
        /// Whether the answer says when to try again (`Retry-After`): whoever answered did not work on the request.
        asks_to_retry: bool,
    },
    /// A deadline passed.
    #[error("no answer to `{method}` within {after:?}")]
    Timeout {
        /// What had been asked.
        method: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("the server refused: {0}")]
    Rpc(RpcError),
    /// The answer could not be read.
    #[error("the server's message could not be read: {0}")]
    Malformed(#[source] MalformedMessage),
    /// The answer is JSON-RPC but not what the method promises.
    #[error("the server's answer to `{method}` is not valid: {reason}")]
    InvalidResult {
        /// What had been asked.
        method: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// No protocol version in common.
    #[error("no protocol version in common; the server speaks {}", join_versions(.offered))]
    NoCommonVersion {
        /// What the server offers.
        offered: Vec<String>,
    },
    /// The parameters cannot carry what has to be added to them.
    #[error("the parameters of `{method}` cannot be sent")]
    Params {
        /// What was to be asked.
        method: String,
        /// Why not.
        #[source]
        source: SpliceError,
    },
    /// An argument that a tool's schema wants in a header (`x-mcp-header`) is an object or a list. Nothing was sent.
    #[error("the argument `{path}` has to travel in a header, which no object or list can")]
    HeaderArgument {
        /// Where it stands in the arguments, as a JSON pointer.
        path: String,
    },
    /// Something is full; the request was not sent.
    #[error("too much is under way at once")]
    Busy,
    /// The server asks for something and nobody is there to answer.
    #[error("the server asks for `{asked}` before it answers `{method}`")]
    InputNeeded {
        /// What had been asked of it.
        method: String,
        /// What it asks.
        asked: String,
    },
    /// The server ended the task.
    #[error("the server cancelled the task{}", colon_suffix(.reason))]
    TaskCancelled {
        /// What it said.
        reason: String,
    },
    /// A skill is not what its server had announced.
    #[error("`{uri}` of the skill `{name}` was refused")]
    Skill {
        /// The skill.
        name: String,
        /// The file.
        uri: String,
        /// How it differs.
        #[source]
        mismatch: SkillMismatch,
    },
    /// The peer offers no such thing, so it was not asked.
    #[error("the server does not offer `{what}`")]
    NotOffered {
        /// The capability or method.
        what: &'static str,
    },
    /// Another process holds the connection, and told what went wrong with it.
    #[error("{0}")]
    Told(Arc<RemoteError>),
}

/// What went wrong in another process, as that process tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteError {
    /// What was being done, then why it failed; safe to show.
    pub causes: Vec<String>,
    /// What would help.
    pub remedy: Remedy,
    /// What a person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the server was not asked, since nothing could be had to sign in with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_credentials: bool,
}

/// What would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Try again, later or on a new connection. What was asked has not been done.
    Retry,
    /// Whether it has been done is not known: look before you ask again.
    Unknown,
    /// The user has to sign in.
    SignIn,
    /// The user has to answer something.
    AskUser,
    /// The configuration is wrong.
    Reconfigure,
    /// Nothing the caller can do.
    GiveUp,
}

// === impl Error ===

impl Error {
    pub(crate) fn io(doing: &'static str, source: io::Error) -> Self {
        Self::Io { doing, source: Arc::new(source) }
    }

    pub(crate) fn invalid(method: &str, reason: impl Into<String>) -> Self {
        Self::InvalidResult { method: method.to_owned(), reason: reason.into() }
    }

    /// The code, if the peer answered with a JSON-RPC error.
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Rpc(error) => Some(error.code),
            _ => None,
        }
    }

    /// Whether the server was not even asked, since nothing could be had to sign in with.
    pub fn lacks_credentials(&self) -> bool {
        match self {
            Self::Http(error) => matches!(**error, HttpError::Credentials { .. }),
            Self::Told(told) => told.lacks_credentials,
            _ => false,
        }
    }

    /// Whether the connection itself is gone.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::Spawn(_)
                | Self::Exited { .. }
                | Self::WebSocket(_)
                | Self::Io { .. }
                | Self::Closed
        )
    }
}

/// The texts of an error and of every error below it, each once and safe to show.
pub fn error_chain(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes = vec![sanitize::sanitize_block(&error.to_string()).into_owned()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = sanitize::sanitize_block(&cause.to_string()).into_owned();
        if !causes.iter().any(|said| said.contains(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    causes
}

// === impl RemoteError ===

impl RemoteError {
    /// An error and everything below it, each once and cleaned.
    pub fn from_error(error: &dyn std::error::Error, remedy: Remedy) -> Self {
        let causes = error_chain(error);
        Self { causes, remedy, hint: None, lacks_credentials: false }
    }

    /// An error of ours. Between what we were doing and what the system said are the layers of libraries, which nobody
    /// wants to know.
    pub fn from_wire_error(error: &Error) -> Self {
        if let Error::Told(told) = error {
            return Self::clone(told);
        }
        let mut told = Self::from_error(error, error.remedy());
        told.lacks_credentials = error.lacks_credentials();
        if matches!(error, Error::Http(_) | Error::WebSocket(_)) {
            let last = told.causes.len().saturating_sub(1).max(1);
            told.causes.drain(1..last);
        }
        told
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.causes.join(": "))
    }
}

/// What a peer said, on lines of its own, or nothing.
fn colon_suffix(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn join_versions(versions: &[String]) -> String {
    if versions.is_empty() { "none that it names".to_owned() } else { versions.join(", ") }
}
