//! Why a call came to nothing, and what would help.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::SourceLocation;
use switchboard_wire::meta::method;
use switchboard_wire::{Error as WireError, Remedy};

use crate::connection::ConnectionNotReady;
use crate::engine::QueueAccess;
use crate::permission::DecisionReason;
use crate::schema::ArgumentMistake;

/// Why a call came to nothing. `Display` says what was being done, the source why it failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nothing is called that.
    #[error("nothing is called `{name}`{}", alternatives_text(.similar))]
    NotFound {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        similar: Vec<String>,
    },
    /// The arguments are not what the tool takes. Nothing was sent.
    #[error("the arguments of `{name}` are not what it takes{}", mistakes_text(.mistakes))]
    Arguments {
        /// The tool.
        name: String,
        /// Where, and what was expected there.
        mistakes: Vec<ArgumentMistake>,
    },
    /// The request itself cannot be understood.
    #[error("the request cannot be understood: {reason}")]
    Request {
        /// Why.
        reason: String,
    },
    /// The method is none of ours, and does not say which server it is for.
    #[error("method not found: {method}{}", candidates_text(.servers))]
    UnknownMethod {
        /// The method.
        method: String,
        /// The servers that it could be for.
        servers: Vec<String>,
    },
    /// No server mentions the resource, and several have resources.
    #[error("no server mentions {uri}; the servers with resources are `{}`", .servers.join("`, `"))]
    UnmentionedResource {
        /// The resource.
        uri: String,
        /// The servers that may have it.
        servers: Vec<String>,
    },
    /// A rule, a hook, a mode or a person said no.
    #[error("`{name}` may not be called: {because}")]
    Denied {
        /// The tool.
        name: String,
        /// Who says so.
        because: Box<DecisionReason>,
        /// The rule that would allow it, where one could.
        allow: Option<String>,
        /// Where what forbids it stands.
        at: Option<SourceLocation>,
    },
    /// Somebody has to decide, and nobody is there to.
    #[error("`{name}` needs somebody's consent ({because}), and nobody is there to give it")]
    Unanswered {
        /// The tool.
        name: String,
        /// What asks for consent.
        because: Box<DecisionReason>,
        /// The rule that would allow it.
        allow: Option<String>,
        /// Whether a person could have opened the queue of questions.
        queue: QueueAccess,
    },
    /// The server is not there.
    #[error("`{server}` is not connected")]
    NotConnected {
        /// The server.
        server: String,
        /// Why not.
        #[source]
        error: Box<ConnectionNotReady>,
    },
    /// The server is not to be started at all.
    #[error("`{server}` is {state}")]
    NotStarted {
        /// The server.
        server: String,
        /// `disabled`, `awaiting-approval`, …
        state: &'static str,
    },
    /// Too many calls of this server are under way; nothing was sent.
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
        /// How.
        #[source]
        error: Arc<WireError>,
        /// What it would mean to make the request again.
        repeat: RepeatSafety,
    },
    /// The server wanted something done first, and whoever was asked would not.
    #[error("`{server}` asked for something first, and it was {}", .how.word())]
    NotDone {
        /// The server.
        server: String,
        /// What was said.
        how: ElicitationRefusal,
    },
    /// The server wants pages visited first, and the client showed them to nobody.
    #[error("`{server}` wants {} in a browser, then call again", page_request(.pages))]
    PageNeeded {
        /// The server.
        server: String,
        /// What it says of each page, and the address.
        pages: Vec<String>,
    },
    /// The server kept asking for the same thing to be done first.
    #[error("`{server}` still asks for a visit to a page after {times} of them")]
    AskedTooOften {
        /// The server.
        server: String,
        /// How often it was done.
        times: u32,
    },
    /// A call cannot go on: the server that asked is gone, or another one under its name.
    #[error("`{server}` is no longer the server that asked; make the call again")]
    Changed {
        /// The server.
        server: String,
    },
    /// The server asked something, and was to be handed to its caller, who does not take it.
    #[error("`{server}` asks for something before it answers")]
    InputNeeded {
        /// The server.
        server: String,
    },
    /// The workspace has ended.
    #[error("the workspace has ended")]
    Ended,
    /// The process that made the call for us is gone.
    #[error("the hub ended before the answer came; whether the call was carried out is not known")]
    Lost,
}

/// The two ways not to do what a server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElicitationRefusal {
    /// A person said no.
    Declined,
    /// Nobody said anything, or the question was put away.
    Cancelled,
}

/// What it means to make a request a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatSafety {
    /// It only reads, so nothing is done twice.
    Harmless,
    /// It may act, so that something may be done twice.
    MayActTwice,
}

// === impl RepeatSafety ===

impl RepeatSafety {
    /// Of a request with this method. One that is not known may act.
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
    /// What would have let a call pass that was refused, or that nobody was there to allow.
    pub fn permission_advice(&self) -> Option<String> {
        match self {
            Self::Denied { allow: Some(rule), .. } | Self::Unanswered { allow: Some(rule), .. } => {
                Some(format!("the rule `{rule}` under `permissions.allow` would allow it"))
            }
            // The reason names a rule that denies, and the place it stands at.
            Self::Denied { because, .. } if matches!(**because, DecisionReason::Rule(_)) => None,
            Self::Denied { because, .. } => because.advice(QueueAccess::Open),
            Self::Unanswered { because, queue, .. } => because.advice(*queue),
            _ => None,
        }
    }

    /// What would help.
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

    /// What kind of error it is, in a word that stays.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
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
            Self::AskedTooOften { .. } => "asked-too-often",
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
        WireError::Timeout { .. } => "timeout",
        WireError::Rpc(_) => "server-error",
        WireError::Exited { .. } => "exited",
        WireError::Closed | WireError::StreamLost { .. } | WireError::Io { .. } => "lost",
        WireError::Http(_) | WireError::WebSocket(_) | WireError::Status { .. } => "transport",
        WireError::Malformed(_) | WireError::InvalidResult { .. } => "malformed",
        WireError::Busy => "busy",
        WireError::TaskCancelled { .. } => "task-cancelled",
        _ => "server",
    }
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
