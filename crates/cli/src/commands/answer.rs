//! `switchboard answer`: answers one question of the hub's queue, from flags or at the terminal.
//!
//! Used by `commands::run`. It does not list questions (`questions` does).

use serde_json::json;
use switchboard_core::dispatch::{QuestionAnswer, QuestionKind};
use switchboard_core::permission::PermissionAnswer;
use switchboard_core::remote;
use switchboard_hub::admin::QuestionInfo;
use switchboard_wire::json::Raw;

use super::call::arguments::TypedArguments;
use super::questions::no_hub;
use crate::args::{Answer, Span};
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use crate::{ask, command_engine, prompt};

pub(super) async fn run(given: &Answer, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let hub = command_engine::find_running(caller, printer).await.ok_or_else(no_hub)?;
    let failed =
        |error| command_engine::hub_failure(format!("cannot answer `{}`", given.id), error);
    let waiting = hub.questions().await.map_err(failed)?;
    let asking = waiting.iter().find(|asking| asking.id == given.id);
    let asking = asking.ok_or_else(|| {
        Failure::plain(FailureKind::Failed, format!("no question `{}` is waiting", given.id))
            .with_hint("`switchboard questions` shows all that are waiting")
    })?;
    let reply = decide(given, asking, printer).await?;
    hub.answer(&given.id, &remote::RemoteAnswer::from_answer(&reply)).await.map_err(failed)?;
    if printer.is_json() {
        return printer.json(&json!({ "id": given.id, "action": word(&reply) }));
    }
    printer.done(format_args!("answered `{}`", given.id));
    Ok(())
}

/// The given answer, as a word.
fn word(reply: &QuestionAnswer) -> String {
    match reply {
        QuestionAnswer::Allow(_) => "allow".to_owned(),
        QuestionAnswer::Deny(_) => "deny".to_owned(),
        QuestionAnswer::Cancel | QuestionAnswer::Result(Err(_)) => "cancel".to_owned(),
        QuestionAnswer::Result(Ok(result)) => {
            let said = result.get("action").ok().flatten();
            said.and_then(|said| said.to_text()).unwrap_or_default()
        }
    }
}

/// The answer from the flags; without flags the person is asked.
async fn decide(
    given: &Answer,
    asking: &QuestionInfo,
    printer: &Printer,
) -> Result<QuestionAnswer, Failure> {
    let unknown = || {
        let message =
            format!("`{}` asks a kind of question that this version does not know", given.id);
        Failure::plain(FailureKind::Failed, message).with_hint("close it with `--cancel`")
    };
    if given.cancel {
        return Ok(QuestionAnswer::Cancel);
    }
    let about = QuestionKind::from_json(&asking.about).ok_or_else(unknown)?;
    let is_no = given.deny || given.deny_always || given.decline;
    match (&about, given.allow, is_no) {
        (QuestionKind::Permission(_), Some(span), _) => Ok(PermissionAnswer::from(span).into()),
        (QuestionKind::Permission(_), None, true) if given.deny_always => {
            Ok(PermissionAnswer::DenyAlways.into())
        }
        (QuestionKind::Permission(_), None, true) => Ok(PermissionAnswer::Deny.into()),
        (QuestionKind::Elicitation { .. }, None, true) => {
            Ok(remote::RemoteAnswer::from_action(remote::RemoteAnswerAction::Decline).into_answer())
        }
        (QuestionKind::Elicitation { params }, None, false) if !given.arguments.is_empty() => {
            filled(given, params)
        }
        (_, None, false) if given.arguments.is_empty() && prompt::is_possible(printer) => {
            let client = asking.client.as_deref();
            Ok(ask::ask_one(client, &asking.server, &about, printer).await)
        }
        _ => Err(unfitting(&about)),
    }
}

/// A form with values from the command line.
fn filled(given: &Answer, params: &Raw) -> Result<QuestionAnswer, Failure> {
    let schema = params.get("requestedSchema").ok().flatten().unwrap_or_else(Raw::empty_object);
    let content =
        TypedArguments::read(&given.arguments)?.arguments(&schema).map_err(|invalid| {
            let mistakes = invalid.problems.iter().map(ToString::to_string);
            Failure::plain(FailureKind::Usage, "the answer does not fit the form")
                .with_causes(mistakes)
        })?;
    let mut answer = remote::RemoteAnswer::from_action(remote::RemoteAnswerAction::Accept);
    answer.content = Some(content);
    Ok(answer.into_answer())
}

fn unfitting(about: &QuestionKind) -> Failure {
    let hint = match about {
        QuestionKind::Permission(_) => {
            "answer with `--allow`, `--allow always`, `--deny`, `--deny-always` or `--cancel`"
        }
        QuestionKind::Elicitation { .. } => {
            "fill it in with `key=value`, or answer with `--decline` or `--cancel`"
        }
        QuestionKind::Sampling { .. } => {
            "only a client with a model can answer it; close it with `--cancel`"
        }
        QuestionKind::Roots | QuestionKind::Extension { .. } => {
            "only the client that made the call can answer it; close it with `--cancel`"
        }
    };
    Failure::usage("that does not answer this question", hint)
}

// === impl PermissionAnswer ===

impl From<Span> for PermissionAnswer {
    fn from(span: Span) -> Self {
        match span {
            Span::Once => Self::AllowOnce,
            Span::Session => Self::AllowForSession,
            Span::Project => Self::AllowInProject,
            Span::Always => Self::AllowAlways,
        }
    }
}
