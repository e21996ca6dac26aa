//! `switchboard get`: the entries of one name, with scope, state and differences.
//!
//! Used by `commands::run`. It does not connect (`list` and `doctor` do).

use serde::Serialize;
use serde_json::Value;
use switchboard_config::{
    Desired, DesiredServer, ProblemSeverity, Scope, SecretVisibility, ShadowedEntry, SourceLocation,
};

use switchboard_wire::sanitize;

use super::problems;
use super::server_summary::ServerSummary;
use super::server_variables::ServerVariables;
use crate::args::Get;
use crate::hint;
use crate::notice::Notice;
use crate::printer::{BOLD, CYAN, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct GetOutput {
    /// Highest precedence first; the first ready one is in force.
    servers: Vec<ServerOutput>,
    shadowed: Vec<ShadowedServer>,
    problems: Vec<Notice>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerOutput {
    #[serde(flatten)]
    server: ServerSummary,
    working_dir: String,
    entry: Value,
    /// What its process gets, if it is ready and has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<ServerVariables>,
}

#[derive(Debug, Serialize)]
struct ShadowedServer {
    scope: Scope,
    at: SourceLocation,
}

pub(super) fn run(get: &Get, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let (desired, _) = caller.desired();
    let secrets = if get.reveal { SecretVisibility::Revealed } else { SecretVisibility::Masked };
    let servers: Vec<_> = desired
        .servers_named(&get.name)
        .map(|server| ServerOutput::new(server, &desired, caller, secrets))
        .collect();
    if servers.is_empty() {
        // A file that cannot be read may have the server.
        let problems = problems(&desired);
        printer.notices(problems.iter().filter(|notice| notice.severity == ProblemSeverity::Error));
        let message = format!("there is no server `{}`", get.name);
        return Err(Failure::plain(FailureKind::Failed, message).with_hint(hint::no_server()));
    }
    let got = GetOutput {
        servers,
        shadowed: shadowed_servers(&desired, &get.name),
        problems: concerning(&desired, &get.name),
    };
    if printer.is_json() {
        return printer.json(&got);
    }
    got.print(printer);
    let told: Vec<_> = desired
        .servers_named(&get.name)
        .filter_map(|server| desired.own_problem(server))
        .map(|problem| Notice::from(problem).message)
        .collect();
    let problems = got.problems.iter();
    printer.notices(problems.filter(|notice| !told.contains(&notice.message)));
    Ok(())
}

fn shadowed_servers(desired: &Desired, name: &str) -> Vec<ShadowedServer> {
    let shadowed = desired.shadowed.iter();
    let place = |entry: &ShadowedEntry| ShadowedServer { scope: entry.scope, at: entry.at.clone() };
    shadowed.filter(|entry| entry.name == name).map(place).collect()
}

/// The problems that concern this server.
fn concerning(desired: &Desired, name: &str) -> Vec<Notice> {
    let problems = desired.problems.iter();
    problems
        .filter(|problem| problem.server.as_deref().is_none_or(|server| server == name))
        .map(|problem| {
            let mut notice = Notice::from(problem);
            // The server's own row shows its errors.
            notice.weaken();
            notice
        })
        .collect()
}

impl ServerOutput {
    fn new(
        server: &DesiredServer,
        desired: &Desired,
        caller: &Caller,
        secrets: SecretVisibility,
    ) -> Self {
        let entry = server.template_json(secrets);
        Self {
            server: ServerSummary::new(server, &entry, desired),
            working_dir: server.working_dir.display().to_string(),
            entry,
            environment: ServerVariables::of(server, desired, caller, secrets),
        }
    }
}

impl GetOutput {
    fn print(&self, printer: &Printer) {
        for (index, server) in self.servers.iter().enumerate() {
            if index > 0 {
                printer.line("");
            }
            server.print(printer);
        }
        for behind in &self.shadowed {
            let place = printer.places.location(&behind.at);
            printer.line(format_args!(
                "\n{DIM}it replaces the server of the {} scope{DIM:#}\n  --> {place}",
                behind.scope
            ));
        }
    }
}

impl ServerOutput {
    fn print(&self, printer: &Printer) {
        let server = &self.server;
        let state = server.state.replace('-', " ");
        let name = show::word(&server.name);
        printer.line(format_args!("{BOLD}{name}{BOLD:#} ({} scope): {state}", server.scope));
        printer.line(format_args!("  --> {}", printer.places.location(&server.at)));
        if let Some(reason) = &server.reason {
            let by = server.by.as_ref().filter(|by| **by != server.at);
            let by = by.map(|by| format!("\n    --> {}", printer.places.location(by)));
            let reason = sanitize::sanitize_line(reason);
            printer.line(format_args!("  {reason}{}", by.unwrap_or_default()));
        }
        for change in server.changes.iter().flatten() {
            printer.line(format_args!("  {}", super::changed::line(change)));
        }
        if let Some(hint) = &server.hint {
            let hint = sanitize::sanitize_line(hint);
            printer.line(format_args!("  {CYAN}hint{CYAN:#}: {hint}"));
        }
        printer.line(show::block(&self.entry));
        if let Some(environment) = &self.environment {
            environment.print(printer);
        }
    }
}
