//! `switchboard complete`: completions of an argument of a prompt or a resource template.
//!
//! Used by `commands::run`. Completions of the shell are in `completions`.

use serde_json::json;
use switchboard_core::Request;
use switchboard_core::catalog::ListedPrompt;
use switchboard_core::dispatch::CompletionReference;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::follow::follow;
use super::lookup;
use super::prompt::{object, pairs};
use crate::args::Complete;
use crate::command_engine::{self, CommandEngine};
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) async fn run(
    complete: &Complete,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let known = object(&pairs(&complete.known)?);
    command_engine::with_servers(caller, printer, async |hub: &CommandEngine| {
        show(complete, &known, hub, printer).await
    })
    .await
}

async fn show(
    complete: &Complete,
    known: &Raw,
    hub: &CommandEngine,
    printer: &Printer,
) -> Result<(), Failure> {
    let of = complete.of.as_str();
    let (argument, value) = (&complete.argument, &complete.value);
    let request = if of.contains("://") {
        Request::complete(CompletionReference::Template(of), argument, value, known)
    } else {
        let prompt: ListedPrompt = lookup::find(hub, of, printer).await?;
        Request::complete(CompletionReference::Prompt(&prompt.name), argument, value, known)
    };
    let outcome = follow(hub, request, of, printer).await;
    let outcome = outcome.map_err(|error| {
        command_engine::call_failed(&format!("cannot complete `{argument}`"), &error, hub)
    })?;
    let values = outcome.result.get_path(&["completion", "values"]).ok().flatten();
    let values: Vec<_> = values.iter().flat_map(Raw::elements).collect();
    let values: Vec<String> = values.iter().filter_map(Raw::to_text).collect();
    if printer.is_json() {
        let more = outcome.result.get_path(&["completion", "hasMore"]).ok().flatten();
        let more = more.is_some_and(|more| more.as_str() == "true");
        return printer.json(&json!({ "values": values, "hasMore": more }));
    }
    for value in &values {
        printer.line(sanitize::sanitize_line(value));
    }
    Ok(())
}
