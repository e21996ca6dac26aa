//! `switchboard permissions`: lists and forgets remembered answers to permission questions, and explains what rules make
//! of calls.
//!
//! Used by `commands::run`. The file in user state is shared by all processes: a running hub notices a change before
//! its next call. It does not ask or decide (`core::permission` does).

mod explain;

use serde_json::json;
use switchboard_core::permission::{
    AnswerStoreError, AskReason, LastingAnswer, PermissionAnswer, PermissionMemory,
};
use switchboard_wire::sanitize;

use crate::args::{self, Forget};
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

pub(super) async fn run(
    asked: &args::Permissions,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let (memory, problems) = PermissionMemory::open(&caller.surroundings.state_dir);
    if let Some(problem) = problems.into_iter().next() {
        let failure = Failure::plain(FailureKind::Failed, "the remembered answers cannot be read");
        return Err(failure.with_causes([problem.message]));
    }
    match asked {
        args::Permissions::List => list(&memory.lasting_answers(), printer),
        args::Permissions::Forget(which) => forget(which, &memory, printer).await,
        args::Permissions::Explain(call) => explain::explain(call, &memory, caller, printer),
        args::Permissions::Test(cases) => explain::test(cases, caller, printer),
    }
}

fn list(answers: &[LastingAnswer], printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&json!({ "answers": answers }));
    }
    if answers.is_empty() {
        printer.done("No answers are remembered.");
        return Ok(());
    }
    let head = ["ID", "ANSWER", "SERVER", "TOOL", "QUESTION", "PROJECT"].map(str::to_owned);
    let rows = answers.iter().map(|answer| row(answer, printer));
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
    Ok(())
}

fn row(answer: &LastingAnswer, printer: &Printer) -> [String; 6] {
    let question = match &answer.question {
        AskReason::Undecided => "no rule decides".to_owned(),
        AskReason::Rule(rule) => format!("ask rule {}", show::word(rule)),
    };
    let label = PermissionAnswer::from(answer.answer).label();
    let label = match &answer.principal {
        Some(principal) => format!("{label}, for {}", show::word(principal)),
        None => label.to_owned(),
    };
    let project = answer.project.as_deref().map(|path| printer.places.path(path.as_ref()));
    [
        answer.id.clone(),
        label,
        show::word(&answer.server),
        show::word(&answer.tool),
        question,
        project.unwrap_or_else(|| "-".to_owned()),
    ]
}

async fn forget(
    which: &Forget,
    memory: &PermissionMemory,
    printer: &Printer,
) -> Result<(), Failure> {
    let name = which.which.clone();
    let is_meant =
        move |answer: &LastingAnswer| name.as_deref().is_none_or(|name| answer.is_named(name));
    if !memory.lasting_answers().iter().any(&is_meant) {
        return nothing_to_forget(which, printer);
    }
    let forgotten = memory.forget(is_meant).await.map_err(not_forgotten)?;
    if printer.is_json() {
        return printer.json(&json!({ "forgotten": forgotten }));
    }
    for answer in &forgotten {
        printer.done(format_args!(
            "forgot {BOLD}{}{BOLD:#} ({}); the next call asks again",
            sanitize::sanitize_line(&format!("{}/{}", answer.server, answer.tool)),
            PermissionAnswer::from(answer.answer).label()
        ));
    }
    Ok(())
}

fn nothing_to_forget(which: &Forget, printer: &Printer) -> Result<(), Failure> {
    let Some(name) = &which.which else {
        let nothing: [LastingAnswer; 0] = [];
        if printer.is_json() {
            return printer.json(&json!({ "forgotten": nothing }));
        }
        printer.done("No answers are remembered.");
        return Ok(());
    };
    let message = format!("there is no remembered answer `{}`", sanitize::sanitize_line(name));
    Err(Failure::plain(FailureKind::Failed, message)
        .with_hint("see `switchboard permissions list`"))
}

fn not_forgotten(error: AnswerStoreError) -> Failure {
    Failure::new("cannot delete the answer", error)
}
