//! Limits of calls from settings and environment: `MCP_TOOL_TIMEOUT`, `MAX_MCP_OUTPUT_TOKENS`, the time limit.
//!
//! Used by `dispatch` for timeouts and result limits. Limits of connections are in `connection::timing`.

use std::time::Duration;

use switchboard_config::Desired;
use switchboard_wire::sanitize;

use crate::engine::workspace::state::ProcessEnvironment;
use crate::problem::{EngineProblem, EngineProblemKind};

/// How long a tool may take by default.
const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_millis(100_000_000);

/// How many characters of a value a message shows.
const MAX_SHOWN_CHARS: usize = 80;

/// A variable that holds a number.
struct NumberVariable {
    name: &'static str,
    unit: &'static str,
    /// The smallest valid number.
    least: u64,
    /// The default, in words.
    usual: &'static str,
}

const TOOL_TIMEOUT_VARIABLE: NumberVariable =
    NumberVariable { name: "MCP_TOOL_TIMEOUT", unit: "milliseconds", least: 1, usual: "100000000" };
/// 0 means no limit.
const OUTPUT_TOKENS_VARIABLE: NumberVariable =
    NumberVariable { name: "MAX_MCP_OUTPUT_TOKENS", unit: "tokens", least: 0, usual: "25000" };

/// The limits of one workspace. Limits that its settings do not set come from the environment of the calling
/// session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallLimits {
    tool_timeout: LimitSource,
    output_tokens: LimitSource,
    pub(crate) on_progress: OnProgress,
    /// How long a call may take, whatever progress it reports.
    pub(crate) time_limit: Option<Duration>,
}

/// The source of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitSource {
    /// The settings set it for every session; `None`: their value is not a number.
    Settings(Option<u64>),
    /// The environment of the workspace, for sessions without an environment of their own.
    Environment(Option<u64>),
}

/// The limits in one client's environment, which count for its session alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallVariables {
    tool_timeout_ms: Option<u64>,
    output_tokens: Option<u64>,
}

/// Whether progress extends a deadline.
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
        let time_limit = desired.settings.limits.call_time_limit_ms.filter(|millis| *millis > 0);
        let source = |variable: &NumberVariable| match variable.settings_text(desired) {
            Some(text) => LimitSource::Settings(variable.parse(text)),
            None => LimitSource::Environment(variable.environment_number(environment)),
        };
        Self {
            tool_timeout: source(&TOOL_TIMEOUT_VARIABLE),
            output_tokens: source(&OUTPUT_TOKENS_VARIABLE),
            on_progress,
            time_limit: time_limit.map(Duration::from_millis),
        }
    }

    /// Returns how long a tool may take. `session`: the limits in the caller's own environment.
    pub(crate) fn tool_timeout(&self, session: Option<CallVariables>) -> Duration {
        let millis = self.tool_timeout.number(session, |own| own.tool_timeout_ms);
        millis.map_or(DEFAULT_TOOL_TIMEOUT, Duration::from_millis)
    }

    /// Returns how many tokens a result may have, if the settings or an environment say so.
    pub(crate) fn output_tokens(&self, session: Option<CallVariables>) -> Option<usize> {
        let tokens = self.output_tokens.number(session, |own| own.output_tokens);
        tokens.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX))
    }
}

// === impl LimitSource ===

impl LimitSource {
    /// Returns the number for a session: `own` reads it from the session's variables, if the session has its own.
    fn number(
        self,
        session: Option<CallVariables>,
        own: impl FnOnce(CallVariables) -> Option<u64>,
    ) -> Option<u64> {
        match self {
            Self::Settings(number) => number,
            Self::Environment(number) => session.map_or(number, own),
        }
    }
}

// === impl CallVariables ===

impl CallVariables {
    /// Reads the limits in a client's environment. Invalid numbers do not count; [`variable_problems`] reports
    /// them.
    pub fn from_environment(environment: &ProcessEnvironment) -> Self {
        Self {
            tool_timeout_ms: TOOL_TIMEOUT_VARIABLE.environment_number(environment),
            output_tokens: OUTPUT_TOKENS_VARIABLE.environment_number(environment),
        }
    }
}

/// Returns a problem for each variable that should hold a number and does not, so that the default is used.
pub fn variable_problems(
    desired: &Desired,
    environment: &ProcessEnvironment,
) -> Vec<EngineProblem> {
    let problem = |variable: &NumberVariable| variable.problem(desired, environment);
    [&TOOL_TIMEOUT_VARIABLE, &OUTPUT_TOKENS_VARIABLE].into_iter().filter_map(problem).collect()
}

// === impl NumberVariable ===

impl NumberVariable {
    /// Parses a number. An invalid or too small number does not count.
    fn parse(&self, text: &str) -> Option<u64> {
        let number = text.trim().parse().ok()?;
        (number >= self.least).then_some(number)
    }

    fn environment_number(&self, environment: &ProcessEnvironment) -> Option<u64> {
        self.parse(self.environment_text(environment)?)
    }

