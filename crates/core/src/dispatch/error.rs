//! Errors of calls: what failed, why, and which remedy there is.
//!
//! Used by `dispatch`, the gateway, the commands and the audit log. The JSON form is in `remote::call_error`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::SourceLocation;
use switchboard_wire::meta::method;
use switchboard_wire::{Error as WireError, Remedy};

use crate::connection::ConnectionNotReady;
use crate::engine::QueueAccess;
use crate::permission::DecisionReason;
use crate::schema::ArgumentMistake;

/// Why a call failed. `Display` says which step failed, the source says why.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No tool, prompt or resource has this name.
    #[error("nothing is called `{name}`{}", alternatives_text(.similar))]
    NotFound {
        /// The requested name.
        name: String,
        /// Similar names that may have been meant.
        similar: Vec<String>,
    },
    /// The server had a tool or prompt of this name before it was started for the call. Nothing was sent.
    #[error("`{server}` no longer has `{name}`; list its tools and prompts again")]
    Gone {
        /// The requested name.
        name: String,
        /// The server.
        server: String,
    },
    /// The arguments do not match the tool's schema. Nothing was sent.
    #[error("invalid arguments for `{name}`{}", mistakes_text(.mistakes))]
    Arguments {
        /// The tool.
        name: String,
        /// The place and the expected value of each mistake.
        mistakes: Vec<ArgumentMistake>,
    },
    /// The request is malformed.
    #[error("the request cannot be understood: {reason}")]
    Request {
        /// The reason.
        reason: String,
    },
    /// The method is unknown, and its server cannot be determined.
    #[error("method not found: {method}{}", candidates_text(.servers))]
    UnknownMethod {
        /// The method.
        method: String,
        /// The servers that the request could be for.
        servers: Vec<String>,
    },
    /// No server mentions the resource, and several servers have resources.
    #[error("no server mentions {uri}; the servers with resources are `{}`", .servers.join("`, `"))]
    UnmentionedResource {
        /// The resource.
        uri: String,
        /// The servers that may have the resource.
        servers: Vec<String>,
    },
    /// A rule, a hook, a mode or a person denied the call.
    #[error("`{name}` may not be called: {because}")]
    Denied {
        /// The tool.
        name: String,
        /// The reason.
        because: Box<DecisionReason>,
        /// The rule that would allow the call, if there is one.
        allow: Option<String>,
        /// The location of the setting that forbids the call.
        at: Option<SourceLocation>,
    },
    /// A person has to decide, and none can be asked.
    #[error("`{name}` needs a person's consent ({because}), and there is no person to ask")]
    Unanswered {
        /// The tool.
        name: String,
        /// The reason to ask.
        because: Box<DecisionReason>,
        /// The rule that would allow the call.
        allow: Option<String>,
        /// Whether a person could have opened the queue of questions.
        queue: QueueAccess,
    },
    /// The server is not connected.
    #[error("`{server}` is not connected")]
    NotConnected {
        /// The server.
        server: String,
        /// The reason.
        #[source]
        error: Box<ConnectionNotReady>,
    },
    /// The server is not started.
    #[error("`{server}` is {state}{}", colon(why.as_deref()))]
    NotStarted {
        /// The server.
        server: String,
        /// `disabled`, `awaiting-approval`, …
        state: &'static str,
        /// Why it is blocked or invalid.
        why: Option<String>,
    },
    /// Too many calls of this server are in flight; nothing was sent.
    #[error("`{server}` has too many calls under way; try again")]
    Busy {
        /// The server.
        server: String,
    },
    /// The server failed, or refused.
    #[error("`{server}` failed")]
    Server {
        /// The server.
        server: String,
        /// The error of the server.
        #[source]
        error: Arc<WireError>,
        /// Whether the request may be repeated.
        repeat: RepeatSafety,
    },
    /// The server required an action of a person, who refused or cancelled.
    #[error("`{server}` asked for something first, and it was {}", .how.word())]
    NotDone {
        /// The server.
        server: String,
        /// How the action was refused.
        how: ElicitationRefusal,
    },
    /// The server requires visits to pages, which the client could not show.
    #[error("`{server}` wants {} in a browser, then call again", page_request(.pages))]
    PageNeeded {
        /// The server.
        server: String,
        /// The message and the address of each page.
        pages: Vec<String>,
    },
    /// The server kept requiring an action that was done.
    #[error("`{server}` asks for one more page in the browser, after {times} already")]
    TooManyPages {
        /// The server.
        server: String,
        /// How often the action was done.
        times: u32,
    },
    /// The call cannot go on: the server that asked is gone, or replaced.
    #[error("`{server}` is no longer the server that asked; make the call again")]
    Changed {
        /// The server.
        server: String,
    },
    /// The server asked a question that should go to the caller, which takes none.
    #[error("`{server}` asks a question before it answers")]
    InputNeeded {
        /// The server.
        server: String,
    },
    /// The workspace has ended.
    #[error("the workspace has ended")]
    Ended,
    /// The process that made the call for this one is gone.
    #[error("the hub ended before the answer came; the server may have carried out the call")]
    Lost,
}

/// How a person refused an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElicitationRefusal {
    /// The person declined.
    Declined,
    /// The question was cancelled, or not answered.
    Cancelled,
}

/// Whether a request may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatSafety {
    /// The request only reads, so a repetition does no harm.
    Harmless,
    /// The request may act, so a repetition may act twice.
    MayActTwice,
}

// === impl RepeatSafety ===

