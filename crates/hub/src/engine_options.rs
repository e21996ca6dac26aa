//! The options of an engine: limits from settings and environment, folders, credentials.
//!
//! Used by the hub and by commands with an engine of their own. It does not start an engine.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::UserPresence;
use switchboard_config::{Desired, EnvironmentVariables};
use switchboard_core::EngineOptions;
use switchboard_core::connection::ConnectionTiming;
use switchboard_core::engine::QueueAccess;

use crate::credentials::CredentialSources;
use crate::{HubError, ProgramContext, process_guard};

/// How long a server may be without a call before it is stopped, unless `limits.serverIdleMs` says otherwise.
const DEFAULT_SERVER_IDLE: Duration = Duration::from_mins(10);

const CONNECT_TIMEOUT_VAR: &str = "MCP_TIMEOUT";
const LOCAL_BATCH_SIZE_VAR: &str = "MCP_SERVER_CONNECTION_BATCH_SIZE";
const REMOTE_BATCH_SIZE_VAR: &str = "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE";

/// The options of an engine for one command, which tries no connection twice.
pub fn engine_options(
    desired: &Desired,
    program: &ProgramContext,
    presence: UserPresence,
) -> Result<EngineOptions, HubError> {
    let guard = process_guard()?;
    let credentials = Arc::new(CredentialSources::new(program, guard.clone(), presence));
    let mut options = EngineOptions::new("switchboard", program.version, guard);
    options.state_dir = Some(program.host.state_dir.clone());
    options.program.clone_from(&program.program);
    options.credentials = credentials;
    options.sealer = program.replicas.as_ref().map(|replicas| Arc::clone(&replicas.sealer));
    options.timing = timing(desired, &program.host.env);
    // Only a hub has the console and the terminal UI.
    options.queue_access = QueueAccess::None;
    if let Some(patience) = desired.settings.limits.question_ttl_ms {
        options.patience = Duration::from_millis(patience);
    }
    let limits = &desired.settings.limits;
    let number =
        |limit: Option<u64>, usual| limit.map_or(usual, |n| n.try_into().unwrap_or(usize::MAX));
    options.connections_per_principal =
        number(limits.connections_per_principal, options.connections_per_principal);
    options.connections = number(limits.connections, options.connections);
    options.results_bytes = limits.spill_bytes.unwrap_or(options.results_bytes);
    let days = |days: u64| Duration::from_secs(days.saturating_mul(24 * 60 * 60));
    options.results_age = limits.spill_days.map_or(options.results_age, days);
    Ok(options)
}

/// How long a server may take to connect.
pub fn connect_timeout(desired: &Desired, environment: &EnvironmentVariables) -> Duration {
    timing(desired, environment).connect
}

fn timing(desired: &Desired, environment: &EnvironmentVariables) -> ConnectionTiming {
    let usual = ConnectionTiming::default();
    let limits = &desired.settings.limits;
    let slots = |name, usual: usize| {
        number_variable(name, desired, environment).unwrap_or(usual).clamp(1, 1000)
    };
    let connect =
        number_variable(CONNECT_TIMEOUT_VAR, desired, environment).filter(|millis| *millis > 0);
    let in_flight = limits.calls_in_flight.and_then(|calls| usize::try_from(calls).ok());
    ConnectionTiming {
        connect: connect.map_or(usual.connect, Duration::from_millis),
        first_byte: limits.request_timeout_ms.map_or(usual.first_byte, Duration::from_millis),
        local_slots: slots(LOCAL_BATCH_SIZE_VAR, usual.local_slots),
        remote_slots: slots(REMOTE_BATCH_SIZE_VAR, usual.remote_slots),
        calls_in_flight: in_flight.unwrap_or(usual.calls_in_flight),
        server_idle: match limits.server_idle_ms {
            Some(0) => None,
            Some(millis) => Some(Duration::from_millis(millis)),
            None => Some(DEFAULT_SERVER_IDLE),
        },
        // No retries: the person sees the failure, and types the command again.
        retries: 0,
        ..usual
    }
}

/// The names of variables that should hold a number and do not, so that the usual number is used.
pub fn invalid_number_variables(
    desired: &Desired,
    environment: &EnvironmentVariables,
) -> Vec<&'static str> {
    let names = [CONNECT_TIMEOUT_VAR, LOCAL_BATCH_SIZE_VAR, REMOTE_BATCH_SIZE_VAR];
    let is_wrong = |name: &&str| {
        text_variable(name, desired, environment)
            .is_some_and(|text| text.trim().parse::<u64>().is_err())
    };
    names.into_iter().filter(is_wrong).collect()
}

/// A number from the settings' variables, else from the environment.
fn number_variable<T: FromStr>(
    name: &str,
    desired: &Desired,
    environment: &EnvironmentVariables,
) -> Option<T> {
    text_variable(name, desired, environment)?.trim().parse().ok()
}

fn text_variable<'a>(
    name: &str,
    desired: &'a Desired,
    environment: &'a EnvironmentVariables,
) -> Option<&'a str> {
    let is_text = |text: &&str| !text.trim().is_empty();
    let setting = desired.settings.env.get(name).map(|value| &*value.value).filter(is_text);
    setting.or_else(|| environment.get(name).map(String::as_str).filter(is_text))
}
