//! `switchboard questions`: what waits in the hub for somebody to answer.

use serde_json::json;
use switchboard_core::dispatch::About;
use switchboard_hub::admin::Asking;
use switchboard_hub::admin::client::{Attending, Client, Event};
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use crate::args::Questions;
use crate::hub;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer, escaped};
use crate::report::{Failure, Kind};
use crate::show;
use crate::surroundings::Caller;
use crate::wait::Ending;

/// How much of what is asked is shown on one line.
const SHOWN: usize = 200;

pub(super) async fn run(
    asked: &Questions,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let hub = hub::running(caller, printer).await;
    match (hub, asked.follow) {
        (Some(hub), true) => follow(&hub, printer).await,
        (None, true) => Err(no_hub()),
        (Some(hub), false) => {
            let waiting = hub.questions().await;
            list(&waiting.map_err(|error| hub::refused("cannot ask the hub", error))?, printer)
        }
        (None, false) => list(&[], printer),
    }
}

/// Nothing can wait where no hub runs.
pub(super) fn no_hub() -> Failure {
    Failure::plain(Kind::Failed, "no hub runs, so nothing waits")
        .hinted("a client that runs `switchboard connect` starts one")
}

fn list(waiting: &[Asking], printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&json!({ "questions": waiting }));
    }
    for asking in waiting {
        show(asking, printer);
    }
    if waiting.is_empty() {
        printer.done("no question waits");
    } else {
        printer.notices(&[Notice::note("answer one with `switchboard answer ID`")]);
    }
    Ok(())
}

async fn follow(hub: &Client, printer: &Printer) -> Result<(), Failure> {
    let mut ending = Ending::listen();
    let events = hub.events(Attending::Yes).await;
    let mut events = events.map_err(|error| hub::refused("cannot watch the hub", error))?;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => tell(&event, printer),
                None => return Err(Failure::plain(Kind::Failed, "the hub has ended")),
            },
            () = ending.wanted() => return Ok(()),
        }
    }
}

fn tell(event: &Event, printer: &Printer) {
    if !matches!(&*event.name, "ready" | "question" | "answered") {
        return;
    }
    if printer.is_json() {
        let line = format!(r#"{{"event":"{}","data":{}}}"#, event.name, event.data);
        return printer.line(escaped(&line));
    }
    match event.read::<Asking>() {
        _ if event.name == "ready" => printer.done("Watching; Ctrl-C ends it."),
        Ok(asking) => show(&asking, printer),
        // One that is answered is told by its name alone.
        Err(_) => {
            let id = event.data.get("id").ok().flatten().and_then(|id| id.to_text());
            let id = id.unwrap_or_default();
            printer.line(format_args!("{DIM}{}  no longer waits{DIM:#}", sanitize::line(&id)));
        }
    }
}

fn show(asking: &Asking, printer: &Printer) {
    let left = asking.left_millis.map(|left| format!("  {} s left", left / 1_000));
    printer.line(format_args!(
        "{BOLD}{}{BOLD:#}  {}{DIM}{}{DIM:#}",
        sanitize::line(&asking.id),
        show::word(&asking.server),
        left.unwrap_or_default()
    ));
    let about = show::shortened(&sanitize::line(&in_words(&asking.about)), SHOWN);
    printer.line(format_args!("    {about}"));
}

/// What is asked, on one line.
fn in_words(about: &Raw) -> String {
    let text = |params: &Raw, key| params.get(key).ok().flatten().and_then(|raw| raw.to_text());
    match About::read(about) {
        Some(About::Permission(consent)) => {
            format!(
                "may `{}` be called with {}? ({})",
                consent.tool, consent.arguments, consent.because
            )
        }
        Some(About::Elicitation { params }) => {
            let page = text(&params, "url").map(|url| format!(" (visit {url})"));
            let message = text(&params, "message").unwrap_or_default();
            format!("{message}{}", page.unwrap_or_default())
        }
        Some(About::Sampling { .. }) => "what would a model say?".to_owned(),
        Some(About::Roots) => "which folders does the client work in?".to_owned(),
        None => "something that this version does not know".to_owned(),
    }
}
