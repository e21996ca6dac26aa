//! `switchboard call`: calls one tool and prints its result.
//!
//! Used by `commands::run`. It uses `lookup` for the name, `arguments` for the arguments, `follow` for the call and
//! `content` for the result.

pub(super) mod arguments;

use std::sync::Arc;

use switchboard_core::catalog::ListedTool;
use switchboard_core::{CallError, CallOutcome, Request};
use switchboard_wire::json::Raw;

use super::content::{self, ResultPart};
use super::follow::follow;
use super::lookup::LookupError;
use super::{example, lookup};
use crate::args::Call;
use crate::command_engine::{self, CommandEngine};
use crate::notice::Notice;
use crate::printer::{Printer, escaped};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use arguments::TypedArguments;

pub(super) async fn run(call: &Call, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let typed = TypedArguments::read(&call.arguments)?;
    command_engine::with_servers(caller, printer, async |hub: &CommandEngine| {
        printer.notices(&command_engine::not_numbers(&hub.desired, caller));
        place(call, &typed, hub, printer).await
    })
    .await
}

async fn place(
    call: &Call,
    typed: &TypedArguments,
    hub: &CommandEngine,
    printer: &Printer,
) -> Result<(), Failure> {
    let tool = match lookup::find::<Arc<ListedTool>>(hub, &call.tool, printer).await {
        Ok(tool) => tool,
        Err(unfound) => return Err(on_record(unfound, hub).await),
    };
    let arguments = typed
        .arguments(&tool.tool.input_schema)
        .map_err(|invalid| wrong(&tool, invalid.problems.iter().map(ToString::to_string)))?;
    let mut request = Request::tool(&tool.name, &arguments).with_progress();
    if let Some(timeout) = call.timeout {
        request = request.with_timeout(timeout);
    }
    if let Some(limit) = call.time_limit {
        request = request.with_time_limit(limit);
    }
    let called = follow(hub, request, &tool.name, printer).await;
    let outcome = called.map_err(|error| failed(&tool, &error, hub))?;
    tell(&outcome, printer)?;
    if outcome.is_error() { Err(Failure::tool(&tool.name)) } else { Ok(()) }
}

/// Makes a call of a tool that a rule hides, so that the refusal is in the audit log. The arguments fit no tool, so
/// nothing happens even if the rule has been removed meanwhile.
async fn on_record(unfound: LookupError, hub: &CommandEngine) -> Failure {
    if let Some(name) = &unfound.hidden {
        // The person gets the failure of the lookup, which says why.
        let _ = hub.call(Request::tool(name, &Raw::string("refused"))).outcome().await;
    }
    unfound.into()
}

fn failed(tool: &Arc<ListedTool>, error: &CallError, hub: &CommandEngine) -> Failure {
    match error {
        CallError::Arguments { mistakes, .. } => {
            wrong(tool, mistakes.iter().map(ToString::to_string))
        }
        CallError::Denied { name, .. } => {
            command_engine::call_failed(&format!("`{name}` may not be called"), error, hub)
        }
        error => command_engine::call_failed(&format!("cannot call `{}`", tool.name), error, hub),
    }
}

/// The failure for invalid arguments, with an example of a valid call; nothing was sent.
fn wrong(tool: &Arc<ListedTool>, mistakes: impl Iterator<Item = String>) -> Failure {
    let message = format!("invalid arguments for `{}`", tool.name);
    Failure::plain(FailureKind::Usage, message)
        .with_causes(mistakes)
        .with_hint(format!("such as `{}`", example::example_call(tool)))
}

fn tell(outcome: &CallOutcome, printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        printer.line(escaped(outcome.result.as_str()));
        return Ok(());
    }
    content::print(&parts(&outcome.result), printer)?;
    let problem = outcome.limited.as_ref().and_then(|kept| kept.problem.as_ref());
    let context = outcome.context.iter().map(|said| Notice::note(format!("a hook says: {said}")));
    let notices: Vec<_> = context.chain(problem.map(Notice::from)).collect();
    printer.notices(&notices);
    Ok(())
}

/// The content blocks of a result; structured content if there is no text.
fn parts(result: &Raw) -> Vec<ResultPart> {
    let content = result.get("content").ok().flatten();
    let mut parts: Vec<_> =
        content.iter().flat_map(Raw::elements).map(|block| ResultPart::of_block(&block)).collect();
    let structured = result.get("structuredContent").ok().flatten();
    if let (Some(structured), false) = (structured, parts.iter().any(ResultPart::is_text)) {
        let pretty = structured.decode().map(|value: serde_json::Value| format!("{value:#}"));
        parts.push(ResultPart::Text(pretty.unwrap_or_else(|_| structured.to_string())));
    }
    parts
}