    fn problem(
        &self,
        desired: &Desired,
        environment: &ProcessEnvironment,
    ) -> Option<EngineProblem> {
        let text = self.settings_text(desired).or_else(|| self.environment_text(environment))?;
        if self.parse(text).is_some() {
            return None;
        }
        let Self { name, unit, usual, .. } = self;
        let shown: String = sanitize::sanitize_line(text).chars().take(MAX_SHOWN_CHARS).collect();
        let message = format!(
            "`{name}` is `{shown}`, which is not a usable number of {unit}; {usual} is used"
        );
        Some(EngineProblem::new(EngineProblemKind::BadVariable, message))
    }

    /// The value in the settings. An empty value counts as absent.
    fn settings_text<'a>(&self, desired: &'a Desired) -> Option<&'a str> {
        let text = desired.settings.env.get(self.name)?.value.as_str();
        (!text.trim().is_empty()).then_some(text)
    }

    /// The value in an environment. An empty value counts as absent.
    fn environment_text<'a>(&self, environment: &'a ProcessEnvironment) -> Option<&'a str> {
        let variable = environment.iter().rev().find(|(other, _)| other == self.name)?;
        variable.1.to_str().filter(|text| !text.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_config::{
        DynamicConfig, HostContext, Platform, ResolveOptions, resolve_desired,
    };

    /// The limits of a user with these settings and variables, and their problems.
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
        let dynamic = vec![DynamicConfig::Text(r#"{"mcpServers": {}}"#.to_owned())];
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
            let millis = numbers.tool_timeout(None).as_millis();
            assert_eq!((millis, numbers.on_progress, numbers.output_tokens(None)), expected);
            assert_eq!(problems, Vec::<String>::new());
        };
        let again = OnProgress::StartAgain;
        check("{}", &[], (100_000_000, again, None));
        let given = [("MCP_TOOL_TIMEOUT", "1500"), ("MAX_MCP_OUTPUT_TOKENS", " 9 ")];
        check("{}", &given, (1500, again, Some(9)));
        let settings = r#"{"env":{"MCP_TOOL_TIMEOUT":"70"},"limits":{"resetOnProgress":false}}"#;
        check(settings, &given, (70, OnProgress::GoOn, Some(9)));
        check("{}", &[("MAX_MCP_OUTPUT_TOKENS", "0")], (100_000_000, again, Some(0)));
        let empty = [("MCP_TOOL_TIMEOUT", ""), ("MAX_MCP_OUTPUT_TOKENS", " ")];
        check("{}", &empty, (100_000_000, again, None));
        check(r#"{"env":{"MCP_TOOL_TIMEOUT":""}}"#, &given, (1500, again, Some(9)));
    }

    #[test]
    fn a_time_limit_is_only_there_if_it_is_set() {
        let check = |settings: &str, expected: Option<u64>| {
            let (numbers, _) = numbers(settings, &[]);
            assert_eq!(numbers.time_limit, expected.map(Duration::from_millis));
        };
        check("{}", None);
        check(r#"{"limits":{"callTimeLimitMs":0}}"#, None);
        check(r#"{"limits":{"callTimeLimitMs":900}}"#, Some(900));
    }

    /// A session's own environment replaces the workspace's, which is that of its first client.
    #[test]
    fn a_session_has_the_numbers_of_its_own_environment() {
        let own = [("MCP_TOOL_TIMEOUT", "20"), ("MAX_MCP_OUTPUT_TOKENS", "nonsense")];
        let own = own.into_iter().map(|(name, value)| (name.into(), value.into()));
        let own = Some(CallVariables::from_environment(&own.collect()));
        let first = [("MCP_TOOL_TIMEOUT", "1500"), ("MAX_MCP_OUTPUT_TOKENS", "9")];
        let (limits, _) = numbers("{}", &first);
        assert_eq!(limits.tool_timeout(own), Duration::from_millis(20));
        assert_eq!(limits.output_tokens(own), None);
        let none = Some(CallVariables::default());
        assert_eq!(limits.tool_timeout(none), DEFAULT_TOOL_TIMEOUT);
        let (limits, _) = numbers(r#"{"env":{"MCP_TOOL_TIMEOUT":"70"}}"#, &first);
        assert_eq!(limits.tool_timeout(own), Duration::from_millis(70));
    }

    #[test]
    fn nonsense_counts_as_nothing_and_is_a_problem() {
        let check = |settings: &str, variables: &[(&str, &str)], expected: &[&str]| {
            let (numbers, problems) = numbers(settings, variables);
            let counts = (numbers.tool_timeout(None), numbers.output_tokens(None));
            assert_eq!(counts, (DEFAULT_TOOL_TIMEOUT, None));
            assert_eq!(problems, expected);
        };
        let timeout = |value: &str| {
            format!(
                "`MCP_TOOL_TIMEOUT` is `{value}`, which is not a usable number of milliseconds; 100000000 is used"
            )
        };
        for value in ["soon", "0", "-1", "1.5", "1e3"] {
            check("{}", &[("MCP_TOOL_TIMEOUT", value)], &[&timeout(value)]);
        }
        let settings = r#"{"env":{"MCP_TOOL_TIMEOUT":"5 min","MAX_MCP_OUTPUT_TOKENS":"many"}}"#;
        let tokens = "`MAX_MCP_OUTPUT_TOKENS` is `many`, which is not a usable number of tokens; 25000 is used";
        check(settings, &[("MCP_TOOL_TIMEOUT", "70")], &[&timeout("5 min"), tokens]);
    }
}
