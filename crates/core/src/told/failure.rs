//! Why a call came to nothing, told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_config::Location;
use switchboard_wire::{Error as WireError, Told};
use tokio::time::Instant;

use super::Advice;
use crate::CallError;
use crate::connection::{Error, Failed, NotReady};
use crate::dispatch::{Refusal, Repeat};
use crate::permission::Because;
use crate::schema::Mistake;

/// A [`CallError`], told. Members are there as far as the kind has them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Which kind of error.
    pub kind: Kind,
    /// What was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What may have been meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<String>,
    /// Where the arguments do not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// Who says no, or asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// The rule that would allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<String>,
    /// Where what forbids it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Location>,
    /// The state of a server that is not to be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How a request of the server was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<Refusal>,
    /// How often it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// What happened, why, and what to do.
    pub error: Told,
}

/// Kinds of [`CallError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // They are those of the error.
pub enum Kind {
    NotFound,
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
    AskedTooOften,
    PageNeeded,
    Changed,
    InputNeeded,
    Ended,
    Lost,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

/// The states that a server can have without being started.
const STATES: [&str; 5] = ["disabled", "awaiting-approval", "rejected", "blocked", "invalid"];

// === impl Failure ===

impl Failure {
    /// Tells an error, with advice.
    pub fn of(error: &CallError, advice: &dyn Advice) -> Self {
        let mut told = Told::of(error, error.remedy());
        if let CallError::Server { error, .. } = error {
            told.causes.truncate(1);
            told.causes.extend(Told::wire(error).causes);
        }
        told.hint = advice.on_call(error);
        let mut failure = Self::plain(Kind::of(error), told);
        match error.clone() {
            CallError::NotFound { name, similar } => {
                (failure.name, failure.similar) = (Some(name), similar);
            }
            CallError::Arguments { name, mistakes } => {
                (failure.name, failure.mistakes) = (Some(name), mistakes);
            }
            CallError::Denied { name, because, allow, at } => {
                (failure.name, failure.because) = (Some(name), Some(*because));
                (failure.allow, failure.at) = (allow, at);
            }
            CallError::Unanswered { name, because, allow } => {
                (failure.name, failure.because) = (Some(name), Some(*because));
                failure.allow = allow;
            }
            CallError::NotStarted { server, state } => {
                (failure.server, failure.state) = (Some(server), Some(state.to_owned()));
            }
            CallError::NotDone { server, how } => {
                (failure.server, failure.how) = (Some(server), Some(how));
            }
            CallError::AskedTooOften { server, times } => {
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

    /// Something that went wrong before there was a call.
    pub fn plain(kind: Kind, error: Told) -> Self {
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

    /// The error that was told. What is missing of it makes it an error of the server.
    pub fn error(self) -> CallError {
        let Self { kind, similar, mistakes, allow, at, error, .. } = self;
        let (name, server) = (self.name.unwrap_or_default(), self.server.unwrap_or_default());
        match (kind, self.because.map(Box::new), self.state, self.how, self.times) {
            (Kind::NotFound, ..) => CallError::NotFound { name, similar },
            (Kind::Arguments, ..) => CallError::Arguments { name, mistakes },
            (Kind::Request, ..) => CallError::Request { reason: name },
            (Kind::UnknownMethod, ..) => {
                CallError::UnknownMethod { method: name, servers: similar }
            }
            (Kind::UnmentionedResource, ..) => {
                CallError::UnmentionedResource { uri: name, servers: similar }
            }
            (Kind::Denied, Some(because), ..) => CallError::Denied { name, because, allow, at },
            (Kind::Unanswered, Some(because), ..) => CallError::Unanswered { name, because, allow },
            (Kind::NotConnected, ..) => {
                CallError::NotConnected { server, error: Box::new(not_ready(error)) }
            }
            (Kind::NotStarted, _, Some(state), ..) if known(&state).is_some() => {
                CallError::NotStarted { server, state: known(&state).unwrap_or_default() }
            }
            (Kind::Busy, ..) => CallError::Busy { server },
            (Kind::NotDone, _, _, Some(how), _) => CallError::NotDone { server, how },
            (Kind::AskedTooOften, .., Some(times)) => CallError::AskedTooOften { server, times },
            (Kind::PageNeeded, ..) => CallError::PageNeeded { server, pages: similar },
            (Kind::Changed, ..) => CallError::Changed { server },
            (Kind::InputNeeded, ..) => CallError::InputNeeded { server },
            (Kind::Ended, ..) => CallError::Ended,
            (Kind::Lost, ..) => CallError::Lost,
            // What was told says itself what would help.
            _ => CallError::server(&server, inner(error), Repeat::Harmless),
        }
    }
}

/// The same word, for good.
fn known(state: &str) -> Option<&'static str> {
    STATES.into_iter().find(|known| *known == state)
}

/// What the server did, without the sentence that says whose error it is: the reader says that itself.
fn inner(mut told: Told) -> WireError {
    if told.causes.len() > 1 {
        told.causes.remove(0);
    }
    WireError::Told(Arc::new(told))
}

fn not_ready(told: Told) -> NotReady {
    let error = Error::Wire(inner(told));
    NotReady::Failed(Arc::new(Failed {
        error,
        was_connected: false,
        retry_at: None,
        retries: 0,
        number: 0,
        since: Instant::now(),
    }))
}

// === impl Kind ===

impl Kind {
    fn of(error: &CallError) -> Self {
        match error {
            CallError::NotFound { .. } => Self::NotFound,
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
            CallError::AskedTooOften { .. } => Self::AskedTooOften,
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
    use switchboard_config::{Mode, Origin, Scope};
    use switchboard_wire::Remedy;

    use super::*;
    use crate::permission::Cited;
    use crate::told::NoAdvice;

    #[test]
    fn errors_come_back_as_they_went() {
        let at = Origin::file("/etc/x.json").start();
        let rule =
            Because::Rule(Cited { text: "mcp__x".into(), scope: Scope::User, at: at.clone() });
        let mode = Because::Mode { mode: Mode::DontAsk };
        let asked = Because::NobodyAsked { ask: Box::new(rule.clone()) };
        let (name, server) = (|| "n".to_owned(), || "s".to_owned());
        for error in [
            CallError::NotFound { name: name(), similar: vec!["m".into()] },
            CallError::UnknownMethod { method: name(), servers: vec!["m".into()] },
            CallError::UnmentionedResource { uri: name(), servers: vec!["m".into()] },
            CallError::PageNeeded { server: name(), pages: vec!["m".into()] },
            CallError::Arguments {
                name: name(),
                mistakes: vec![Mistake { path: "/a".into(), message: "no".into() }],
            },
            CallError::Request { reason: "odd".into() },
            CallError::Denied {
                name: name(),
                because: Box::new(rule),
                allow: Some("r".into()),
                at: Some(at),
            },
            CallError::Denied { name: name(), because: Box::new(asked), allow: None, at: None },
            CallError::Unanswered { name: name(), because: Box::new(mode), allow: None },
            CallError::NotStarted { server: server(), state: "disabled" },
            CallError::Busy { server: server() },
            CallError::NotDone { server: server(), how: Refusal::Declined },
            CallError::AskedTooOften { server: server(), times: 3 },
            CallError::Changed { server: server() },
            CallError::InputNeeded { server: server() },
            CallError::Ended,
            CallError::Lost,
        ] {
            let text = serde_json::to_string(&Failure::of(&error, &NoAdvice)).unwrap();
            let back = serde_json::from_str::<Failure>(&text).unwrap().error();
            assert_eq!(format!("{back:?}"), format!("{error:?}"), "{text}");
        }
    }

    #[test]
    fn what_a_server_did_keeps_its_words_and_its_remedy() {
        for (repeat, remedy) in
            [(Repeat::Harmless, Remedy::Retry), (Repeat::MayActTwice, Remedy::Unknown)]
        {
            let error = CallError::server("s", WireError::Closed, repeat);
            assert_eq!(error.remedy(), remedy);
            let back = Failure::of(&error, &NoAdvice).error();
            assert_eq!(back.remedy(), remedy);
            let CallError::Server { server, error, .. } = back else { panic!("{back:?}") };
            assert_eq!(
                (server.as_str(), error.to_string().as_str()),
                ("s", "the connection is closed")
            );
        }
    }
}
