//! The variables that a server's process gets, each with its source, for people and for `--json`.
//!
//! Used by `get`. It does not choose the variables (`switchboard_core::connection::server_environment` does).

use serde::Serialize;
use switchboard_config::{Desired, DesiredServer, SecretVisibility, redact};
use switchboard_core::connection::{ServerVariable, VariableSource, server_environment};
use switchboard_sources::process_environment;
use switchboard_wire::sanitize;

use crate::printer::{BOLD, DIM, Printer};
use crate::surroundings::Caller;

/// The variables that the process of one server gets from a client that is started here.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ServerVariables {
    Variables(Vec<VariableOutput>),
    /// Why they cannot be told: the server cannot be started either.
    Unreadable {
        error: String,
    },
}

/// One variable.
#[derive(Debug, Serialize)]
pub(super) struct VariableOutput {
    name: String,
    value: String,
    source: &'static str,
    #[serde(skip)]
    source_text: &'static str,
}

// === impl ServerVariables ===

impl ServerVariables {
    /// The variables of a server that is ready and has a process.
    pub(super) fn of(
        server: &DesiredServer,
        desired: &Desired,
        caller: &Caller,
        secrets: SecretVisibility,
    ) -> Option<Self> {
        let environment = process_environment(&caller.variables, desired);
        Some(match server_environment(desired, server, &environment)? {
            Err(error) => Self::Unreadable { error: error.to_string() },
            Ok(variables) => {
                let output = |one: &ServerVariable| VariableOutput::new(one, desired, secrets);
                Self::Variables(variables.iter().map(output).collect())
            }
        })
    }

    pub(super) fn print(&self, printer: &Printer) {
        printer.line(format_args!("{BOLD}environment{BOLD:#}, for a client that is started here:"));
        match self {
            Self::Unreadable { error } => {
                printer.line(format_args!("  {}", sanitize::sanitize_line(error)));
            }
            Self::Variables(variables) => {
                for VariableOutput { name, value, source_text, .. } in variables {
                    let pair = format!("{name}={value}");
                    let pair = sanitize::sanitize_line(&pair);
                    printer.line(format_args!("  {pair}  {DIM}{source_text}{DIM:#}"));
                }
            }
        }
    }
}

// === impl VariableOutput ===

impl VariableOutput {
    fn new(variable: &ServerVariable, desired: &Desired, secrets: SecretVisibility) -> Self {
        let name = variable.name.to_string_lossy().into_owned();
        let value = variable.value.to_string_lossy();
        let (source, source_text) = match variable.source {
            // Settings replace the caller's variables.
            VariableSource::Baseline | VariableSource::BaselineWithoutCredentials
                if desired.settings.env.contains_key(&name) =>
            {
                ("settings", "`env` of your settings")
            }
            source => source_words(source),
        };
        let is_public = matches!(
            variable.source,
            VariableSource::Baseline
                | VariableSource::BaselineWithoutCredentials
                | VariableSource::Switchboard
        );
        let value = match secrets {
            SecretVisibility::Revealed => value.into_owned(),
            SecretVisibility::Masked if is_public => redact::redact_text(&value),
            SecretVisibility::Masked => redact::REDACTED.to_owned(),
        };
        Self { name, value, source, source_text }
    }
}

/// The word for `--json`, and the words for people.
fn source_words(source: VariableSource) -> (&'static str, &'static str) {
    match source {
        VariableSource::Baseline => ("caller", "yours"),
        VariableSource::BaselineWithoutCredentials => {
            ("callerWithoutCredentials", "yours, without user and password")
        }
        VariableSource::InheritedByName | VariableSource::InheritedAll => {
            ("inheritEnv", "yours, by `inheritEnv` of the entry")
        }
        VariableSource::EnvFile => ("envFile", "`envFile` of the entry"),
        VariableSource::Entry => ("env", "`env` of the entry"),
        VariableSource::Switchboard => ("switchboard", "set by Switchboard"),
    }
}
