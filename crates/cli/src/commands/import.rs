//! `switchboard import`: shows which servers of other clients it would copy, asks, and copies them.
//!
//! Used by `commands::run`. Reading other clients' files and planning is in `config::import`.

use serde_json::{Value, json};
use switchboard_config::{
    ConfigProblemKind, Scope, command_line,
    import::{
        ClientFileOwner, ImportCandidate, ImportPlan, ImportSkipReason, PlannedImport,
        SkippedImport,
    },
    redact,
    secret::SecretMove,
};

use super::secret_moves::SecretMoves;
use super::write_entry::{self, WriteOutput};
use crate::args::{Import, ScopeArg};
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::prompt::{self, YesNo};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

/// Whether the plan is carried out.
enum ImportConsent {
    Granted,
    Refused,
    Missing,
}

/// The plan of an import, with the files it was made from.
struct ImportProposal<'a> {
    import: &'a Import,
    plan: ImportPlan,
    secrets: SecretMoves,
    /// The servers in files of this project, which were not asked for.
    project: Vec<ImportCandidate>,
}

// === impl ImportProposal ===

impl<'a> ImportProposal<'a> {
    fn new(
        import: &'a Import,
        plan: ImportPlan,
        project: Vec<ImportCandidate>,
        caller: &Caller,
    ) -> Result<Self, Failure> {
        let entries = plan.add.iter().map(|planned| (&*planned.name, &planned.candidate.entry));
        let secrets = SecretMoves::plan(entries, import.move_secrets, caller)?;
        Ok(Self { import, plan, secrets, project })
    }
}

pub(super) fn run(import: &Import, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let proposal = propose(import, caller)?;
    if !printer.is_json() {
        print(&proposal, printer);
    }
    let plan = &proposal.plan;
    let consent =
        match (import.confirmation.dry_run || plan.add.is_empty(), import.confirmation.yes) {
            (true, _) => ImportConsent::Refused,
            (_, true) => ImportConsent::Granted,
            _ => ask(plan, printer),
        };
    let (added, failures) = match consent {
        ImportConsent::Granted => write_all(&proposal, caller)?,
        ImportConsent::Refused | ImportConsent::Missing => (Vec::new(), Vec::new()),
    };
    if printer.is_json() {
        printer.json(&proposal_json(&proposal, &added, &failures))?;
    } else if matches!(consent, ImportConsent::Granted) {
        let imported = format!("imported {} of {}", added.len(), count(plan.add.len()));
        printer.done(format_args!("\n{imported}{}", moved_text(&proposal, &added)));
    }
    for written in &added {
        printer.notices(&written.problems);
    }
    // With `--json`, failures are part of the result.
    for failure in failures.iter().filter(|_| !printer.is_json()) {
        printer.failure(failure);
    }
    outcome(&proposal, &consent, failures.len())
}

