//! Failures of servers and calls, with a hint for the person: not connected, not found, denied, timed out.
//!
//! Used by the commands through `command_engine`. The texts of hints are in `hint`. It does not print (`printer` does).

use switchboard_config::{Desired, DesiredServer, command_line};
use switchboard_core::CallError;
use switchboard_core::connection::{ConnectionError, ConnectionNotReady};
use switchboard_core::engine::{ServerSnapshot, ServerStatus, WorkspaceSnapshot};
use switchboard_core::permission::DecisionReason;
use switchboard_hub::sign_in_target;
use switchboard_wire::Remedy;

use super::{CommandEngine, hints::take_away};
use crate::hint::{self, Reach, Subject};
use crate::notice::Notice;
use crate::report::{Failure, FailureKind};
use crate::show;

/// How much of why a server is not there is said beside other things.
const MAX_CAUSE_CHARS: usize = 200;

/// Why a server could not be connected to; `None` if it was, or is still being connected to.
pub(crate) fn connect_failure(
    message: &str,
    view: &ServerSnapshot,
    desired: &Desired,
) -> Option<Failure> {
    let error = match &view.status {
        ServerStatus::Failed { error, .. } => error,
        ServerStatus::NeedsAuth { reason } => match view.stats.as_ref()?.last_error.as_ref() {
            Some(error) => error,
            None => {
                let failure = Failure::plain(FailureKind::NeedsAuthentication, message);
                return Some(failure.with_causes([reason.clone()]));
            }
        },
        _ => return None,
    };
    let failure = of_connection(message, view, error);
    let own = failure.needs_authentication() || lacks_credentials(error);
    if own && desired.servers_named(&view.name).any(brings_its_own) {
        return Some(failure.with_hint(hint::own_credentials(&view.name)));
    }
    if lacks_credentials(error) {
        return Some(failure.with_hint(hint::examine_sign_in(&view.name)));
    }
    Some(failure)
}

/// A server that could not be connected to.
fn of_connection(message: &str, view: &ServerSnapshot, error: &ConnectionError) -> Failure {
    let subject = Subject::Configured(&view.name, Reach::of_transport(view.transport));
    match error {
        ConnectionError::Wire(error) => Failure::server(message, error, &subject),
        ConnectionError::Loop => Failure::new(message, error).with_hint(take_away(&view.name)),
        error => Failure::new(message, error),
    }
}

/// Whether no request was sent to a server, since there were no credentials for it.
fn lacks_credentials(error: &ConnectionError) -> bool {
    matches!(error, ConnectionError::Wire(error) if error.lacks_credentials())
}

/// Whether a server needs no sign-in, since its entry brings the credentials.
fn brings_its_own(server: &DesiredServer) -> bool {
    server.entry().is_some_and(|entry| sign_in_target(server, entry).is_none())
}

/// The failure if a server of this name cannot be used now; `None` if it can.
pub(crate) fn missing_failure(
    hub: &CommandEngine,
    snapshot: &WorkspaceSnapshot,
    server: &str,
) -> Option<Failure> {
    let Some(view) = snapshot.server(server) else {
        let failure = Failure::plain(FailureKind::Failed, format!("there is no server `{server}`"));
        return Some(failure.with_hint(hint::no_server()));
    };
    let plain =
        |words: String| Failure::plain(FailureKind::Failed, format!("`{server}` is {words}"));
    Some(match &view.status {
        // Another connection of the server may have failed.
        _ if view.is_usable() => return None,
        ServerStatus::Connected | ServerStatus::Idle { .. } => return None,
        ServerStatus::Pending => plain("not connected".to_owned())
            .with_causes(["it did not answer in time".to_owned()])
            .with_hint("allow more with `MCP_TIMEOUT` (milliseconds)"),
        ServerStatus::Failed { .. } | ServerStatus::NeedsAuth { .. } => {
            connect_failure(&format!("`{server}` is not connected"), view, &hub.desired)?
        }
        ServerStatus::Disabled(_) => {
            let enable = command_line("enable", [server]);
            plain("disabled".to_owned()).with_hint(format!("run `{enable}`"))
        }
        ServerStatus::AwaitingApproval => {
            plain("awaiting approval".to_owned()).with_hint(hint::approve(server))
        }
        ServerStatus::Rejected(why) | ServerStatus::Blocked(why) | ServerStatus::Invalid(why) => {
            let by = hub.desired.servers_named(server).find_map(|server| server.state.reason());
            plain(view.status.word().to_owned())
                .with_causes(why.clone().filter(|why| why != view.status.word()))
                .with_location(by.and_then(|reason| reason.by.clone()))
                .with_hint(format!("`{}` shows it", command_line("get", [server])))
        }
    })
}

