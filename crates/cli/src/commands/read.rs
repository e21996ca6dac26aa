//! `switchboard read`: reads one resource, by URI, or by server and URI.
//!
//! Used by `commands::run`. Resources are listed by `resources`.

use switchboard_core::Request;
use switchboard_wire::json::Raw;

use super::content::{self, ResultPart};
use super::follow::follow;
use crate::args::Read;
use crate::command_engine::{self, CommandEngine, WaitTarget};
use crate::notice::Notice;
use crate::printer::{Printer, escaped};
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) async fn run(read: &Read, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    command_engine::with_servers(caller, printer, async |hub: &CommandEngine| {
        printer.notices(&command_engine::not_numbers(&hub.desired, caller));
        show(read, hub, printer).await
    })
    .await
}

async fn show(read: &Read, hub: &CommandEngine, printer: &Printer) -> Result<(), Failure> {
    let (server, uri) = parse_target(&read.words, hub)?;
    let mut request = Request::read(&uri);
    if let Some(server) = &server {
        let snapshot = hub.wait_until_settled(WaitTarget::Server(server), printer).await;
        if let Some(failure) = command_engine::missing_failure(hub, &snapshot, server) {
            return Err(failure.with_context(format!("cannot read {uri}")));
        }
        request = request.of_server(server);
    }
    let outcome = follow(hub, request, &uri, printer).await;
    let outcome = outcome
        .map_err(|error| command_engine::call_failed(&format!("cannot read {uri}"), &error, hub))?;
    printer.notices(other_owners(&uri, server.as_deref(), outcome.server.as_deref(), hub).as_ref());
    if printer.is_json() {
        printer.line(escaped(outcome.result.as_str()));
        return Ok(());
    }
    let contents = outcome.result.get("contents").ok().flatten();
    let parts: Vec<_> = contents
        .iter()
        .flat_map(Raw::elements)
        .map(|part| ResultPart::of_resource(&part))
        .collect();
    content::print(&parts, printer)?;
    let problem = outcome.limited.as_ref().and_then(|kept| kept.problem.as_ref());
    printer.notices(problem.map(Notice::from).as_ref());
    Ok(())
}

/// A note if other servers have this URI too, and the person named no server.
fn other_owners(
    uri: &str,
    named: Option<&str>,
    read: Option<&str>,
    hub: &CommandEngine,
) -> Option<Notice> {
    let snapshot = hub.snapshot();
    let owners = snapshot.catalog.owners(uri);
    let (None, Some(read)) = (named, read) else { return None };
    let other = owners.iter().find(|owner| **owner != read)?;
    let all = owners.join("`, `");
    let notice = Notice::note(format!("`{all}` have {uri}; this is the resource of `{read}`"));
    Some(notice.with_hint(format!("`switchboard read {other} {uri}` reads the other")))
}

/// Parses `URI`, `SERVER URI` or `@SERVER:URI`.
fn parse_target(
    words: &[String],
    hub: &CommandEngine,
) -> Result<(Option<String>, String), Failure> {
    match words {
        [server, uri] => Ok((Some(server.clone()), uri.clone())),
        [only] => match only.strip_prefix('@') {
            Some(mention) => parse_mention(mention, hub).map(|(server, uri)| (Some(server), uri)),
            None => Ok((None, only.clone())),
        },
        _ => Err(Failure::usage("one resource is read at a time", "give one URI")),
    }
}

/// Parses `@SERVER:URI`. The longest server name that fits is taken, because names may contain a `:`.
fn parse_mention(mention: &str, hub: &CommandEngine) -> Result<(String, String), Failure> {
    let snapshot = hub.snapshot();
    let fitting = snapshot.servers.iter().filter_map(|view| {
        let uri = mention.strip_prefix(view.name.as_str())?.strip_prefix(':')?;
        Some((view.name.clone(), uri.to_owned()))
    });
    fitting.max_by_key(|(server, _)| server.len()).ok_or_else(|| {
        let message = format!("`@{mention}` names no server");
        Failure::usage(message, "write `@SERVER:URI`; `switchboard list` shows the servers")
    })
}