/// Stores the secrets that move, then writes every entry, and takes back the secrets of entries that failed.
fn write_all(
    proposal: &ImportProposal<'_>,
    caller: &Caller,
) -> Result<(Vec<WriteOutput>, Vec<Failure>), Failure> {
    let ImportProposal { plan, secrets, .. } = proposal;
    let (mut added, mut failures) = (Vec::new(), Vec::new());
    secrets.store()?;
    for PlannedImport { name, scope, candidate } in &plan.add {
        let entry = secrets.entry_to_write(name, &candidate.entry);
        match write_entry::write(*scope, name, &entry, caller) {
            Ok(written) => added.push(written),
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(secrets.take_back(|server| is_among(&added, server)).err());
    Ok((added, failures))
}

fn is_among(added: &[WriteOutput], server: &str) -> bool {
    added.iter().any(|written| written.name == server)
}

fn moved_text(proposal: &ImportProposal<'_>, added: &[WriteOutput]) -> String {
    let secrets = &proposal.secrets;
    let is_moved = |each: &&SecretMove| secrets.is_requested() && is_among(added, &each.server);
    match secrets.plan.moves.iter().filter(is_moved).count() {
        0 => String::new(),
        count => format!(", moved {}", show::count(count, "secret")),
    }
}

fn propose<'a>(import: &'a Import, caller: &Caller) -> Result<ImportProposal<'a>, Failure> {
    let scope = import.scope.map(ScopeArg::scope);
    let workspace = &caller.workspace;
    if !import.project_files {
        let read = workspace.read_client_files(&import.clients, ClientFileOwner::User);
        let plan = workspace.plan_import(read, scope);
        return ImportProposal::new(import, plan, project_servers(import, caller), caller);
    }
    if scope == Some(Scope::User) {
        return Err(Failure::usage(
            "servers of a project's files are not copied to the user scope",
            "choose `-s local` or `-s project`, or add one for all projects with `switchboard add -s user`",
        ));
    }
    let read = workspace.read_client_files(&import.clients, ClientFileOwner::Project);
    ImportProposal::new(import, workspace.plan_import(read, scope), Vec::new(), caller)
}

/// The servers in files of this project that could be imported. Problems of those files are shown when a person
/// asks for them.
fn project_servers(import: &Import, caller: &Caller) -> Vec<ImportCandidate> {
    let read = caller.workspace.read_client_files(&import.clients, ClientFileOwner::Project);
    let plan = caller.workspace.plan_import(read, None);
    plan.add.into_iter().map(|planned| planned.candidate).collect()
}

/// The result of the command: a file that cannot be read is a failure, whatever was imported from others.
fn outcome(
    proposal: &ImportProposal<'_>,
    consent: &ImportConsent,
    failed: usize,
) -> Result<(), Failure> {
    if failed > 0 {
        let message = format!("{} could not be imported", count(failed));
        return Err(Failure::plain(FailureKind::Failed, message));
    }
    if let ImportConsent::Missing = consent {
        let message = "nothing was imported: there is no terminal to ask on";
        return Err(Failure::plain(FailureKind::Failed, message).with_hint("agree with `--yes`"));
    }
    let again = command_line("import", proposal.import.clients.iter().map(|app| app.name()));
    let undecided = proposal.plan.undecided().count();
    if undecided > 0 {
        let message =
            format!("{} could not be compared with those that you have", count(undecided));
        let hint = format!("make the secret readable, and run `{again}` again");
        return Err(Failure::plain(FailureKind::Failed, message).with_hint(hint));
    }
    match unreadable_files(&proposal.plan) {
        0 => Ok(()),
        files => {
            let what = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            let message = format!("{what} could not be read");
            Err(Failure::plain(FailureKind::Failed, message)
                .with_hint(format!("correct it and run `{again}` again")))
        }
    }
}

fn unreadable_files(plan: &ImportPlan) -> usize {
    let is_file =
        |kind| matches!(kind, ConfigProblemKind::Unreadable | ConfigProblemKind::Malformed);
    plan.problems.iter().filter(|problem| is_file(problem.kind)).count()
}

fn ask(plan: &ImportPlan, printer: &Printer) -> ImportConsent {
    if !prompt::is_possible(printer) {
        return ImportConsent::Missing;
    }
    let question = format!("\nImport {}?", count(plan.add.len()));
    match prompt::ask(printer, &question, YesNo::No) {
        YesNo::Yes => ImportConsent::Granted,
        _ => ImportConsent::Refused,
    }
}

fn count(servers: usize) -> String {
    match servers {
        1 => "1 server".to_owned(),
        many => format!("{many} servers"),
    }
}

