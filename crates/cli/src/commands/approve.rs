//! `switchboard approve`: shows entries of a project that await approval, asks, and stores the decision.
//!
//! Used by `commands::run`. The texts are made by `pending`; the opposite is `reject`.

use serde_json::json;
use switchboard_config::{
    ApprovalItem, ApprovalItemKind, ConfigProblem, Desired, ProblemSeverity, ServerReadiness,
};

use super::pending::{PendingCase, all_json};
use super::{decide, problems};
use crate::args::Approve;
use crate::hint;
use crate::notice::Notice;
use crate::printer::{GREEN, Printer};
use crate::prompt::{self, YesNo};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

/// Where the consent comes from.
enum ApproveConsent {
    /// From a flag of the command line.
    Flag,
    /// From the person at the terminal.
    Prompt,
    /// From no one: there is no terminal and no flag.
    Missing,
}

pub(super) fn run(approve: &Approve, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let desired = caller.workspace.desired();
    let cases = match &approve.name {
        Some(name) => decide::approvable(&desired, name),
        None => decide::waiting(&desired),
    };
    let consent = consent(approve, &cases, printer)?;
    if let (Some(name), true) = (&approve.name, cases.is_empty()) {
        return nothing_called(name, &desired, printer);
    }
    let approved = match consent {
        ApproveConsent::Flag => {
            show(&cases, printer);
            cases.clone()
        }
        ApproveConsent::Prompt => ask(&cases, approve.all, printer),
        ApproveConsent::Missing => {
            show(&cases, printer);
            Vec::new()
        }
    };
    let items: Vec<_> = approved.iter().map(|case| case.item.clone()).collect();
    record(&items, caller)?;
    let problems = concerning(approve, &desired);
    finish(&cases, &approved, &problems, printer)?;
    match consent {
        ApproveConsent::Missing if !cases.is_empty() => {
            Err(nobody_asked(&cases, approve.name.as_deref()))
        }
        _ => Ok(()),
    }
}

/// The problems to show: those of the named server, or all.
fn concerning(approve: &Approve, desired: &Desired) -> Vec<Notice> {
    let problems = desired.problems.iter();
    let is_meant = |problem: &&ConfigProblem| match &approve.name {
        Some(name) => problem.server.as_ref() == Some(name),
        None => true,
    };
    problems.filter(is_meant).map(Notice::from).collect()
}

fn consent(
    approve: &Approve,
    cases: &[PendingCase],
    printer: &Printer,
) -> Result<ApproveConsent, Failure> {
    let is_named = approve.name.is_some();
    if approve.yes && !is_named && !approve.all {
        let hint = "name what you approve, or use `--all --yes`";
        return Err(Failure::usage("`--yes` needs a name or `--all`", hint));
    }
    if approve.yes {
        return Ok(ApproveConsent::Flag);
    }
    if prompt::is_possible(printer) {
        return Ok(ApproveConsent::Prompt);
    }
    match (is_named, cases) {
        (true, [_]) => Ok(ApproveConsent::Flag),
        _ => Ok(ApproveConsent::Missing),
    }
}

fn record(items: &[ApprovalItem], caller: &Caller) -> Result<(), Failure> {
    if items.is_empty() {
        return Ok(());
    }
    let recorded = caller.workspace.approve(items);
    recorded.map_err(|error| Failure::config("cannot record the approval", &error))
}

fn show(cases: &[PendingCase], printer: &Printer) {
    if printer.is_json() {
        return;
    }
    for (index, case) in cases.iter().enumerate() {
        if index > 0 {
            printer.line("");
        }
        case.print(printer);
    }
}

/// Asks one question for each case, or one for all.
fn ask(cases: &[PendingCase], all: bool, printer: &Printer) -> Vec<PendingCase> {
    if all {
        show(cases, printer);
        let question = format!("\nApprove all {}?", cases.len());
        let is_agreed =
            !cases.is_empty() && prompt::ask(printer, &question, YesNo::No) == YesNo::Yes;
        return if is_agreed { cases.to_vec() } else { Vec::new() };
    }
    let mut approved = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        if index > 0 {
            printer.line("");
        }
        case.print(printer);
        match prompt::ask(printer, &format!("Approve the {}?", case.title()), YesNo::No) {
            YesNo::Yes => approved.push(case.clone()),
            YesNo::No => {}
            YesNo::Stop => break,
        }
    }
    approved
}

fn finish(
    cases: &[PendingCase],
    approved: &[PendingCase],
    problems: &[Notice],
    printer: &Printer,
) -> Result<(), Failure> {
    printer.notices(problems);
    if printer.is_json() {
        let names = |case: &PendingCase| json!({ "kind": case.item.kind, "name": case.item.name });
        let approved: Vec<_> = approved.iter().map(names).collect();
        return printer.json(&json!({
            "pending": all_json(cases), "approved": approved, "problems": problems,
        }));
    }
    let is_broken = problems.iter().any(|notice| notice.severity == ProblemSeverity::Error);
    if cases.is_empty() && !is_broken {
        printer.done("Nothing awaits approval.");
    }
    for case in approved {
        printer.done(format_args!("{GREEN}approved{GREEN:#} the {}", case.title()));
    }
    Ok(())
}

fn nobody_asked(cases: &[PendingCase], name: Option<&str>) -> Failure {
    let refused =
        |why: String| Failure::plain(FailureKind::Failed, format!("nothing was approved: {why}"));
    if let Some(name) = name {
        let why = format!("{} things are called `{name}`", cases.len());
        return refused(why).with_hint("run it on a terminal to be asked about each");
    }
    let is_server = |case: &&PendingCase| case.item.kind == ApprovalItemKind::Server;
    let example = cases.iter().find(is_server).or(cases.first());
    let example = example.map_or_else(String::new, |case| hint::approve(&case.item.name));
    refused("there is no terminal to ask on".to_owned()).with_hint(format!(
        "{example}, or agree to all of it with `switchboard approve --all --yes`"
    ))
}

/// Reports that nothing awaits approval under this name, and why.
fn nothing_called(name: &str, desired: &Desired, printer: &Printer) -> Result<(), Failure> {
    let Some(server) = desired.servers_named(name).next() else {
        let message = format!("nothing called `{name}` awaits approval");
        let failure = Failure::plain(FailureKind::Failed, message);
        return Err(failure.with_hint("`switchboard approve` shows everything that does"));
    };
    if let ServerReadiness::Rejected(reason) = &server.state {
        let message = format!("cannot approve `{name}`");
        return Err(Failure::plain(FailureKind::Failed, message)
            .with_causes([reason.why.clone()])
            .with_location(reason.by.clone())
            .with_hint("remove it from that list first"));
    }
    if printer.is_json() {
        return printer
            .json(&json!({ "pending": [], "approved": [], "problems": problems(desired) }));
    }
    printer.done(format_args!("`{name}` needs no approval"));
    Ok(())
}
