//! The error of a call, as JSON ([`CallError`]).
//!
//! Used by the hub's admin interface and its client. Advice on the error comes from an [`ErrorAdvice`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::SourceLocation;
use switchboard_wire::{Error as WireError, RemoteError};
use tokio::time::Instant;

use super::ErrorAdvice;
use crate::CallError;
use crate::connection::{ConnectionError, ConnectionFailure, ConnectionNotReady};
use crate::dispatch::{ElicitationRefusal, RepeatSafety};
use crate::engine::QueueAccess;
use crate::permission::DecisionReason;
use crate::schema::ArgumentMistake;

/// A [`CallError`] as JSON. Members that the kind does not have are absent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteCallError {
    /// The kind of error.
    pub kind: RemoteErrorKind,
    /// The name of the tool, prompt or resource that was called; why a server is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Similar names that may have been meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<String>,
    /// Mistakes in the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<ArgumentMistake>,
    /// The reason to deny or to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<DecisionReason>,
    /// The rule that would allow the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<String>,
    /// The location of the setting that forbids the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<SourceLocation>,
    /// The state of a server that is not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How a request of the server was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<ElicitationRefusal>,
    /// How often the server asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The message, its causes, a hint and a remedy.
    pub error: RemoteError,
}

/// The kinds of [`CallError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // They are those of the error.
pub enum RemoteErrorKind {
    NotFound,
    Gone,
    Arguments,
    Request,
    UnknownMethod,
    UnmentionedResource,
    Denied,
    Unanswered,
    NotConnected,
    NotStarted,
    Busy,
    Server,
    NotDone,
    #[serde(rename = "asked-too-often")]
    TooManyPages,
    PageNeeded,
    Changed,
    InputNeeded,
    Ended,
    Lost,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// The states of servers that are not started.
const UNSTARTED_STATES: [&str; 5] =
    ["disabled", "awaiting-approval", "rejected", "blocked", "invalid"];

// === impl RemoteCallError ===

impl RemoteCallError {
    /// Converts an error of the engine, with advice.
    pub fn from_call_error(error: &CallError, advice: &dyn ErrorAdvice) -> Self {
        let mut told = RemoteError::from_error(error, error.remedy());
        if let CallError::Server { error, .. } = error {
            told.causes.truncate(1);
            told.causes.extend(RemoteError::from_wire_error(error).causes);
        }
        told.hint = advice.on_call(error);
        let mut failure = Self::without_call(RemoteErrorKind::of_call_error(error), told);
        match error.clone() {
            CallError::NotFound { name, similar } => {
                (failure.name, failure.similar) = (Some(name), similar);
            }
            CallError::Gone { name, server } => {
                (failure.name, failure.server) = (Some(name), Some(server));
            }
            CallError::Arguments { name, mistakes } => {
                (failure.name, failure.mistakes) = (Some(name), mistakes);
            }
            CallError::Denied { name, because, allow, at } => {
                (failure.name, failure.because) = (Some(name), Some(*because));
                (failure.allow, failure.at) = (allow, at);
            }
            CallError::Unanswered { name, because, allow, queue: _ } => {
                (failure.name, failure.because) = (Some(name), Some(*because));
                failure.allow = allow;
            }
            CallError::NotStarted { server, state, why } => {
                (failure.server, failure.state) = (Some(server), Some(state.to_owned()));
                failure.name = why;
            }
            CallError::NotDone { server, how } => {
                (failure.server, failure.how) = (Some(server), Some(how));
            }
            CallError::TooManyPages { server, times } => {
                (failure.server, failure.times) = (Some(server), Some(times));
            }
            CallError::PageNeeded { server, pages } => {
                (failure.server, failure.similar) = (Some(server), pages);
            }
            CallError::NotConnected { server, .. }
            | CallError::Busy { server }
            | CallError::Changed { server }
            | CallError::InputNeeded { server }
            | CallError::Server { server, .. } => failure.server = Some(server),
            CallError::Request { reason } => failure.name = Some(reason),
            CallError::UnknownMethod { method: name, servers }
            | CallError::UnmentionedResource { uri: name, servers } => {
                (failure.name, failure.similar) = (Some(name), servers);
            }
            CallError::Ended | CallError::Lost => {}
        }
        failure
    }

