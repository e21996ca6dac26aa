//! `switchboard import`: shows which servers of another client it would copy, asks, and copies them.
//!
//! Used by `commands::run`. Reading other clients' files is in `config::import`.

use serde_json::{Value, json};
use switchboard_config::{
    Scope,
    import::{ImportCandidate, ImportPlan},
    redact,
};

use super::write_entry;
use crate::args::{Import, ScopeArg};
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::prompt::{self, YesNo};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

/// Whether the plan is carried out.
enum ImportConsent {
    Given,
    Refused,
    Missing,
}

pub(super) fn run(import: &Import, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let plan = caller.workspace.plan_import(import.client);
    if !printer.is_json() {
        print(&plan, import, printer);
    }
    let consent = match (import.dry_run || plan.add.is_empty(), import.yes) {
        (true, _) => ImportConsent::Refused,
        (_, true) => ImportConsent::Given,
        _ => ask(&plan, printer),
    };
    let (mut added, mut failures) = (Vec::new(), Vec::new());
    if matches!(consent, ImportConsent::Given) {
        for found in &plan.add {
            match write_entry::write(scope(found, import), &found.name, &found.entry, caller) {
                Ok(written) => added.push(written),
                Err(failure) => failures.push(failure),
            }
        }
    }
    if printer.is_json() {
        let failed: Vec<_> = failures.iter().map(Failure::to_json).collect();
        printer.json(&plan_json(&plan, import, &json!(added), &json!(failed)))?;
    } else if matches!(consent, ImportConsent::Given) {
        printer.done(format_args!("\nimported {} of {}", added.len(), count(plan.add.len())));
    }
    for written in &added {
        printer.notices(&written.problems);
    }
    // With `--json`, failures are part of the result.
    for failure in failures.iter().filter(|_| !printer.is_json()) {
        printer.failure(failure);
    }
    match consent {
        _ if !failures.is_empty() => {
            let message = format!("{} could not be imported", count(failures.len()));
            Err(Failure::plain(FailureKind::Failed, message))
        }
        ImportConsent::Missing => Err(Failure::plain(
            FailureKind::Failed,
            "nothing was imported: there is no terminal to ask on",
        )
        .with_hint("agree with `--yes`")),
        _ => Ok(()),
    }
}

fn ask(plan: &ImportPlan, printer: &Printer) -> ImportConsent {
    if !prompt::is_possible(printer) {
        return ImportConsent::Missing;
    }
    let question = format!("\nImport {}?", count(plan.add.len()));
    match prompt::ask(printer, &question, YesNo::No) {
        YesNo::Yes => ImportConsent::Given,
        _ => ImportConsent::Refused,
    }
}

/// The scope of a copy: a project's server stays in that project, others go to the user.
fn scope(found: &ImportCandidate, import: &Import) -> Scope {
    match import.scope {
        Some(scope) => ScopeArg::scope(scope),
        None if found.project.is_some() => Scope::Local,
        None => Scope::User,
    }
}

fn count(servers: usize) -> String {
    match servers {
        1 => "1 server".to_owned(),
        many => format!("{many} servers"),
    }
}

fn print(plan: &ImportPlan, import: &Import, printer: &Printer) {
    for found in &plan.add {
        let target = show::short_target(&redact::redact_entry(&found.entry));
        printer.line(format_args!(
            "add {BOLD}{}{BOLD:#} to the {} scope: {target}\n  {DIM}from {}{DIM:#}",
            found.name,
            scope(found, import),
            printer.places.location(&found.at)
        ));
    }
    for skipped in &plan.skip {
        let why = switchboard_wire::sanitize::sanitize_line(&skipped.why);
        printer.line(format_args!("skip {}: {why}", show::word(&skipped.name)));
    }
    if plan.add.is_empty() && plan.skip.is_empty() {
        printer.done(format_args!("{} has no servers that could be imported", import.client));
    }
    printer.notices(&plan.problems.iter().map(Notice::from).collect::<Vec<_>>());
}

/// The output of `--json`.
fn plan_json(plan: &ImportPlan, import: &Import, added: &Value, failed: &Value) -> Value {
    let plans: Vec<_> = plan
        .add
        .iter()
        .map(|found| {
            json!({
                "name": found.name, "scope": scope(found, import), "from": found.at,
                "entry": redact::redact_entry(&found.entry),
            })
        })
        .collect();
    let skipped: Vec<_> = plan
        .skip
        .iter()
        .map(|skipped| {
            json!({
                "name": skipped.name, "why": skipped.why,
            })
        })
        .collect();
    let problems: Vec<_> = plan.problems.iter().map(Notice::from).collect();
    json!({
        "client": import.client.name(), "plan": plans, "skipped": skipped,
        "added": added, "failed": failed, "problems": problems,
    })
}