/// A word about every server that should be there and is not.
pub(crate) fn unconnected_notices(
    hub: &CommandEngine,
    snapshot: &WorkspaceSnapshot,
) -> Vec<Notice> {
    let of = |view: &ServerSnapshot| {
        let notice = match &view.status {
            ServerStatus::AwaitingApproval => {
                Notice::note(format!("`{}` awaits approval", view.name))
                    .with_hint(hint::approve(&view.name))
            }
            ServerStatus::Failed { .. }
            | ServerStatus::NeedsAuth { .. }
            | ServerStatus::Pending => {
                let failure = missing_failure(hub, snapshot, &view.name)?;
                let causes = failure.causes().join(": ");
                let causes = show::shorten(&causes, MAX_CAUSE_CHARS);
                let notice = Notice::warning(format!("{}: {causes}", failure.message()));
                match failure.hint() {
                    Some(hint) => notice.with_hint(hint),
                    None => notice,
                }
            }
            _ => return None,
        };
        Some(notice.with_server(&view.name))
    };
    snapshot.servers.iter().filter_map(of).collect()
}

/// Why a call came to nothing.
pub(crate) fn call_failed(message: &str, error: &CallError, hub: &CommandEngine) -> Failure {
    explain_call(message, error, hub).with_remedy(error.remedy())
}

fn explain_call(message: &str, error: &CallError, hub: &CommandEngine) -> Failure {
    match error {
        CallError::NotFound { name, .. } => not_found(message, name),
        CallError::UnmentionedResource { uri, servers } => Failure::new(message, error)
            .with_hint(format!("`switchboard read {} {uri}` asks that server", servers.join("|"))),
        CallError::Denied { because, at, .. } => {
            let failure =
                Failure::plain(FailureKind::Denied, message).with_causes([denial(because)]);
            let failure = failure.with_location(at.clone());
            with_hint(failure, hint::of_denial(error))
        }
        CallError::Unanswered { .. } => {
            let failure =
                Failure::plain(FailureKind::Denied, message).with_causes([error.to_string()]);
            with_hint(failure, hint::of_denial(error))
        }
        CallError::NotConnected { server, error } => not_connected(message, server, error, hub),
        CallError::NotStarted { server, .. } => match missing_failure(hub, &hub.snapshot(), server)
        {
            Some(failure) => failure.with_context(message),
            None => Failure::new(message, error),
        },
        CallError::Server { server, error: cause, .. } => {
            let failure = match hint::of_slow_call(cause) {
                Some(advice) => Failure::new(message, cause.as_ref()).with_hint(advice),
                None => Failure::server(message, cause, &Subject::Configured(server, Reach::Url)),
            };
            with_outcome(failure, error)
        }
        _ => with_hint(Failure::new(message, error), hint::of_call(error)),
    }
}

fn with_hint(failure: Failure, hint: Option<String>) -> Failure {
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// A call that may have been carried out is not to be made again without a look.
fn with_outcome(failure: Failure, error: &CallError) -> Failure {
    if error.remedy() != Remedy::Unknown {
        return failure;
    }
    let failure = failure.with_causes(["the server may have carried out the call".to_owned()]);
    // A hub gives hints about time too; every other hint would say to try again.
    let advice = match failure.hint().filter(|hint| hint::is_about_time(hint)) {
        Some(about_time) => format!("{}; {about_time}", hint::check_first()),
        None => hint::check_first().to_owned(),
    };
    failure.with_hint(advice)
}

fn not_connected(
    message: &str,
    server: &str,
    error: &ConnectionNotReady,
    hub: &CommandEngine,
) -> Failure {
    let snapshot = hub.snapshot();
    let missing = missing_failure(hub, &snapshot, server);
    match (missing, error.remedy()) {
        (Some(failure), _) => failure.with_context(message),
        (None, Remedy::SignIn) => Failure::plain(FailureKind::NeedsAuthentication, message)
            .with_causes([error.to_string()]),
        (None, _) => Failure::new(message, error),
    }
}

/// The failure for a name that no server has. Tools and prompts are looked up before, so the name is a resource.
fn not_found(message: &str, name: &str) -> Failure {
    Failure::plain(FailureKind::Failed, message)
        .with_causes([format!("no server has `{name}`")])
        .with_hint("`switchboard resources` shows every resource and template")
}

fn denial(because: &DecisionReason) -> String {
    match because {
        DecisionReason::Rule(rule) => {
            format!("the rule `{}` of the {} scope forbids it", rule.text, rule.scope)
        }
        other => other.to_string(),
    }
}
