//! Options of an engine: timeouts and limits from settings and `MCP_*` variables, credentials, state folder.
//!
//! Used by `command_engine::own_engine` and `served_workspace`. It does not create the engine.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::UserPresence;
use switchboard_config::Desired;
use switchboard_core::EngineOptions;
use switchboard_core::connection::ConnectionTiming;
use switchboard_core::engine::{QueueAccess, variable_problems};
use switchboard_process::ProcessGuard;

use super::credentials::CredentialSources;
use crate::notice::Notice;
use crate::report::Failure;
use crate::surroundings::{self, Caller};

const CONNECT_TIMEOUT_VAR: &str = "MCP_TIMEOUT";
const LOCAL_BATCH_SIZE_VAR: &str = "MCP_SERVER_CONNECTION_BATCH_SIZE";
const REMOTE_BATCH_SIZE_VAR: &str = "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE";

pub(crate) fn engine_options(
    desired: &Desired,
    caller: &Caller,
    presence: UserPresence,
) -> Result<EngineOptions, Failure> {
    let guard = ProcessGuard::this_program()
        .map_err(|error| Failure::new("cannot open this program to guard what it starts", error))?;
    let credentials = Arc::new(CredentialSources::new(caller, guard.clone(), presence));
    let mut options = EngineOptions::new("switchboard", env!("CARGO_PKG_VERSION"), guard);
    options.state_dir = Some(caller.surroundings.state_dir.clone());
    options.program = surroundings::program();
    options.credentials = credentials;
    options.timing = timing(desired, caller);
    // Only a hub has the console and the terminal UI.
    options.queue_access = QueueAccess::None;
    if let Some(patience) = desired.settings.limits.question_ttl_ms {
        options.patience = Duration::from_millis(patience);
    }
    let limits = &desired.settings.limits;
    let number =
        |asked: Option<u64>, usual| asked.map_or(usual, |n| n.try_into().unwrap_or(usize::MAX));
    options.connections_per_principal =
        number(limits.connections_per_principal, options.connections_per_principal);
    options.connections = number(limits.connections, options.connections);
    options.results_bytes = limits.spill_bytes.unwrap_or(options.results_bytes);
    let days = |days: u64| Duration::from_secs(days.saturating_mul(24 * 60 * 60));
    options.results_age = limits.spill_days.map_or(options.results_age, days);
    Ok(options)
}

/// How long a server may take to connect.
pub(super) fn connect_timeout(desired: &Desired, caller: &Caller) -> Duration {
    timing(desired, caller).connect
}

fn timing(desired: &Desired, caller: &Caller) -> ConnectionTiming {
    let usual = ConnectionTiming::default();
    let limits = &desired.settings.limits;
    let slots =
        |name, usual: usize| number_variable(name, desired, caller).unwrap_or(usual).clamp(1, 1000);
    let connect =
        number_variable(CONNECT_TIMEOUT_VAR, desired, caller).filter(|millis| *millis > 0);
    let in_flight = limits.calls_in_flight.and_then(|calls| usize::try_from(calls).ok());
    ConnectionTiming {
        connect: connect.map_or(usual.connect, Duration::from_millis),
        first_byte: limits.request_timeout_ms.map_or(usual.first_byte, Duration::from_millis),
        local_slots: slots(LOCAL_BATCH_SIZE_VAR, usual.local_slots),
        remote_slots: slots(REMOTE_BATCH_SIZE_VAR, usual.remote_slots),
        calls_in_flight: in_flight.unwrap_or(usual.calls_in_flight),
        // A person sees what failed, and types the command again.
        retries: 0,
        ..usual
    }
}

/// Variables that should hold a number and do not, so that the usual one is used.
pub(crate) fn not_numbers(desired: &Desired, caller: &Caller) -> Vec<Notice> {
    let is_wrong = |name: &&str| {
        text_variable(name, desired, caller).is_some_and(|text| text.trim().parse::<u64>().is_err())
    };
    let names = [CONNECT_TIMEOUT_VAR, LOCAL_BATCH_SIZE_VAR, REMOTE_BATCH_SIZE_VAR]
        .into_iter()
        .filter(is_wrong);
    let ours = names.map(|name| {
        let at = desired.settings.env.get(name).map(|value| value.at.clone());
        Notice::warning(format!("`{name}` is not a number, and is not used")).with_location(at)
    });
    let environment = caller.variables.iter().cloned().collect();
    ours.chain(variable_problems(desired, &environment).iter().map(Notice::from)).collect()
}

/// A number from the settings' variables, else from the caller's.
fn number_variable<T: FromStr>(name: &str, desired: &Desired, caller: &Caller) -> Option<T> {
    text_variable(name, desired, caller)?.trim().parse().ok()
}

fn text_variable<'a>(name: &str, desired: &'a Desired, caller: &'a Caller) -> Option<&'a str> {
    let set = desired.settings.env.get(name).map(|value| &*value.value);
    let set = set.filter(|text| !text.trim().is_empty());
    set.or_else(|| caller.variable(name))
}
