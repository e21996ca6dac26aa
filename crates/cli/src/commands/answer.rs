//! `switchboard answer`: one question of the hub, answered.

use serde_json::json;
use switchboard_core::dispatch::{About, Reply};
use switchboard_core::permission::Remember;
use switchboard_core::told;
use switchboard_hub::admin::Asking;
use switchboard_wire::json::Raw;

use super::call::arguments::Typed;
use super::questions::no_hub;
use crate::args::{Answer, Span};
use crate::printer::Printer;
use crate::report::{Failure, Kind};
use crate::surroundings::Caller;
use crate::{ask, hub, prompt};

pub(super) async fn run(given: &Answer, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let hub = hub::running(caller, printer).await.ok_or_else(no_hub)?;
    let failed = |error| hub::refused(format!("cannot answer `{}`", given.id), error);
    let waiting = hub.questions().await.map_err(failed)?;
    let asking = waiting.iter().find(|asking| asking.id == given.id);
    let asking = asking.ok_or_else(|| {
        Failure::plain(Kind::Failed, format!("no question `{}` waits", given.id))
            .hinted("`switchboard questions` shows those that do")
    })?;
    let reply = decide(given, asking, printer).await?;
    hub.answer(&given.id, &told::Answer::of(&reply)).await.map_err(failed)?;
    if printer.is_json() {
        return printer.json(&json!({ "id": given.id, "action": word(&reply) }));
    }
    printer.done(format_args!("answered `{}`", given.id));
    Ok(())
}

/// What was answered, in a word.
fn word(reply: &Reply) -> String {
    match reply {
        Reply::Allow(_) => "allow".to_owned(),
        Reply::Deny(_) => "deny".to_owned(),
        Reply::Cancel | Reply::Result(Err(_)) => "cancel".to_owned(),
        Reply::Result(Ok(result)) => {
            let said = result.get("action").ok().flatten();
            said.and_then(|said| said.to_text()).unwrap_or_default()
        }
    }
}

/// What was typed, else what is asked for now.
async fn decide(given: &Answer, asking: &Asking, printer: &Printer) -> Result<Reply, Failure> {
    let unknown = || {
        let message = format!("`{}` asks something that this version does not know", given.id);
        Failure::plain(Kind::Failed, message).hinted("put it away with `--cancel`")
    };
    if given.cancel {
        return Ok(Reply::Cancel);
    }
    let about = About::read(&asking.about).ok_or_else(unknown)?;
    match (&about, given.allow, given.deny || given.decline) {
        (About::Permission(_), Some(span), _) => Ok(Reply::Allow(span.into())),
        (About::Permission(_), None, true) => Ok(Reply::Deny(Remember::Once)),
        (About::Elicitation { .. }, None, true) => {
            Ok(told::Answer::plain(told::Action::Decline).reply())
        }
        (About::Elicitation { params }, None, false) if !given.arguments.is_empty() => {
            filled(given, params)
        }
        (_, None, false) if given.arguments.is_empty() && prompt::is_possible(printer) => {
            Ok(ask::one(&asking.server, &about, printer).await)
        }
        _ => Err(unfitting(&about)),
    }
}

/// A form, filled in on the command line.
fn filled(given: &Answer, params: &Raw) -> Result<Reply, Failure> {
    let schema = params.get("requestedSchema").ok().flatten().unwrap_or_else(Raw::empty_object);
    let content = Typed::read(&given.arguments)?.arguments(&schema).map_err(|invalid| {
        let mistakes = invalid.problems.iter().map(ToString::to_string);
        Failure::plain(Kind::Usage, "the form takes something else").because(mistakes)
    })?;
    let mut answer = told::Answer::plain(told::Action::Accept);
    answer.content = Some(content);
    Ok(answer.reply())
}

fn unfitting(about: &About) -> Failure {
    let hint = match about {
        About::Permission(_) => "answer with `--allow`, `--allow always`, `--deny` or `--cancel`",
        About::Elicitation { .. } => {
            "fill it in with `key=value`, or answer with `--decline` or `--cancel`"
        }
        About::Sampling { .. } => {
            "only a client with a model can answer it; put it away with `--cancel`"
        }
        About::Roots => {
            "only the client that made the call can answer it; put it away with `--cancel`"
        }
    };
    Failure::usage("that does not answer this question", hint)
}

// === impl Span ===

impl From<Span> for Remember {
    fn from(span: Span) -> Self {
        match span {
            Span::Once => Self::Once,
            Span::Session => Self::Session,
            Span::Project => Self::Project,
            Span::Always => Self::Always,
        }
    }
}
