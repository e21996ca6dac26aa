//! Why a server is not there, and why a call came to nothing, as failures that say what to do.

use switchboard_config::{Desired, Server, command_line};
use switchboard_core::CallError;
use switchboard_core::connection::{Error, NotReady};
use switchboard_core::engine::{ServerView, Snapshot, Status};
use switchboard_core::permission::Because;
use switchboard_wire::{Error as WireError, Remedy, http::HttpError};

use super::{Hub, hints::take_away, signs_in};
use crate::hint::{self, Subject};
use crate::notice::Notice;
use crate::report::{Failure, Kind};
use crate::show;

/// How much of why a server is not there is said beside other things.
const CAUSES: usize = 200;

/// Why a server could not be connected to; `None` if it was, or is still being connected to.
pub(crate) fn failed(message: &str, view: &ServerView, desired: &Desired) -> Option<Failure> {
    let error = match &view.status {
        Status::Failed { error, .. } => error,
        Status::NeedsAuth { reason } => match view.stats.as_ref()?.last_error.as_ref() {
            Some(error) => error,
            None => {
                let failure = Failure::plain(Kind::NeedsAuthentication, message);
                return Some(failure.because([reason.clone()]));
            }
        },
        _ => return None,
    };
    let failure = of_connection(message, &view.name, error);
    let own = failure.needs_authentication() || lacks_credentials(error);
    if own && desired.named(&view.name).any(brings_its_own) {
        return Some(failure.hinted(hint::own_credentials(&view.name)));
    }
    // The server was not asked, so it is not the server that is down.
    if lacks_credentials(error) {
        let name = show::word(&view.name);
        return Some(failure.hinted(format!("`switchboard doctor auth {name}` shows each step")));
    }
    Some(failure)
}

/// A server that could not be connected to.
fn of_connection(message: &str, server: &str, error: &Error) -> Failure {
    match error {
        Error::Wire(error) => Failure::server(message, error, &Subject::Configured(server)),
        Error::Loop => Failure::new(message, error).hinted(take_away(server)),
        error => Failure::new(message, error),
    }
}

/// Whether a server was not even asked, for want of something to ask it with.
fn lacks_credentials(error: &Error) -> bool {
    let Error::Wire(WireError::Http(error)) = error else { return false };
    matches!(**error, HttpError::Credentials { .. })
}

/// Whether nobody signs in to a server, since its entry says how it is reached.
fn brings_its_own(server: &Server) -> bool {
    server.entry().is_some_and(|entry| signs_in(server, entry).is_none())
}

/// Why nothing can be had of a server by this name now; `None` if something can.
pub(crate) fn missing(hub: &Hub, snapshot: &Snapshot, server: &str) -> Option<Failure> {
    let Some(view) = snapshot.server(server) else {
        let failure = Failure::plain(Kind::Failed, format!("there is no server `{server}`"));
        return Some(failure.hinted(hint::no_server()));
    };
    let plain = |words: String| Failure::plain(Kind::Failed, format!("`{server}` is {words}"));
    Some(match &view.status {
        Status::Connected => return None,
        Status::Pending => plain("not connected".to_owned())
            .because(["it did not answer in time".to_owned()])
            .hinted("allow more with `MCP_TIMEOUT` (milliseconds)"),
        Status::Failed { .. } | Status::NeedsAuth { .. } => {
            failed(&format!("`{server}` is not connected"), view, &hub.desired)?
        }
        Status::Disabled(_) => {
            let enable = command_line("enable", [server]);
            plain("disabled".to_owned()).hinted(format!("run `{enable}`"))
        }
        Status::AwaitingApproval => {
            plain("awaiting approval".to_owned()).hinted(hint::approve(server))
        }
        Status::Rejected(why) | Status::Blocked(why) | Status::Invalid(why) => {
            let by = hub.desired.named(server).find_map(|server| server.state.reason());
            plain(view.status.word().to_owned())
                .because(why.clone().filter(|why| why != view.status.word()))
                .placed(by.and_then(|reason| reason.by.clone()))
                .hinted(format!("`{}` shows it", command_line("get", [server])))
        }
    })
}

/// A word about every server that should be there and is not.
pub(crate) fn unconnected(hub: &Hub, snapshot: &Snapshot) -> Vec<Notice> {
    let of = |view: &ServerView| {
        let notice = match &view.status {
            Status::AwaitingApproval => Notice::note(format!("`{}` awaits approval", view.name))
                .hinted(hint::approve(&view.name)),
            Status::Failed { .. } | Status::NeedsAuth { .. } | Status::Pending => {
                let failure = missing(hub, snapshot, &view.name)?;
                let causes = failure.causes().join(": ");
                let causes = show::shortened(&causes, CAUSES);
                let notice = Notice::warning(format!("{}: {causes}", failure.message()));
                match failure.hint() {
                    Some(hint) => notice.hinted(hint),
                    None => notice,
                }
            }
            _ => return None,
        };
        Some(notice.about(&view.name))
    };
    snapshot.servers.iter().filter_map(of).collect()
}

/// Why a call came to nothing.
pub(crate) fn call_failed(message: &str, error: &CallError, hub: &Hub) -> Failure {
    match error {
        CallError::NotFound { name, .. } => not_found(message, name),
        CallError::Denied { because, at, .. } => {
            let failure = Failure::plain(Kind::Denied, message).because([denial(because)]);
            let failure = failure.placed(at.clone());
            match &**because {
                Because::Rule(_) => failure.hinted("change that rule if it is yours"),
                _ => failure,
            }
        }
        CallError::Unanswered { allow, .. } => {
            let failure = Failure::plain(Kind::Denied, message).because([error.to_string()]);
            match allow {
                Some(rule) => failure.hinted(format!("the rule `{rule}` would allow it")),
                None => failure,
            }
        }
        CallError::NotConnected { server, error } => not_connected(message, server, error, hub),
        CallError::NotStarted { server, .. } => match missing(hub, &hub.snapshot(), server) {
            Some(failure) => failure.under(message),
            None => Failure::new(message, error),
        },
        CallError::Server { error, .. } if matches!(**error, WireError::Timeout { .. }) => {
            Failure::new(message, error.as_ref()).hinted(hint::call_timeout())
        }
        CallError::Server { server, error } => {
            Failure::server(message, error, &Subject::Configured(server))
        }
        CallError::Busy { .. } => Failure::new(message, error).hinted("try again"),
        CallError::Lost => Failure::new(message, error)
            .hinted("look what became of it before you call again; a new hub starts by itself"),
        _ => Failure::new(message, error),
    }
}

fn not_connected(message: &str, server: &str, error: &NotReady, hub: &Hub) -> Failure {
    let snapshot = hub.snapshot();
    let missing = missing(hub, &snapshot, server);
    match (missing, error.remedy()) {
        (Some(failure), _) => failure.under(message),
        (None, Remedy::SignIn) => {
            Failure::plain(Kind::NeedsAuthentication, message).because([error.to_string()])
        }
        (None, _) => Failure::new(message, error),
    }
}

/// Nobody has it. Tools and prompts are looked up before, so it is a resource.
fn not_found(message: &str, name: &str) -> Failure {
    Failure::plain(Kind::Failed, message)
        .because([format!("no server has `{name}`")])
        .hinted("`switchboard resources` shows every resource and template")
}

fn denial(because: &Because) -> String {
    match because {
        Because::Rule(rule) => {
            format!("the rule `{}` of the {} scope forbids it", rule.text, rule.scope)
        }
        other => other.to_string(),
    }
}
