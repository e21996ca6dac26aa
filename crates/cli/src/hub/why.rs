//! Why a server is not there, and why a call came to nothing, as failures that say what to do.

use switchboard_config::{Desired, Server, command_line};
use switchboard_core::CallError;
use switchboard_core::connection::{Error, NotReady};
use switchboard_core::engine::{ServerView, Snapshot, Status};
use switchboard_core::permission::Because;
use switchboard_wire::{Error as WireError, Remedy};

use super::{Hub, hints::take_away, signs_in};
use crate::hint::{self, Reach, Subject};
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
    let failure = of_connection(message, view, error);
    let own = failure.needs_authentication() || lacks_credentials(error);
    if own && desired.named(&view.name).any(brings_its_own) {
        return Some(failure.hinted(hint::own_credentials(&view.name)));
    }
    if lacks_credentials(error) {
        return Some(failure.hinted(hint::examine_sign_in(&view.name)));
    }
    Some(failure)
}

/// A server that could not be connected to.
fn of_connection(message: &str, view: &ServerView, error: &Error) -> Failure {
    let subject = Subject::Configured(&view.name, Reach::of_transport(view.transport));
    match error {
        Error::Wire(error) => Failure::server(message, error, &subject),
        Error::Loop => Failure::new(message, error).hinted(take_away(&view.name)),
        error => Failure::new(message, error),
    }
}

/// Whether a server was not even asked, for want of something to ask it with.
fn lacks_credentials(error: &Error) -> bool {
    matches!(error, Error::Wire(error) if error.lacks_credentials())
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
        CallError::UnmentionedResource { uri, servers } => Failure::new(message, error)
            .hinted(format!("`switchboard read {} {uri}` asks that server", servers.join("|"))),
        CallError::Denied { because, at, .. } => {
            let failure = Failure::plain(Kind::Denied, message).because([denial(because)]);
            let failure = failure.placed(at.clone());
            hinted(failure, hint::of_denial(error))
        }
        CallError::Unanswered { .. } => {
            let failure = Failure::plain(Kind::Denied, message).because([error.to_string()]);
            hinted(failure, hint::of_denial(error))
        }
        CallError::NotConnected { server, error } => not_connected(message, server, error, hub),
        CallError::NotStarted { server, .. } => match missing(hub, &hub.snapshot(), server) {
            Some(failure) => failure.under(message),
            None => Failure::new(message, error),
        },
        CallError::Server { error: cause, .. } if matches!(**cause, WireError::Timeout { .. }) => {
            let failure = Failure::new(message, cause.as_ref()).hinted(hint::call_timeout());
            with_outcome(failure, error)
        }
        CallError::Server { server, error: cause, .. } => {
            let failure = Failure::server(message, cause, &Subject::Configured(server, Reach::Url));
            with_outcome(failure, error)
        }
        _ => hinted(Failure::new(message, error), hint::of_call(error)),
    }
}

fn hinted(failure: Failure, hint: Option<String>) -> Failure {
    match hint {
        Some(hint) => failure.hinted(hint),
        None => failure,
    }
}

/// A call that may have been carried out is not to be made again without a look.
fn with_outcome(failure: Failure, error: &CallError) -> Failure {
    if error.remedy() != Remedy::Unknown {
        return failure;
    }
    failure.because([
        "whether the call was carried out is not known; check before you call again".to_owned()
    ])
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
