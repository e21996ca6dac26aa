//! The numbers that settings and the caller's environment may change.

use std::time::Duration;

use switchboard_config::Desired;
use switchboard_wire::sanitize;

use crate::engine::workspace::state::ProcessEnvironment;
use crate::problem::{EngineProblem, EngineProblemKind};

/// How long a tool may take unless something says otherwise.
const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_millis(100_000_000);

/// How much of a value is shown in a message.
const MAX_SHOWN_CHARS: usize = 80;

/// A variable that holds a number.
struct NumberVariable {
    name: &'static str,
    unit: &'static str,
    /// The least number that counts.
    least: u64,
    /// What counts without it, in words.
    usual: &'static str,
}

const TOOL_TIMEOUT_VARIABLE: NumberVariable =
    NumberVariable { name: "MCP_TOOL_TIMEOUT", unit: "milliseconds", least: 1, usual: "100000000" };
/// 0 is no limit.
const OUTPUT_TOKENS_VARIABLE: NumberVariable =
    NumberVariable { name: "MAX_MCP_OUTPUT_TOKENS", unit: "tokens", least: 0, usual: "25000" };

/// The numbers of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallLimits {
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

// === impl CallLimits ===

impl CallLimits {
    pub(crate) fn from_settings(desired: &Desired, environment: &ProcessEnvironment) -> Self {
        let on_progress = match desired.settings.limits.reset_on_progress {
            Some(false) => OnProgress::GoOn,
            _ => OnProgress::StartAgain,
        };
        let number = |variable: &NumberVariable| variable.number(desired, environment);
        Self {
            tool_timeout: number(&TOOL_TIMEOUT_VARIABLE)
                .map_or(DEFAULT_TOOL_TIMEOUT, Duration::from_millis),
            on_progress,
            output_tokens: number(&OUTPUT_TOKENS_VARIABLE)
                .map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
        }
    }
}

/// Variables of the engine that should hold a number and do not, so that the usual one is used.
pub fn variable_problems(
    desired: &Desired,
    environment: &ProcessEnvironment,
) -> Vec<EngineProblem> {
    let problem = |variable: &NumberVariable| variable.problem(desired, environment);
    [&TOOL_TIMEOUT_VARIABLE, &OUTPUT_TOKENS_VARIABLE].into_iter().filter_map(problem).collect()
}

// === impl Variable ===

impl NumberVariable {
    /// Its number. What is no number, or too small, does not count.
    fn number(&self, desired: &Desired, environment: &ProcessEnvironment) -> Option<u64> {
        let number = self.text(desired, environment)?.trim().parse().ok()?;
        (number >= self.least).then_some(number)
    }

    fn problem(
        &self,
        desired: &Desired,
        environment: &ProcessEnvironment,
    ) -> Option<EngineProblem> {
        let text = self.text(desired, environment)?;
        if self.number(desired, environment).is_some() {
            return None;
        }
        let Self { name, unit, usual, .. } = self;
        let shown: String = sanitize::sanitize_line(text).chars().take(MAX_SHOWN_CHARS).collect();
        let message = format!(
            "`{name}` is `{shown}`, which is not a usable number of {unit}; {usual} is used"
        );
        Some(EngineProblem::new(EngineProblemKind::BadVariable, message))
    }

    /// What the settings say, else what the caller's environment says.
    fn text<'a>(
        &self,
        desired: &'a Desired,
        environment: &'a ProcessEnvironment,
    ) -> Option<&'a str> {
        let set = desired.settings.env.get(self.name).map(|value| value.value.as_str());
        let given = || environment.iter().rev().find(|(other, _)| other == self.name)?.1.to_str();
        set.or_else(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_config::{
        DynamicConfig, HostContext, Platform, ResolveOptions, resolve_desired,
    };

    /// The numbers of a user with these settings and variables, and the problems with them.
    fn numbers(settings: &str, variables: &[(&str, &str)]) -> (CallLimits, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let config = folder.path().join(".config/switchboard");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("settings.json"), settings).unwrap();
        let env = [("HOME".to_owned(), home.clone())].into();
        let mut surroundings =
            HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
        surroundings.managed_dir = folder.path().join("managed");
        let dynamic = vec![DynamicConfig::Text("{}".to_owned())];
        let desired = resolve_desired(
            &surroundings,
            &ResolveOptions { dynamic, ..ResolveOptions::default() },
        );
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let variables = variables.collect();
        let problems = variable_problems(&desired, &variables);
        let problems = problems.into_iter().map(|problem| problem.message).collect();
        (CallLimits::from_settings(&desired, &variables), problems)
    }

    #[test]
    fn settings_come_before_the_environment() {
        let check = |settings: &str, variables: &[(&str, &str)], expected| {
            let (numbers, problems) = numbers(settings, variables);
            let millis = numbers.tool_timeout.as_millis();
            assert_eq!((millis, numbers.on_progress, numbers.output_tokens), expected);
            assert_eq!(problems, Vec::<String>::new());
        };
        let again = OnProgress::StartAgain;
        check("{}", &[], (100_000_000, again, None));
        let given = [("MCP_TOOL_TIMEOUT", "1500"), ("MAX_MCP_OUTPUT_TOKENS", " 9 ")];
        check("{}", &given, (1500, again, Some(9)));
        let settings = r#"{"env":{"MCP_TOOL_TIMEOUT":"70"},"limits":{"resetOnProgress":false}}"#;
        check(settings, &given, (70, OnProgress::GoOn, Some(9)));
        check("{}", &[("MAX_MCP_OUTPUT_TOKENS", "0")], (100_000_000, again, Some(0)));
    }

    #[test]
    fn nonsense_counts_as_nothing_and_is_a_problem() {
        let check = |settings: &str, variables: &[(&str, &str)], expected: &[&str]| {
            let (numbers, problems) = numbers(settings, variables);
            assert_eq!((numbers.tool_timeout, numbers.output_tokens), (DEFAULT_TOOL_TIMEOUT, None));
            assert_eq!(problems, expected);
        };
        let timeout = |value: &str| {
            format!(
                "`MCP_TOOL_TIMEOUT` is `{value}`, which is not a usable number of milliseconds; 100000000 is used"
            )
        };
        for value in ["soon", "0", "-1", "1.5", "1e3", ""] {
            check("{}", &[("MCP_TOOL_TIMEOUT", value)], &[&timeout(value)]);
        }
        let settings = r#"{"env":{"MCP_TOOL_TIMEOUT":"5 min","MAX_MCP_OUTPUT_TOKENS":"many"}}"#;
        let tokens = "`MAX_MCP_OUTPUT_TOKENS` is `many`, which is not a usable number of tokens; 25000 is used";
        check(settings, &[("MCP_TOOL_TIMEOUT", "70")], &[&timeout("5 min"), tokens]);
    }
}