    /// Makes an error for a failure before there was a call.
    pub fn without_call(kind: RemoteErrorKind, error: RemoteError) -> Self {
        Self {
            kind,
            name: None,
            server: None,
            similar: Vec::new(),
            mistakes: Vec::new(),
            because: None,
            allow: None,
            at: None,
            state: None,
            how: None,
            times: None,
            error,
        }
    }

    /// Converts to an error of the engine. An error with missing members becomes an error of the server.
    pub fn into_call_error(self) -> CallError {
        let Self { kind, similar, mistakes, allow, at, error, .. } = self;
        let why = self.name.clone();
        let (name, server) = (self.name.unwrap_or_default(), self.server.unwrap_or_default());
        match (kind, self.because.map(Box::new), self.state, self.how, self.times) {
            (RemoteErrorKind::NotFound, ..) => CallError::NotFound { name, similar },
            (RemoteErrorKind::Gone, ..) => CallError::Gone { name, server },
            (RemoteErrorKind::Arguments, ..) => CallError::Arguments { name, mistakes },
            (RemoteErrorKind::Request, ..) => CallError::Request { reason: name },
            (RemoteErrorKind::UnknownMethod, ..) => {
                CallError::UnknownMethod { method: name, servers: similar }
            }
            (RemoteErrorKind::UnmentionedResource, ..) => {
                CallError::UnmentionedResource { uri: name, servers: similar }
            }
            (RemoteErrorKind::Denied, Some(because), ..) => {
                CallError::Denied { name, because, allow, at }
            }
            (RemoteErrorKind::Unanswered, Some(because), ..) => {
                // Only a hub sends its errors to another process, and a hub has a queue of questions.
                CallError::Unanswered { name, because, allow, queue: QueueAccess::Open }
            }
            (RemoteErrorKind::NotConnected, ..) => {
                CallError::NotConnected { server, error: Box::new(not_ready(error)) }
            }
            (RemoteErrorKind::NotStarted, _, Some(state), ..) if known_state(&state).is_some() => {
                let state = known_state(&state).unwrap_or_default();
                CallError::NotStarted { server, state, why }
            }
            (RemoteErrorKind::Busy, ..) => CallError::Busy { server },
            (RemoteErrorKind::NotDone, _, _, Some(how), _) => CallError::NotDone { server, how },
            (RemoteErrorKind::TooManyPages, .., Some(times)) => {
                CallError::TooManyPages { server, times }
            }
            (RemoteErrorKind::PageNeeded, ..) => CallError::PageNeeded { server, pages: similar },
            (RemoteErrorKind::Changed, ..) => CallError::Changed { server },
            (RemoteErrorKind::InputNeeded, ..) => CallError::InputNeeded { server },
            (RemoteErrorKind::Ended, ..) => CallError::Ended,
            (RemoteErrorKind::Lost, ..) => CallError::Lost,
            // The error brings its own hint and remedy.
            _ => CallError::server(&server, server_error(error), RepeatSafety::Harmless),
        }
    }
}

/// The static text of a known state.
fn known_state(state: &str) -> Option<&'static str> {
    UNSTARTED_STATES.into_iter().find(|known| *known == state)
}

/// The server's error without the sentence that names the server: `CallError` adds that sentence itself.
fn server_error(mut told: RemoteError) -> WireError {
    if told.causes.len() > 1 {
        told.causes.remove(0);
    }
    WireError::Remote(Arc::new(told))
}

fn not_ready(told: RemoteError) -> ConnectionNotReady {
    let error = ConnectionError::Wire(server_error(told));
    ConnectionNotReady::Failed(Arc::new(ConnectionFailure {
        error,
        was_connected: false,
        retry_at: None,
        retries: 0,
        number: 0,
        since: Instant::now(),
    }))
}

// === impl RemoteErrorKind ===

