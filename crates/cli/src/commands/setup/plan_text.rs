//! The plan of a setup, for people.
//!
//! Used by `setup`. It asks nothing and changes nothing.

use switchboard_config::import::{ImportCandidate, ImportSkipReason};
use switchboard_config::redact;
use switchboard_config::setup::{
    ClientPlan, MemberValue, PlannedFile, ServerPlace, SetupObstacle, SetupPlan,
};

use super::{SetupProposal, notices, obstacle_text, sources};
use crate::commands::clients::presence_text;
use crate::commands::secret_moves::SecretMoves;
use crate::printer::{BOLD, DIM, Printer};
use crate::show;

pub(super) fn print(proposal: &SetupProposal, printer: &Printer) {
    let plan = &proposal.plan;
    if plan.clients.is_empty() {
        printer.done("No clients were found on this machine.");
        return print_secrets(&proposal.secrets, printer);
    }
    printer.line(format_args!("{BOLD}Clients{BOLD:#}"));
    let rows = plan.clients.iter().map(|client| client_row(client, plan, printer));
    for row in show::columns(rows) {
        printer.line(format_args!("  {row}"));
    }
    print_imports(plan, printer);
    print_secrets(&proposal.secrets, printer);
    print_project(plan, printer);
    let files: Vec<_> = plan.clients.iter().flat_map(|client| &client.files).collect();
    if !files.is_empty() {
        printer.line(format_args!("\n{BOLD}Files that change{BOLD:#}"));
    }
    for file in files {
        printer.line(format_args!("  {}", file_line(file, printer)));
    }
    if !proposal.is_empty() {
        printer.notices(&notices(proposal));
    }
}

fn client_row(client: &ClientPlan, plan: &SetupPlan, printer: &Printer) -> [String; 3] {
    let servers = match client.servers.len() {
        0 => "no servers".to_owned(),
        count => show::count(count, "server"),
    };
    let servers = match (&client.obstacle, client.overview.entries.is_empty()) {
        (Some(SetupObstacle::NotInstallable), _) => format!("{servers}, only copied"),
        (Some(obstacle), _) => format!("left alone: {}", obstacle_text(obstacle)),
        (None, true) => servers,
        (None, false) => format!("has Switchboard, {servers}"),
    };
    let presence = presence_text(client.overview.presence.as_ref(), printer);
    let staying =
        client.servers.iter().filter(|server| plan.place(server) == ServerPlace::Elsewhere);
    let staying: Vec<_> = staying.map(|server| stay_text(server, plan)).collect();
    let servers = match (&client.obstacle, staying.is_empty()) {
        (None, false) => format!("{servers}; {}", staying.join(", ")),
        _ => servers,
    };
    [client.overview.client.to_string(), presence, servers]
}

/// Why a server stays in the client's file.
fn stay_text(server: &ImportCandidate, plan: &SetupPlan) -> String {
    let why = match (&server.project, skip_reason(server, plan)) {
        (Some(_), _) => "it is of one project".to_owned(),
        (None, Some(reason)) => reason.to_string(),
        (None, None) => "it is not imported".to_owned(),
    };
    format!("{} stays: {why}", show::word(&server.name))
}

fn skip_reason<'a>(server: &ImportCandidate, plan: &'a SetupPlan) -> Option<&'a ImportSkipReason> {
    let skipped = plan.import.skip.iter().find(|skipped| skipped.candidate.at == server.at);
    skipped.map(|skipped| &skipped.reason)
}

fn print_imports(plan: &SetupPlan, printer: &Printer) {
    if plan.import.add.is_empty() {
        return;
    }
    printer.line(format_args!("\n{BOLD}Servers to import, to the user scope{BOLD:#}"));
    let rows = plan.import.add.iter().map(|planned| {
        let target = show::short_target(&redact::redact_entry(&planned.candidate.entry));
        let from: Vec<_> = sources(&planned.name, plan).map(|from| from.client.name()).collect();
        [show::word(&planned.name), target, format!("from {}", from.join(", "))]
    });
    for row in show::columns(rows) {
        printer.line(format_args!("  {row}"));
    }
}

fn print_secrets(secrets: &SecretMoves, printer: &Printer) {
    if secrets.plan.moves.is_empty() {
        return;
    }
    let title = if secrets.is_requested() {
        "Secrets that move to the secret store"
    } else {
        "Secrets in plain text, which would move to the secret store with --move-secrets"
    };
    printer.line(format_args!("\n{BOLD}{title}{BOLD:#}"));
    let rows = secrets.plan.moves.iter().map(|each| {
        let stored = if each.is_stored { "stored already" } else { "" };
        [
            each.secret.clone(),
            format!("{} of {}", show::bare(&each.field), each.server),
            stored.to_owned(),
        ]
    });
    for row in show::columns(rows) {
        printer.line(format_args!("  {}", row.trim_end()));
    }
}

fn print_project(plan: &SetupPlan, printer: &Printer) {
    if plan.project.servers.is_empty() {
        return;
    }
    printer.line(format_args!("\n{BOLD}In files of this project, which do not change{BOLD:#}"));
    for server in &plan.project.servers {
        let at = printer.places.location(&server.at);
        printer.line(format_args!("  {} {DIM}{at}{DIM:#}", show::word(&server.name)));
    }
}

fn file_line(file: &PlannedFile, printer: &Printer) -> String {
    let names = |members: &[MemberValue]| {
        let names: Vec<_> = members.iter().map(|member| show::word(member.name())).collect();
        names.join(", ")
    };
    let gets = (!file.set.is_empty()).then(|| format!("gets {}", names(&file.set)));
    let loses = (!file.remove.is_empty()).then(|| format!("loses {}", names(&file.remove)));
    let change: Vec<_> = [gets, loses].into_iter().flatten().collect();
    format!("{} {}", printer.places.path(&file.file), change.join(", "))
}
