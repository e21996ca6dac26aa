//! `switchboard setup`: shows what every client has and what would change, asks once, and moves them all over.
//!
//! Used by `commands::run`; `status` and `doctor` share `doubled_notices`. Planning and changing files is in
//! `config::setup`; the way back is in `undo`.

mod obstacles_to_start;
mod plan_json;
mod plan_text;

use switchboard_config::import::{ClientApp, ImportCandidate, SkippedImport};
use switchboard_config::install::LaunchCommand;
use switchboard_config::setup::{
    ClientFailure, ClientPlan, ServerCopies, ServerPlace, SetupObstacle, SetupOptions,
    SetupOutcome, SetupPlan, carry_out, plan_setup,
};
use switchboard_config::{Platform, command_line, redact};

use super::install::{InstallConsent, consent, launch, program};
use super::secret_moves::SecretMoves;
use super::write_entry;
use crate::args::{Global, SetupArgs};
use crate::notice::Notice;
use crate::printer::{DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

/// The name of our entry in clients' files.
const ENTRY_NAME: &str = "switchboard";

/// The plan of a setup, with the files it was made from.
struct SetupProposal {
    plan: SetupPlan,
    secrets: SecretMoves,
    /// Why imported servers will not start.
    start_notices: Vec<Notice>,
}

// === impl SetupProposal ===

impl SetupProposal {
    /// Whether there is nothing to do.
    fn is_empty(&self) -> bool {
        let moves = &self.secrets.plan.moves;
        self.plan.is_empty() && (moves.is_empty() || !self.secrets.is_requested())
    }
}

pub(in crate::commands) fn run(
    setup: &SetupArgs,
    global: &Global,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let options = options(launch(&[], global, caller)?, setup);
    let plan = {
        let _waiting = printer.waiting("reading the clients' files");
        plan_setup(&caller.workspace, &caller.surroundings, &options)
    };
    let imports = plan.import.add.iter().map(|each| (&*each.name, &each.candidate.entry));
    let present = plan.present.iter().map(|(name, entry)| (&**name, entry));
    let secrets = SecretMoves::plan(imports.chain(present), setup.move_secrets, caller)?;
    let start_notices = obstacles_to_start::notices(&plan, caller);
    let proposal = SetupProposal { plan, secrets, start_notices };
    let plan = &proposal.plan;
    if !printer.is_json() {
        plan_text::print(&proposal, printer);
    }
    let outcome = if proposal.is_empty() {
        None
    } else {
        match consent("Do this?", setup.confirmation, printer)? {
            InstallConsent::Refused => None,
            InstallConsent::Granted => {
                let (workspace, host) = (&caller.workspace, &caller.surroundings);
                let transfer = proposal.secrets.transfer();
                let done = carry_out(plan, workspace, host, &options, transfer.as_ref());
                Some(done.map_err(|error| Failure::config("nothing was changed", &error))?)
            }
        }
    };
    let failures = failures(plan, outcome.as_ref(), printer);
    report(&proposal, outcome.as_ref(), &failures, printer)?;
    match (failures.len(), outcome) {
        (0, _) => Ok(()),
        (count, Some(_)) => {
            let message = format!("{} went wrong; everything else is done", things(count));
            Err(Failure::plain(FailureKind::Failed, message))
        }
        (count, None) => {
            let message = format!("{} cannot be done", things(count));
            Err(Failure::plain(FailureKind::Failed, message))
        }
    }
}

fn options(launch: LaunchCommand, setup: &SetupArgs) -> SetupOptions {
    SetupOptions {
        clients: setup.clients.clone(),
        name: ENTRY_NAME.to_owned(),
        launch,
        platform: Platform::current(),
    }
}

fn things(count: usize) -> String {
    if count == 1 { "one thing".to_owned() } else { format!("{count} things") }
}

/// Notices about servers that a client has in its own file and through us.
pub(in crate::commands) fn doubled_notices(caller: &Caller) -> Vec<Notice> {
    // Without a path of this program no entry can be told from others.
    let Ok(program) = program(caller) else {
        return Vec::new();
    };
    let launch = LaunchCommand { program, args: vec!["connect".to_owned()] };
    let options = options(launch, &SetupArgs::default());
    let plan = plan_setup(&caller.workspace, &caller.surroundings, &options);
    let notice = |client: ClientApp, copies: &ServerCopies, hint: String| {
        let names: Vec<_> = copies.keys().map(|name| show::word(name)).collect();
        (!names.is_empty()).then(|| {
            let message = format!(
                "{} has {} twice: in its own file and through Switchboard",
                client.display_name(),
                names.join(", ")
            );
            Notice::warning(message).with_hint(hint)
        })
    };
    let of_user = plan.copies(&caller.workspace).filter_map(|(client, copies)| {
        let hint = format!("`switchboard setup {client}` removes them from its file");
        notice(client, &copies, hint)
    });
    let of_project = plan.project_copies(&caller.workspace).filter_map(|(client, copies)| {
        let ours = copies.values().next()?;
        let hint = format!(
            "remove them from its file for this project, or from Switchboard with `{}`",
            command_line("remove", [&**ours])
        );
        notice(client, &copies, hint)
    });
    of_user.chain(of_project).collect()
}

fn report(
    proposal: &SetupProposal,
    outcome: Option<&SetupOutcome>,
    failures: &[Failure],
    printer: &Printer,
) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&plan_json::to_json(proposal, outcome, failures));
    }
    if let Some(outcome) = outcome {
        let imported = show::count(outcome.imported.len(), "server");
        let moved = match outcome.moved_secrets.len() {
            0 => String::new(),
            count => format!(", moved {}", show::count(count, "secret")),
        };
        let changed = show::count(outcome.changed.len(), "file");
        printer
            .done(format_args!("\nimported {imported}{moved}, changed {changed} of your clients"));
        printer.done(format_args!(
            "{DIM}Restart your clients to use it. `switchboard setup --undo` goes back.{DIM:#}"
        ));
    } else if proposal.is_empty() && failures.is_empty() {
        printer.done("nothing to do");
    }
    for failure in failures {
        printer.failure(failure);
    }
    Ok(())
}

