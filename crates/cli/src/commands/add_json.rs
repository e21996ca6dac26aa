//! `switchboard add-json`: writes an entry that is given as JSON, alone or as documents of servers show it, inside
//! `mcpServers`.
//!
//! Used by `commands::run`; writing is in `write_entry`.

use serde_json::{Map, Value};
use switchboard_config::{SourceOrigin, parse_entry};

use super::write_entry;
use crate::args::AddJson;
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::Caller;

pub(super) fn run(add: &AddJson, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let subject = add.name.as_deref().map_or_else(
        || "cannot add the servers in the JSON".to_owned(),
        |name| format!("cannot add `{name}`"),
    );
    let entry = parse_entry(&SourceOrigin::text("the entry"), &add.entry).map_err(|problem| {
        Failure::plain(FailureKind::Usage, subject.clone())
            .with_causes([problem.message])
            .with_location(problem.at)
            .with_hint("quote it for your shell: '{\"command\": \"…\"}'")
    })?;
    let scope = add.scope.scope();
    if let Some(name) = &add.name {
        let entry = unwrap_entry(name, entry)?;
        return write_entry::add(scope, name, &entry, caller, printer);
    }
    let servers = entry.as_object().and_then(wrapped_servers).filter(|found| !found.is_empty());
    let servers = servers.ok_or_else(|| {
        Failure::plain(FailureKind::Usage, subject)
            .with_causes(["the JSON names no server".to_owned()])
            .with_hint("give the name first: `switchboard add-json NAME JSON`")
    })?;
    servers
        .iter()
        .try_for_each(|(name, entry)| write_entry::add(scope, name, entry, caller, printer))
}

/// The entry inside the object of servers, if there is one: the entry called `name`, or the only one.
fn unwrap_entry(name: &str, entry: Value) -> Result<Value, Failure> {
    let Value::Object(members) = &entry else { return Ok(entry) };
    let Some(servers) = wrapped_servers(members) else { return Ok(entry) };
    let mut values = servers.values();
    let only = values.next().filter(|_| values.next().is_none());
    servers.get(name).or(only).cloned().ok_or_else(|| {
        let names: Vec<_> = servers.keys().map(|name| format!("`{}`", show::word(name))).collect();
        let failure = Failure::plain(FailureKind::Usage, format!("cannot add `{name}`"));
        if names.is_empty() {
            return failure.with_causes(["the JSON holds no server".to_owned()]);
        }
        failure
            .with_causes([format!("the JSON holds several servers: {}", names.join(", "))])
            .with_hint("name one of them, and repeat the command for each")
    })
}

/// The servers of a whole file, under one of the names that clients use. An entry has none.
fn wrapped_servers(members: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let servers = ["mcpServers", "servers"].iter().find_map(|key| members.get(*key));
    servers.and_then(Value::as_object).filter(|_| !is_entry(members))
}

fn is_entry(members: &Map<String, Value>) -> bool {
    ["command", "url", "type"].iter().any(|key| members.contains_key(*key))
}
