//! `switchboard clients`: which clients are on this machine, which have our entry, and which are connected now.
//!
//! Used by `commands::run`; `setup` shares its output. It does not start a hub and changes nothing.

use serde_json::{Value, json};
use switchboard_config::import::{ClientApp, ClientFileOwner};
use switchboard_config::install::ClientTraits;
use switchboard_config::setup::{ClientOverview, ClientPresence, OurEntry, ProgramMatch};
use switchboard_hub::attach;
use switchboard_hub::socket::{AttachedClient, HubStatus};

use super::connect::hub_paths;
use super::install::program;
use crate::printer::{DIM, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

pub(super) async fn run(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let program = program(caller)?;
    let overview = |client| {
        let read = caller.workspace.read_client_files(&[client], ClientFileOwner::User);
        ClientOverview::new(client, &read.servers, &program, &caller.surroundings)
    };
    let clients: Vec<_> = ClientApp::ALL.into_iter().map(overview).collect();
    let status = attach::request_status(&hub_paths(caller)?, env!("CARGO_PKG_VERSION"))
        .await
        .map_err(|error| Failure::new("cannot reach the hub", error))?;
    let connected = |client| connected(client, status.as_ref());
    if printer.is_json() {
        let clients = clients.iter().map(|overview| {
            let mut json = overview_json(overview);
            json["connected"] = connected(overview.client).into();
            json
        });
        return printer.json(&json!({ "clients": clients.collect::<Vec<_>>() }));
    }
    let head = ["CLIENT", "ON THIS MACHINE", "SWITCHBOARD", "CONNECTED"].map(str::to_owned);
    let rows = clients.iter().map(|overview| {
        [
            overview.client.to_string(),
            presence_text(overview.presence.as_ref(), printer),
            entries_text(&overview.entries, printer),
            match connected(overview.client) {
                0 => "-".to_owned(),
                count => count.to_string(),
            },
        ]
    });
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
    Ok(())
}

/// How many sessions of a client the hub has.
fn connected(client: ClientApp, status: Option<&HubStatus>) -> usize {
    let traits = ClientTraits::of(client);
    let is_it = |attached: &&AttachedClient| traits.is_info_name(&attached.name);
    status.map_or(0, |status| status.attached.iter().filter(is_it).count())
}

/// The trace of a client, for people.
pub(in crate::commands) fn presence_text(
    presence: Option<&ClientPresence>,
    printer: &Printer,
) -> String {
    presence.map_or_else(|| "-".to_owned(), |presence| printer.places.path(presence.path()))
}

fn entries_text(entries: &[OurEntry], printer: &Printer) -> String {
    let text = |entry: &OurEntry| {
        let program = printer.places.path(&entry.program);
        match entry.is {
            ProgramMatch::Same => format!("yes, as {}", show::word(&entry.name)),
            ProgramMatch::Other => format!("another program: {program}"),
            ProgramMatch::Missing => format!("missing program: {program}"),
        }
    };
    match entries {
        [] => "-".to_owned(),
        entries => entries.iter().map(text).collect::<Vec<_>>().join(", "),
    }
}

/// A client as JSON.
pub(in crate::commands) fn overview_json(overview: &ClientOverview) -> Value {
    let entries = overview.entries.iter().map(|entry| {
        json!({
            "name": entry.name, "program": entry.program.display().to_string(),
            "match": entry.is.name(),
        })
    });
    json!({
        "client": overview.client.name(),
        "presence": overview.presence.as_ref().map(presence_word),
        "path": overview.presence.as_ref().map(|presence| presence.path().display().to_string()),
        "entries": entries.collect::<Vec<_>>(),
    })
}

/// A stable word for the trace of a client.
fn presence_word(presence: &ClientPresence) -> &'static str {
    match presence {
        ClientPresence::UserFile(_) => "file",
        ClientPresence::ConfigFolder(_) => "folder",
        ClientPresence::Program(_) => "program",
    }
}
