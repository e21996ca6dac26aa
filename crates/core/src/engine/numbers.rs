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
        }
    }
}

/// A number from the settings' variables, else from the caller's. What is no number does not count.
fn number<T: FromStr>(name: &str, desired: &Desired, environment: &Environment) -> Option<T> {
    let set = desired.settings.env.get(name).map(|value| value.value.as_str());
    let given = || environment.iter().rev().find(|(other, _)| other == name)?.1.to_str();
    set.or_else(given)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_config::{Asked, Dynamic, Platform, Surroundings, resolve};

    #[test]
    fn settings_come_before_the_environment_and_nonsense_counts_as_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let numbers = |settings: &str, variables: &[(&str, &str)]| {
            let config = folder.path().join(".config/switchboard");
            std::fs::create_dir_all(&config).unwrap();
            std::fs::write(config.join("settings.json"), settings).unwrap();
            let env = [("HOME".to_owned(), home.clone())].into();
            let mut surroundings =
                Surroundings::usual(Platform::Linux, env, home.clone().into()).unwrap();
            surroundings.managed_dir = folder.path().join("managed");
            let dynamic = vec![Dynamic::Text("{}".to_owned())];
            let desired = resolve(&surroundings, &Asked { dynamic, ..Asked::default() });
            let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
            let numbers = Numbers::of(&desired, &variables.collect());
            let millis = numbers.tool_timeout.as_millis();
            (millis, numbers.on_progress, numbers.output_tokens)
        };
        let again = OnProgress::StartAgain;
        assert_eq!(numbers("{}", &[]), (100_000_000, again, None));
        let given = [("MCP_TOOL_TIMEOUT", "1500"), ("MAX_MCP_OUTPUT_TOKENS", "9")];
        assert_eq!(numbers("{}", &given), (1500, again, Some(9)));
        let settings = r#"{"env":{"MCP_TOOL_TIMEOUT":"70"},"limits":{"resetOnProgress":false}}"#;
        assert_eq!(numbers(settings, &given), (70, OnProgress::GoOn, Some(9)));
        assert_eq!(numbers("{}", &[("MCP_TOOL_TIMEOUT", "soon")]), (100_000_000, again, None));
        assert_eq!(numbers("{}", &[("MCP_TOOL_TIMEOUT", "0")]), (100_000_000, again, None));
    }
}