fn print(proposal: &ImportProposal<'_>, printer: &Printer) {
    let ImportProposal { import, plan, secrets, project } = proposal;
    for PlannedImport { name, scope, candidate } in &plan.add {
        let target = show::short_target(&redact::redact_entry(&candidate.entry));
        printer.line(format_args!(
            "add {BOLD}{name}{BOLD:#} to the {scope} scope: {target}\n  {DIM}from {}{DIM:#}",
            printer.places.location(&candidate.at)
        ));
        for line in secrets.lines(name) {
            printer.line(format_args!("  {DIM}{line}{DIM:#}"));
        }
    }
    for skipped in &plan.skip {
        print_skipped(skipped, printer);
    }
    if plan.add.is_empty() && plan.skip.is_empty() && unreadable_files(plan) == 0 {
        let clients: Vec<_> = import.clients.iter().map(|client| client.display_name()).collect();
        let verb = if clients.len() == 1 { "has" } else { "have" };
        printer
            .done(format_args!("{} {verb} no servers that could be imported", clients.join(", ")));
    }
    let problems = plan.problems.iter().chain(plan.losses());
    let problems = problems.map(Notice::from).chain(secrets.problem());
    printer.notices(&problems.collect::<Vec<_>>());
    if !project.is_empty() {
        let again = command_line("import", import.clients.iter().map(|client| client.name()));
        let verb = if project.len() == 1 { "has" } else { "have" };
        printer.notices(&[Notice::note(format!(
            "{} in files of this project {verb} not been copied",
            count(project.len())
        ))
        .with_hint(format!("`{again} --project-files` copies them for this project"))]);
    }
}

fn print_skipped(skipped: &SkippedImport, printer: &Printer) {
    let why = skipped.reason.to_string();
    let why = switchboard_wire::sanitize::sanitize_line(&why);
    let equal = match &skipped.reason {
        ImportSkipReason::Same(same) => format!(" at {}", printer.places.location(&same.at)),
        _ => String::new(),
    };
    printer.line(format_args!(
        "skip {}: {why}{equal}\n  {DIM}from {}{DIM:#}",
        show::word(&skipped.candidate.name),
        printer.places.location(&skipped.candidate.at)
    ));
}

/// The output of `--json`.
fn proposal_json(
    proposal: &ImportProposal<'_>,
    added: &[WriteOutput],
    failures: &[Failure],
) -> Value {
    let ImportProposal { import, plan, secrets, project } = proposal;
    let planned = |planned: &PlannedImport| {
        let PlannedImport { name, scope, candidate } = planned;
        json!({
            "name": name, "scope": scope, "client": candidate.client.name(), "from": candidate.at,
            "entry": redact::redact_entry(&candidate.entry), "losses": notices(&candidate.losses),
        })
    };
    let skipped = |skipped: &SkippedImport| {
        let SkippedImport { candidate, reason } = skipped;
        let mut shown = json!({
            "name": candidate.name, "client": candidate.client.name(), "from": candidate.at,
            "reason": reason.name(), "why": reason.to_string(), "losses": notices(&candidate.losses),
        });
        if let Some(same) = reason.same_server() {
            shown["same"] = json!({ "name": same.name, "at": same.at });
        }
        shown
    };
    let in_project = |found: &ImportCandidate| json!({ "name": found.name, "client": found.client.name(), "from": found.at });
    json!({
        "clients": import.clients.iter().map(|client| client.name()).collect::<Vec<_>>(),
        "plan": plan.add.iter().map(planned).collect::<Vec<_>>(),
        "skipped": plan.skip.iter().map(skipped).collect::<Vec<_>>(),
        "projectServers": project.iter().map(in_project).collect::<Vec<_>>(),
        "secrets": secrets.to_json(|server| is_among(added, server)),
        "added": added,
        "failed": failures.iter().map(Failure::to_json).collect::<Vec<_>>(),
        "problems": notices(&plan.problems).into_iter().chain(secrets.problem()).collect::<Vec<_>>(),
    })
}

fn notices(problems: &[switchboard_config::ConfigProblem]) -> Vec<Notice> {
    problems.iter().map(Notice::from).collect()
}