impl RepeatSafety {
    /// Returns the safety of a request with this method. An unknown method may act.
    pub fn from_method(asked: &str) -> Self {
        match asked {
            method::RESOURCES_READ
            | method::RESOURCES_LIST
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
            | method::TEMPLATES_LIST
            | method::PROMPTS_GET
            | method::PROMPTS_LIST
            | method::TOOLS_LIST
            | method::COMPLETE
            | method::TASKS_GET
            | method::TASKS_LIST
            | method::TASKS_RESULT
            | method::DISCOVER
            | method::PING => Self::Harmless,
            _ => Self::MayActTwice,
        }
    }
}

// === impl CallError ===

impl CallError {
    /// Advice on how to allow a call that was refused, or that no person could be asked about.
    pub fn permission_advice(&self) -> Option<String> {
        match self {
            Self::Denied { allow: Some(rule), .. } | Self::Unanswered { allow: Some(rule), .. } => {
                Some(format!("the rule `{rule}` under `permissions.allow` would allow it"))
            }
            // The reason names the deny rule and its location.
            Self::Denied { because, .. } if matches!(**because, DecisionReason::Rule(_)) => None,
            Self::Denied { because, .. } => because.advice(QueueAccess::Open),
            Self::Unanswered { because, queue, .. } => because.advice(*queue),
            _ => None,
        }
    }

    /// Returns the error without places in files of the person who runs the engine.
    pub(super) fn without_places(self) -> Self {
        let without = |because: Box<DecisionReason>| Box::new(because.without_places());
        match self {
            Self::Denied { name, because, allow, .. } => {
                Self::Denied { name, because: without(because), allow, at: None }
            }
            Self::Unanswered { name, because, allow, queue } => {
                Self::Unanswered { name, because: without(because), allow, queue }
            }
            other => other,
        }
    }

    /// Returns the class of the next step.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::NotConnected { error, .. } => error.remedy(),
            Self::Server { error, repeat: RepeatSafety::MayActTwice, .. }
                if error.may_have_executed() =>
            {
                Remedy::Unknown
            }
            Self::Server { error, .. } => error.remedy(),
            Self::Lost => Remedy::Unknown,
            Self::Busy { .. } | Self::Changed { .. } => Remedy::Retry,
            Self::Unanswered { .. }
            | Self::NotDone { .. }
            | Self::PageNeeded { .. }
            | Self::InputNeeded { .. } => Remedy::AskUser,
            Self::NotStarted { .. } => Remedy::Reconfigure,
            _ => Remedy::GiveUp,
        }
    }

    /// Returns the kind of the error as a stable word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
            Self::Gone { .. } => "gone",
            Self::Arguments { .. } => "arguments",
            Self::Request { .. } => "request",
            Self::UnknownMethod { .. } => "unknown-method",
            Self::UnmentionedResource { .. } => "unmentioned-resource",
            Self::Denied { .. } => "denied",
            Self::Unanswered { .. } => "unanswered",
            Self::NotConnected { .. } => "not-connected",
            Self::NotStarted { .. } => "not-started",
            Self::Busy { .. } => "busy",
            Self::Server { error, .. } => server_error_text(error),
            Self::NotDone { how, .. } => how.word(),
            Self::TooManyPages { .. } => "asked-too-often",
            Self::PageNeeded { .. } => "page-needed",
            Self::Ended => "ended",
            Self::Changed { .. } => "changed",
            Self::InputNeeded { .. } => "input-needed",
            Self::Lost => "lost",
        }
    }

    pub(crate) fn not_connected(server: &str, error: ConnectionNotReady) -> Self {
        Self::NotConnected { server: server.to_owned(), error: Box::new(error) }
    }

    pub(crate) fn server(server: &str, error: WireError, repeat: RepeatSafety) -> Self {
        Self::Server { server: server.to_owned(), error: Arc::new(error), repeat }
    }
}

// === impl ElicitationRefusal ===

impl ElicitationRefusal {
    fn word(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
        }
    }
}

fn server_error_text(error: &WireError) -> &'static str {
    match error {
        WireError::Timeout { .. } | WireError::TimeLimit { .. } => "timeout",
        WireError::Rpc(_) => "server-error",
        WireError::Exited { .. } => "exited",
        WireError::Closed | WireError::StreamLost { .. } | WireError::Io { .. } => "lost",
        WireError::Http(_) | WireError::WebSocket(_) | WireError::Status { .. } => "transport",
        WireError::Malformed(_) | WireError::InvalidResult { .. } => "malformed",
        WireError::Busy => "busy",
        WireError::TaskCancelled { .. } => "task-cancelled",
        WireError::StrayText { source, .. } => server_error_text(source),
        _ => "server",
    }
}

/// A colon and a reason, if there is one.
fn colon(why: Option<&str>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

fn alternatives_text(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        many => format!("; did you mean one of `{}`?", many.join("`, `")),
    }
}

fn page_request(pages: &[String]) -> String {
    match pages {
        [page] => format!("a page visited first: {page}. Open it"),
        pages => format!("pages visited first: {}. Open them", pages.join("; ")),
    }
}

fn candidates_text(servers: &[String]) -> String {
    if servers.is_empty() {
        return String::new();
    }
    let names = servers.join("`, `");
    format!(
        "; it could be for any of the servers `{names}`: send it where only one is shown, at `/mcp/<server>` or \
         with `--servers`"
    )
}

fn mistakes_text(mistakes: &[ArgumentMistake]) -> String {
    let shown: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    if shown.is_empty() { String::new() } else { format!(": {}", shown.join("; ")) }
}