impl RemoteErrorKind {
    fn of_call_error(error: &CallError) -> Self {
        match error {
            CallError::NotFound { .. } => Self::NotFound,
            CallError::Gone { .. } => Self::Gone,
            CallError::Arguments { .. } => Self::Arguments,
            CallError::Request { .. } => Self::Request,
            CallError::UnknownMethod { .. } => Self::UnknownMethod,
            CallError::UnmentionedResource { .. } => Self::UnmentionedResource,
            CallError::Denied { .. } => Self::Denied,
            CallError::Unanswered { .. } => Self::Unanswered,
            CallError::NotConnected { .. } => Self::NotConnected,
            CallError::NotStarted { .. } => Self::NotStarted,
            CallError::Busy { .. } => Self::Busy,
            CallError::Server { .. } => Self::Server,
            CallError::NotDone { .. } => Self::NotDone,
            CallError::TooManyPages { .. } => Self::TooManyPages,
            CallError::PageNeeded { .. } => Self::PageNeeded,
            CallError::Changed { .. } => Self::Changed,
            CallError::InputNeeded { .. } => Self::InputNeeded,
            CallError::Ended => Self::Ended,
            CallError::Lost => Self::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_config::{PermissionMode, Scope, SourceOrigin};
    use switchboard_wire::Remedy;

    use super::*;
    use crate::permission::CitedRule;
    use crate::remote::NoAdvice;

    #[test]
    fn errors_come_back_as_they_went() {
        let at = SourceOrigin::file("/etc/x.json").start();
        let rule = DecisionReason::Rule(CitedRule {
            text: "mcp__x".into(),
            scope: Scope::User,
            at: Some(at.clone()),
        });
        let mode = DecisionReason::Mode { mode: PermissionMode::DontAsk };
        let asked = DecisionReason::NoPrompt { ask: Box::new(rule.clone()) };
        let (name, server) = (|| "n".to_owned(), || "s".to_owned());
        for error in [
            CallError::NotFound { name: name(), similar: vec!["m".into()] },
            CallError::Gone { name: name(), server: server() },
            CallError::UnknownMethod { method: name(), servers: vec!["m".into()] },
            CallError::UnmentionedResource { uri: name(), servers: vec!["m".into()] },
            CallError::PageNeeded { server: name(), pages: vec!["m".into()] },
            CallError::Arguments {
                name: name(),
                mistakes: vec![ArgumentMistake { path: "/a".into(), message: "no".into() }],
            },
            CallError::Request { reason: "odd".into() },
            CallError::Denied {
                name: name(),
                because: Box::new(rule),
                allow: Some("r".into()),
                at: Some(at),
            },
            CallError::Denied { name: name(), because: Box::new(asked), allow: None, at: None },
            CallError::Unanswered {
                name: name(),
                because: Box::new(mode),
                allow: None,
                queue: QueueAccess::Open,
            },
            CallError::NotStarted { server: server(), state: "disabled", why: None },
            CallError::NotStarted { server: server(), state: "blocked", why: Some("why".into()) },
            CallError::Busy { server: server() },
            CallError::NotDone { server: server(), how: ElicitationRefusal::Declined },
            CallError::TooManyPages { server: server(), times: 3 },
            CallError::Changed { server: server() },
            CallError::InputNeeded { server: server() },
            CallError::Ended,
            CallError::Lost,
        ] {
            let text = serde_json::to_string(&RemoteCallError::from_call_error(&error, &NoAdvice))
                .unwrap();
            let back = serde_json::from_str::<RemoteCallError>(&text).unwrap().into_call_error();
            assert_eq!(format!("{back:?}"), format!("{error:?}"), "{text}");
        }
    }

    #[test]
    fn what_a_server_did_keeps_its_words_and_its_remedy() {
        for (repeat, remedy) in
            [(RepeatSafety::Harmless, Remedy::Retry), (RepeatSafety::MayActTwice, Remedy::Unknown)]
        {
            let error = CallError::server("s", WireError::Closed, repeat);
            assert_eq!(error.remedy(), remedy);
            let back = RemoteCallError::from_call_error(&error, &NoAdvice).into_call_error();
            assert_eq!(back.remedy(), remedy);
            let CallError::Server { server, error, .. } = back else { panic!("{back:?}") };
            assert_eq!(
                (server.as_str(), error.to_string().as_str()),
                ("s", "the connection is closed")
            );
        }
    }
}