/// Why a client is left alone.
fn obstacle_text(obstacle: &SetupObstacle) -> String {
    match obstacle {
        SetupObstacle::Unreadable(_) | SetupObstacle::Uneditable(_) => {
            "its file cannot be read".to_owned()
        }
        SetupObstacle::NameInUse { .. } => {
            format!("another server there is called `{ENTRY_NAME}`")
        }
        SetupObstacle::NotInstallable => "its servers are only copied".to_owned(),
    }
}

/// The servers of clients that become the server `name` here.
fn sources<'a>(name: &'a str, plan: &'a SetupPlan) -> impl Iterator<Item = &'a ImportCandidate> {
    let servers = plan.clients.iter().flat_map(|client| &client.servers);
    servers.filter(
        move |server| matches!(plan.place(server), ServerPlace::Planned(place) if place == name),
    )
}

/// Secrets in plain text that cannot move, members without an equivalent, problems of reading, and servers that will not
/// start.
fn notices(proposal: &SetupProposal) -> Vec<Notice> {
    let SetupProposal { plan, secrets, start_notices } = proposal;
    let staying = plan.import.add.iter().flat_map(|planned| {
        let entry = secrets.plan.replace_in(&planned.name, &planned.candidate.entry);
        write_entry::plain_secrets(&planned.name, &entry)
    });
    let problems = plan.import.problems.iter().chain(plan.import.losses());
    let problems = problems.chain(&plan.project.problems).map(Notice::from);
    let start_notices = start_notices.iter().cloned();
    staying.chain(problems).chain(secrets.problem()).chain(start_notices).collect()
}

fn failures(plan: &SetupPlan, outcome: Option<&SetupOutcome>, printer: &Printer) -> Vec<Failure> {
    let obstacles = plan.clients.iter().filter_map(|client| obstacle_failure(client, printer));
    let undecided = plan.import.undecided().map(undecided_failure);
    let failed = outcome.into_iter().flat_map(|outcome| &outcome.failures).map(carrying_failure);
    obstacles.chain(undecided).chain(failed).collect()
}

fn undecided_failure(skipped: &SkippedImport) -> Failure {
    let SkippedImport { candidate, reason } = skipped;
    let (name, client) = (show::word(&candidate.name), candidate.client.display_name());
    Failure::plain(FailureKind::Failed, format!("cannot import {name} of {client}; it stays there"))
        .with_causes([reason.to_string()])
        .with_location(Some(candidate.at.clone()))
        .with_hint("make the secret readable, then `switchboard setup` again")
}

fn obstacle_failure(plan: &ClientPlan, printer: &Printer) -> Option<Failure> {
    let client = plan.overview.client;
    let message = format!("cannot set up {}", client.display_name());
    Some(match plan.obstacle.as_ref()? {
        SetupObstacle::NotInstallable => return None,
        SetupObstacle::Unreadable(problem) => Failure::plain(FailureKind::Failed, message)
            .with_causes([problem.message.clone()])
            .with_location(problem.at.clone())
            .with_hint(format!("repair the file, then `switchboard setup {client}`")),
        SetupObstacle::Uneditable(error) => Failure::config(message, error),
        SetupObstacle::NameInUse { file, entry } => {
            let target = show::short_target(&redact::redact_entry(entry));
            let file = printer.places.path(file);
            let cause = format!("another server there is called `{ENTRY_NAME}`: {target}");
            Failure::plain(FailureKind::Failed, message)
                .with_causes([cause])
                .with_hint(format!("rename it in {file}, or use `switchboard install --name`"))
        }
    })
}

fn carrying_failure(failure: &ClientFailure) -> Failure {
    let ClientFailure { client, server, error } = failure;
    let what = match server {
        Some(server) => format!("cannot import `{server}`; it stays where it is"),
        None => format!("cannot change the file of {}", client.display_name()),
    };
    Failure::config(what, error)
}
