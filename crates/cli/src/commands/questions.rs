//! `switchboard questions`: the question queue of the hub, listed once or followed.
//!
//! Used by `commands::run`; `answer` uses its helpers. It does not answer questions.

use serde_json::json;
use switchboard_core::dispatch::QuestionKind;
use switchboard_core::permission::permission_sentence;
use switchboard_hub::admin::QuestionInfo;
use switchboard_hub::admin::client::{AdminClient, AdminEvent, QuestionAttendance};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use crate::args::Questions;
use crate::command_engine;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer, escaped};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;
use crate::wait::EndSignals;

/// The longest question on one line.
const MAX_QUESTION_CHARS: usize = 200;

pub(super) async fn run(
    asked: &Questions,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let hub = command_engine::find_running(caller, printer).await;
    match (hub, asked.follow) {
        (Some(hub), true) => follow(&hub, printer).await,
        (None, true) => Err(no_hub()),
        (Some(hub), false) => {
            let waiting = hub.questions().await;
            list(
                &waiting
                    .map_err(|error| command_engine::hub_failure("cannot ask the hub", error))?,
                printer,
            )
        }
        (None, false) => list(&[], printer),
    }
}

/// The failure without a running hub, where no question can wait.
pub(super) fn no_hub() -> Failure {
    Failure::plain(FailureKind::Failed, "no hub is running, so no question is waiting")
        .with_hint("a client that runs `switchboard connect` starts one")
}

fn list(waiting: &[QuestionInfo], printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&json!({ "questions": waiting }));
    }
    for asking in waiting {
        show(asking, printer);
    }
    if waiting.is_empty() {
        printer.done("No questions are waiting.");
    } else {
        printer.notices(&[Notice::note("answer a question with `switchboard answer ID`")]);
    }
    Ok(())
}

async fn follow(hub: &AdminClient, printer: &Printer) -> Result<(), Failure> {
    let mut ending = EndSignals::listen();
    let events = hub.events(QuestionAttendance::Yes).await;
    let mut events =
        events.map_err(|error| command_engine::hub_failure("cannot watch the hub", error))?;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => tell(&event, printer),
                None => return Err(Failure::plain(FailureKind::Failed, "the hub has ended")),
            },
            () = ending.wait_for_end() => return Ok(()),
        }
    }
}

fn tell(event: &AdminEvent, printer: &Printer) {
    if !matches!(&*event.name, "ready" | "question" | "answered") {
        return;
    }
    if printer.is_json() {
        let line = format!(r#"{{"event":"{}","data":{}}}"#, event.name, event.data);
        return printer.line(escaped(&line));
    }
    match event.read::<QuestionInfo>() {
        _ if event.name == "ready" => printer.done("Watching; Ctrl-C ends it."),
        Ok(asking) => show(&asking, printer),
        // An `answered` event carries only the id.
        Err(_) => {
            let id = event.data.get("id").ok().flatten().and_then(|id| id.to_text());
            let id = id.unwrap_or_default();
            printer.line(format_args!(
                "{DIM}{}  no longer waits{DIM:#}",
                sanitize::sanitize_line(&id)
            ));
        }
    }
}

fn show(asking: &QuestionInfo, printer: &Printer) {
    let left = asking.left_millis.map(|left| format!("  {} s left", left / 1_000));
    printer.line(format_args!(
        "{BOLD}{}{BOLD:#}  {}{DIM}{}{DIM:#}",
        sanitize::sanitize_line(&asking.id),
        show::word(&asking.server),
        left.unwrap_or_default()
    ));
    let about = show::shorten(&sanitize::sanitize_line(&in_words(asking)), MAX_QUESTION_CHARS);
    printer.line(format_args!("    {about}"));
}

/// A question on one line.
fn in_words(asking: &QuestionInfo) -> String {
    let text = |params: &Raw, key| params.get(key).ok().flatten().and_then(|raw| raw.to_text());
    match QuestionKind::from_json(&asking.about) {
        Some(QuestionKind::Permission(consent)) => {
            let client = asking.client.as_deref();
            let sentence = permission_sentence(client, &consent.tool, &asking.server);
            format!(
                "{sentence} Asked because: {}. Arguments: {}",
                consent.because, consent.arguments
            )
        }
        Some(QuestionKind::Elicitation { params }) => {
            let page = text(&params, "url").map(|url| format!(" (visit {url})"));
            let message = text(&params, "message").unwrap_or_default();
            format!("{message}{}", page.unwrap_or_default())
        }
        Some(QuestionKind::Sampling { .. }) => "what would a model say?".to_owned(),
        Some(QuestionKind::Roots) => "which folders does the client work in?".to_owned(),
        Some(QuestionKind::Extension { method, .. }) => {
            format!("the server asks for `{method}`, which only the client can answer")
        }
        None => "something that this version does not know".to_owned(),
    }
}
