//! `switchboard setup --undo`: shows how each file goes back, asks, and puts everything back.
//!
//! Used by `commands::run`. Planning and changing files is in `config::setup`.

use serde_json::{Value, json};
use switchboard_config::redact;
use switchboard_config::setup::{
    FileUndo, MemberValue, RetentionReason, SecretFate, SecretUndo, UndoMethod, UndoOutcome,
    UndoPlan, plan_undo,
};

use super::former_catalogs::EntriesBefore;
use super::install::{InstallConsent, consent};
use crate::args::SetupArgs;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

pub(super) fn run(setup: &SetupArgs, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let store = caller.secret_store();
    let plan = plan_undo(&caller.surroundings, &store)
        .map_err(|error| Failure::config("cannot read what setup has changed", &error))?;
    if !printer.is_json() {
        print(&plan, printer);
    }
    let consent = if plan.is_empty() {
        InstallConsent::Refused
    } else {
        consent("Go back?", setup.confirmation, printer)?
    };
    let before = EntriesBefore::read(caller);
    let outcome = match consent {
        InstallConsent::Refused => None,
        InstallConsent::Granted => Some(
            plan.carry_out(&caller.surroundings, &store)
                .map_err(|error| Failure::config("cannot go on with the undo", &error))?,
        ),
    };
    let deleted = before.delete_former_catalogs(caller);
    let failures = failures(&plan, outcome.as_ref(), printer);
    if printer.is_json() {
        printer.json(&to_json(&plan, outcome.as_ref(), &failures))?;
    } else {
        if let Some(outcome) = &outcome {
            let files = show::count(outcome.done.len(), "file");
            let is_removed = |undo: &&SecretUndo| matches!(undo.fate, Ok(SecretFate::Remove));
            let removed = match outcome.secrets.iter().filter(is_removed).count() {
                0 => String::new(),
                count => {
                    format!(", removed {} from the secret store", show::count(count, "secret"))
                }
            };
            printer.done(format_args!("\nRestored {files}{removed}. Restart your clients."));
        }
        for failure in &failures {
            printer.failure(failure);
        }
    }
    deleted?;
    match failures.len() {
        0 => Ok(()),
        count => {
            let message = match outcome.as_ref().map_or(0, |outcome| outcome.failures.len()) {
                0 if outcome.is_some() => {
                    "not every secret could leave the secret store".to_owned()
                }
                _ => format!("{} could not go back", show::count(count, "file")),
            };
            Err(Failure::plain(FailureKind::Failed, message)
                .with_hint("repair what is wrong, then `switchboard setup --undo` again"))
        }
    }
}

fn failures(plan: &UndoPlan, outcome: Option<&UndoOutcome>, printer: &Printer) -> Vec<Failure> {
    let failure = |file, error| {
        Failure::config(format!("{} stays as it is", printer.places.path(file)), error)
    };
    let secret_failure = |undo: &SecretUndo| {
        let message = format!("the secret `{}` stays in the store", undo.name);
        Some(Failure::config(message, undo.fate.as_ref().err()?))
    };
    let secrets = outcome.map_or(&plan.secrets, |outcome| &outcome.secrets);
    let secrets = secrets.iter().filter_map(secret_failure);
    match outcome {
        Some(outcome) => {
            let files = outcome.failures.iter().map(|(file, error)| failure(file, error));
            files.chain(secrets).collect()
        }
        None => {
            let files = plan.files.iter();
            let files =
                files.filter_map(|undo| Some(failure(&undo.file, undo.method.as_ref().err()?)));
            files.chain(secrets).collect()
        }
    }
}

fn print(plan: &UndoPlan, printer: &Printer) {
    if plan.is_empty() {
        printer.done("Nothing to undo: setup has not changed anything.");
    }
    for undo in &plan.files {
        let file = printer.places.path(&undo.file);
        let how = undo.method.as_ref().map_or("cannot be read", |method| method_text(*method));
        printer.line(format_args!("{BOLD}{file}{BOLD:#} {how}"));
        if !matches!(undo.method, Ok(UndoMethod::Edit)) {
            continue;
        }
        for line in difference(undo) {
            printer.line(format_args!("  {line}"));
        }
    }
    for undo in &plan.secrets {
        let fate = undo.fate.as_ref().map_or("cannot be read, and stays", |fate| fate_text(*fate));
        printer.line(format_args!("the secret {BOLD}{}{BOLD:#} {fate}", undo.name));
    }
}

fn fate_text(fate: SecretFate) -> &'static str {
    match fate {
        SecretFate::Remove => "leaves the secret store",
        SecretFate::StillNamed => "stays, because an entry names it",
        SecretFate::Replaced => "stays, because it has another value since",
        SecretFate::Missing => "was removed since",
    }
}

fn method_text(method: UndoMethod) -> &'static str {
    match method {
        UndoMethod::Nothing => "is as it was",
        UndoMethod::Restore => "is restored, byte for byte",
        UndoMethod::RemoveFile => "is removed, because it did not exist before",
        UndoMethod::Edit => "was edited since, so only these entries change:",
        UndoMethod::Recreate => {
            "was removed since; it is restored, because its servers are nowhere else"
        }
        UndoMethod::Missing => "was removed since; it stays removed",
    }
}

/// The entries that leave, come back and stay, without secrets.
fn difference(undo: &FileUndo) -> Vec<String> {
    let line = |sign: &str, member: &MemberValue| {
        let target = show::short_target(&redact::redact_entry(&member.value));
        format!("{sign} {}  {DIM}{target}{DIM:#}", show::word(member.name()))
    };
    let removes = undo.removes.iter().map(|member| line("-", member));
    let restores = undo.restores.iter().map(|member| line("+", member));
    let keeps = undo.keeps.iter().map(|(member, reason)| {
        let name = show::word(member.name());
        match reason {
            RetentionReason::Changed => {
                format!("= {name}  {DIM}was changed since, and stays{DIM:#}")
            }
            RetentionReason::NameInUse => {
                format!("= {name}  {DIM}another entry has this name now, and stays{DIM:#}")
            }
        }
    });
    removes.chain(restores).chain(keeps).collect()
}

fn to_json(plan: &UndoPlan, outcome: Option<&UndoOutcome>, failures: &[Failure]) -> Value {
    let names = |members: &[MemberValue]| {
        members.iter().map(|member| member.name().to_owned()).collect::<Vec<_>>()
    };
    let files = plan.files.iter().map(|undo| {
        let kept = undo.keeps.iter().map(|(member, _)| member.name());
        json!({
            "client": undo.client, "file": undo.file.display().to_string(),
            "method": undo.method.as_ref().map_or("failed", |method| method.name()),
            "loses": names(&undo.removes), "gets": names(&undo.restores),
            "keeps": kept.collect::<Vec<_>>(),
        })
    });
    let secrets = outcome.map_or(&plan.secrets, |outcome| &outcome.secrets);
    let secrets = secrets.iter().map(|undo| {
        let fate = undo.fate.as_ref().map_or("failed", |fate| fate.name());
        json!({ "name": undo.name, "fate": fate })
    });
    json!({
        "files": files.collect::<Vec<_>>(),
        "secrets": secrets.collect::<Vec<_>>(),
        "done": match outcome {
            Some(_) => "written",
            None if plan.is_empty() => "unchanged",
            None => "not-written",
        },
        "failed": failures.iter().map(Failure::to_json).collect::<Vec<_>>(),
    })
}
