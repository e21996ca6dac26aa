//! The plan of a setup and its outcome, as JSON.
//!
//! Used by `setup`. Secrets in entries are redacted.

use serde_json::{Value, json};
use switchboard_config::redact;
use switchboard_config::setup::{ClientPlan, MemberValue, ServerPlace, SetupOutcome, SetupPlan};

use super::{SetupProposal, notices, obstacle_text, sources};
use crate::commands::clients::overview_json;
use crate::report::Failure;

pub(super) fn to_json(
    proposal: &SetupProposal,
    outcome: Option<&SetupOutcome>,
    failures: &[Failure],
) -> Value {
    let SetupProposal { plan, secrets, .. } = proposal;
    let is_written = |server: &str| {
        let names = |outcome: &SetupOutcome| [&outcome.imported[..], &outcome.replaced].concat();
        outcome.is_some_and(|outcome| names(outcome).iter().any(|name| name == server))
    };
    let imports = plan.import.add.iter().map(|planned| {
        let from = sources(&planned.name, plan)
            .map(|from| json!({ "client": from.client.name(), "name": from.name, "at": from.at }));
        json!({
            "name": planned.name, "scope": planned.scope, "from": from.collect::<Vec<_>>(),
            "entry": redact::redact_entry(&planned.candidate.entry),
        })
    });
    let project = plan.project.servers.iter().map(
        |server| json!({ "client": server.client.name(), "name": server.name, "at": server.at }),
    );
    let done = match outcome {
        Some(_) => "written",
        None if proposal.is_empty() => "unchanged",
        None => "not-written",
    };
    json!({
        "clients": plan.clients.iter().map(|client| client_json(client, plan)).collect::<Vec<_>>(),
        "plan": imports.collect::<Vec<_>>(),
        "projectServers": project.collect::<Vec<_>>(),
        "secrets": secrets.to_json(is_written),
        "problems": notices(proposal),
        "done": done,
        "imported": outcome.map(|outcome| &outcome.imported),
        "changed": outcome.map(|outcome| {
            outcome.changed.iter().map(|file| file.file.display().to_string()).collect::<Vec<_>>()
        }),
        "failed": failures.iter().map(Failure::to_json).collect::<Vec<_>>(),
    })
}

fn client_json(client: &ClientPlan, plan: &SetupPlan) -> Value {
    let servers = client.servers.iter().map(|server| {
        let (state, name) = match plan.place(server) {
            ServerPlace::Present(name) => ("present", Some(name)),
            ServerPlace::Planned(name) => ("planned", Some(name)),
            ServerPlace::Elsewhere => ("stays", None),
        };
        json!({ "name": server.name, "at": server.at, "state": state, "becomes": name })
    });
    let names = |members: &[MemberValue]| {
        members.iter().map(|member| member.name().to_owned()).collect::<Vec<_>>()
    };
    let files = client.files.iter().map(|file| {
        json!({
            "file": file.file.display().to_string(),
            "gets": names(&file.set), "loses": names(&file.remove),
        })
    });
    let mut json = overview_json(&client.overview);
    json["servers"] = servers.collect();
    json["files"] = files.collect();
    json["obstacle"] = client.obstacle.as_ref().map(obstacle_text).into();
    json
}
