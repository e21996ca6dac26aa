//! `switchboard skill`: reads the `SKILL.md` of one skill and compares it with what its server announced.
//!
//! Used by `commands::run`. Skills are listed by `skills`; their other files are resources, which `read` reads.

use serde_json::json;
use switchboard_config::StartPolicy;
use switchboard_core::Request;
use switchboard_wire::client::skills::Skill;
use switchboard_wire::sanitize;

use super::follow::follow;
use crate::args;
use crate::command_engine::{self, CommandEngine, FallbackServer, ResultLimit};
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

pub(super) async fn run(
    wanted: &args::Skill,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    // A part of the file would not have the digest of the whole.
    let room = ResultLimit::Pipe;
    command_engine::with_engine(
        caller,
        (room, StartPolicy::Lazy),
        FallbackServer::Builtin,
        async |hub: &CommandEngine| show(&wanted.name, hub, printer).await,
    )
    .await
}

async fn show(name: &str, hub: &CommandEngine, printer: &Printer) -> Result<(), Failure> {
    let (server, skill) = find(name, hub, printer).await?;
    let request = Request::read(skill.uri()).of_server(&*server);
    let what = format!("cannot read the skill `{name}`");
    let outcome = follow(hub, request, skill.uri(), printer).await;
    let outcome = outcome.map_err(|error| command_engine::call_failed(&what, &error, hub))?;
    let text = skill.manifest(&outcome.result).map_err(|mismatch| {
        Failure::new(format!("`{}` of `{server}` is not what was announced", skill.uri()), mismatch)
            .with_hint("the server changed the skill, or is not to be trusted; do not use the text")
    })?;
    if printer.is_json() {
        let (name, uri) = (skill.name(), skill.uri());
        return printer.json(&json!({ "name": name, "server": server, "uri": uri, "text": text }));
    }
    if printer.is_screen() {
        printer.line(sanitize::sanitize_block(&text));
    } else {
        printer.text(&text);
    }
    Ok(())
}

/// Finds a skill by its name or its URI, alone or after its server and a `/`.
async fn find(
    name: &str,
    hub: &CommandEngine,
    printer: &Printer,
) -> Result<(String, Skill), Failure> {
    hub.settled_snapshot(None, printer).await?;
    let listed = hub.skills(None).await?;
    let mut found: Vec<(String, Skill)> = Vec::new();
    for listed in &listed {
        for skill in listed.read() {
            let own = name.strip_prefix(&*listed.server).and_then(|own| own.strip_prefix('/'));
            let is_meant = |name: &str| skill.name() == name || skill.uri() == name;
            if is_meant(name) || own.is_some_and(is_meant) {
                found.push((listed.server.clone(), skill));
            }
        }
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(first), Some(second)) => {
            let all = [first, second].into_iter().chain(found);
            let names: Vec<String> = all
                .map(|(server, skill)| format!("`{server}/{}` ({})", skill.name(), skill.uri()))
                .collect();
            let names = sanitize::sanitize_line(&names.join(", ")).into_owned();
            let message = format!("several skills are called `{name}`: {names}");
            Err(Failure::usage(message, "write `SERVER/NAME` or `SERVER/URI`"))
        }
        (None, _) => {
            let message = format!("there is no skill `{name}`");
            let failure = Failure::plain(FailureKind::Failed, message);
            Err(failure.with_hint("`switchboard skills` shows the skills of all servers"))
        }
    }
}
