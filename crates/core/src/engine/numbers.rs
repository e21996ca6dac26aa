//! The numbers that settings and the caller's environment may change.

use std::str::FromStr;
use std::time::Duration;

use switchboard_config::Desired;

use super::workspace::Environment;

/// How long a tool may take unless something says otherwise.
const TOOL_TIMEOUT: Duration = Duration::from_millis(100_000_000);

/// The numbers of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) tool_timeout: Duration,
    pub(crate) on_progress: OnProgress,
    /// Tokens of a result that a model takes, where somebody said.
    pub(crate) output_tokens: Option<usize>,
    pub(crate) connect_timeout: Option<Duration>,
}

/// What progress does to a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnProgress {
    StartAgain,
    GoOn,
}

// === impl Numbers ===

impl Numbers {
    pub(crate) fn of(desired: &Desired, environment: &Environment) -> Self {
        let millis = |name| {
            let found: Option<u64> = number(name, desired, environment);
            found.filter(|millis| *millis > 0).map(Duration::from_millis)
        };
        let on_progress = match desired.settings.limits.reset_on_progress {
            Some(false) => OnProgress::GoOn,
            _ => OnProgress::StartAgain,
        };
        Self {
            tool_timeout: millis("MCP_TOOL_TIMEOUT").unwrap_or(TOOL_TIMEOUT),
            on_progress,
            output_tokens: number("MAX_MCP_OUTPUT_TOKENS", desired, environment),
            connect_timeout: millis("MCP_TIMEOUT"),
        }
    }
}

/// A number from the settings' variables, else from the caller's. What is no number does not count.
fn number<T: FromStr>(name: &str, desired: &Desired, environment: &Environment) -> Option<T> {
    let set = desired.settings.env.get(name).map(|value| value.value.as_str());
    let given = || environment.iter().rev().find(|(other, _)| other == name)?.1.to_str();
    set.or_else(given)?.trim().parse().ok()
}
