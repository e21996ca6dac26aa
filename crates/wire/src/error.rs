//! The error type of the crate, and the remedy classes.
//!
//! Used by all crates above `wire`. The remedy of each error is decided in `remedy`; hints for people are written in
//! `core` and `cli`.

use std::{fmt, io, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    client::skills::SkillMismatch,
    envelope::{MalformedMessage, RpcError},
    http::HttpError,
    json::SpliceError,
    sanitize, server_text,
    ws::WsError,
};
use switchboard_process::{ProcessExit, SpawnError};

/// A failure on the wire. Clones share their source, since one cause may end many calls.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server's program could not be started.
    #[error("the server could not be started")]
    Spawn(#[source] Arc<SpawnError>),
    /// The server's program exited.
    #[error("the server {exit}{}", colon_suffix(server_text::failure_text(.stderr)))]
    Exited {
        /// The exit status.
        exit: ProcessExit,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// Connecting failed, and the server had printed text where a message belongs.
    #[error("the server printed `{line}` to standard output instead of a message")]
    StrayText {
        /// The text, safe to show.
        line: String,
        /// Why connecting failed.
        source: Arc<Error>,
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
        /// The operation that failed.
        doing: &'static str,
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The stream that should carry the answer ended without it.
    #[error("the server's stream ended before the answer to `{method}`")]
    StreamLost {
        /// The method of the request.
        method: String,
    },
    /// An HTTP status without a JSON-RPC message.
    #[error("the server answered {status} to `{method}`{}", colon_suffix(server_text::body_text(.text)))]
    Status {
        /// The method of the request.
        method: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        text: String,
        /// Whether the response has a `Retry-After` header: the server, or a proxy, did not process the request.
        asks_to_retry: bool,
    },
    /// A deadline passed.
    #[error("no answer to `{method}` within {after:?}")]
    Timeout {
        /// The method of the request.
        method: String,
        /// The length of the timeout.
        after: Duration,
    },
    /// A call reached its time limit, whatever progress it made.
    #[error("no answer to `{method}` within its time limit of {after:?}")]
    TimeLimit {
        /// The method of the request.
        method: String,
        /// The time limit.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("the server refused: {0}")]
    Rpc(RpcError),
    /// The answer could not be parsed.
    #[error("the server's message could not be read: {0}")]
    Malformed(#[source] MalformedMessage),
    /// The answer is valid JSON-RPC, but not a valid result of the method.
    #[error("the server's answer to `{method}` is not valid: {reason}")]
    InvalidResult {
        /// The method of the request.
        method: String,
        /// The fault of the answer.
        reason: String,
    },
    /// Client and server support no common protocol version.
    #[error("no protocol version in common; the server speaks {}", join_versions(.offered))]
    NoCommonVersion {
        /// The versions that the server offers.
        offered: Vec<String>,
    },
    /// The session's members cannot be added to the parameters.
    #[error("the parameters of `{method}` cannot be sent")]
    Params {
        /// The method of the request.
        method: String,
        /// Why the parameters cannot be edited.
        #[source]
        source: SpliceError,
    },
    /// An argument that a tool's schema maps to a header (`x-mcp-header`) is an object or a list. The request was not
    /// sent.
    #[error("the argument `{path}` has to travel in a header, which no object or list can")]
    HeaderArgument {
        /// The argument's place, as a JSON pointer.
        path: String,
    },
    /// A queue is full; the request was not sent.
    #[error("too much is under way at once")]
    Busy,
    /// The server asks a question, and no client can answer it.
    #[error("the server asks for `{asked}` before it answers `{method}`")]
    InputNeeded {
        /// The method of the request.
        method: String,
        /// The method of the question.
        asked: String,
    },
    /// The server cancelled the task.
    #[error("the server cancelled the task{}", colon_suffix(.reason))]
    TaskCancelled {
        /// The server's reason.
        reason: String,
    },
    /// A skill differs from its announcement.
    #[error("`{uri}` of the skill `{name}` was refused")]
    Skill {
        /// The name of the skill.
        name: String,
        /// The URI of the file.
        uri: String,
        /// How the file differs.
        #[source]
        mismatch: SkillMismatch,
    },
    /// The peer does not offer the capability, so the request was not sent.
    #[error("the server does not offer `{what}`")]
    NotOffered {
        /// The capability or method.
        what: &'static str,
    },
    /// An error of another process, which holds the connection.
    #[error("{0}")]
    Remote(Arc<RemoteError>),
}

/// An error that another process reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteError {
    /// The operation, then its causes; safe to show.
    pub causes: Vec<String>,
    /// The class of remedy.
    pub remedy: Remedy,
    /// The hint for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the request was not sent because there are no credentials for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_credentials: bool,
}

/// The class of remedy for an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Try again, later or on a new connection. The server did not run the request.
    Retry,
    /// It is unknown whether the server ran the request: check before you repeat it.
    Unknown,
    /// The user has to sign in.
    SignIn,
    /// The user has to answer a question.
    AskUser,
    /// The configuration is wrong.
    Reconfigure,
    /// The caller can do nothing.
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

    /// Whether the request was not sent because there are no credentials for it.
    pub fn lacks_credentials(&self) -> bool {
        match self {
            Self::Http(error) => matches!(**error, HttpError::Credentials { .. }),
            Self::Remote(told) => told.lacks_credentials,
            _ => false,
        }
    }

    /// Whether the connection has ended.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Spawn(_)
            | Self::Exited { .. }
            | Self::WebSocket(_)
            | Self::Io { .. }
            | Self::Closed => true,
            Self::StrayText { source, .. } => source.is_fatal(),
            _ => false,
        }
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
    /// An error with all its sources, each once and sanitized.
    pub fn from_error(error: &dyn std::error::Error, remedy: Remedy) -> Self {
        let causes = error_chain(error);
        Self { causes, remedy, hint: None, lacks_credentials: false }
    }

    /// Converts an error of this crate. It keeps the operation and the innermost cause; the messages of libraries in
    /// between would not help a reader.
    pub fn from_wire_error(error: &Error) -> Self {
        if let Error::Remote(told) = error {
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

/// A colon and the trimmed text of a peer, or an empty string if there is none.
fn colon_suffix(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn join_versions(versions: &[String]) -> String {
    if versions.is_empty() { "none that it names".to_owned() } else { versions.join(", ") }
}
