//! `switchboard status`: the hub, its clients, their calls and servers, and the console's URL.
//!
//! Used by `commands::run`. It does not start a hub.

use serde_json::{Value, json};
use switchboard_hub::attach;
use switchboard_hub::socket::{AttachedClient, HubStatus};
use switchboard_wire::sanitize;

use super::connect::hub_paths;
use super::setup;
use crate::command_engine;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::Failure;
use crate::show::{self, moment};
use crate::surroundings::Caller;
use crate::version::VERSION;

pub(crate) async fn run(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let status = attach::request_status(&hub_paths(caller)?, VERSION)
        .await
        .map_err(|error| Failure::new("cannot reach the hub", error))?;
    let console = match &status {
        Some(_) => console_url(caller, printer).await,
        None => None,
    };
    let problems = setup::doubled_notices(caller);
    if printer.is_json() {
        let mut json = status_json(status.as_ref(), console.as_deref());
        if !problems.is_empty() {
            json["problems"] = json!(problems);
        }
        return printer.json(&json);
    }
    match status {
        Some(status) => show(&status, console.as_deref(), printer),
        None => printer.done(
            "No hub is running; the first client that starts `switchboard connect` starts one.",
        ),
    }
    printer.notices(&problems);
    Ok(())
}

/// The URL of the console; `None` if the hub serves no loopback port.
async fn console_url(caller: &Caller, printer: &Printer) -> Option<String> {
    command_engine::find_running(caller, printer).await?.console_url().await.ok()
}

fn status_json(status: Option<&HubStatus>, console: Option<&str>) -> Value {
    let Some(status) = status else {
        return json!({ "running": false });
    };
    let client = |client: &AttachedClient| {
        let AttachedClient { session, name, version, transport, folder, since, calls, servers } =
            client;
        let servers: Vec<_> =
            servers.iter().map(|(name, calls)| json!({ "name": name, "calls": calls })).collect();
        json!({
            "session": session, "name": name, "version": version, "transport": transport, "folder": folder, "since": since,
            "calls": calls, "servers": servers,
        })
    };
    json!({
        "running": true,
        "pid": status.pid,
        "version": status.version,
        "since": status.since,
        "calls": status.calls,
        "sessions": status.sessions,
        "console": console,
        "clients": status.attached.iter().map(client).collect::<Vec<_>>(),
    })
}

fn show(status: &HubStatus, console: Option<&str>, printer: &Printer) {
    let HubStatus { pid, version, since, clients, calls, .. } = status;
    printer.line(format_args!(
        "{BOLD}The hub{BOLD:#} is process {pid} of version {}, since {}: {}, {} running",
        sanitize::sanitize_line(version),
        moment(*since),
        show::count(*clients, "client"),
        show::count(*calls, "call"),
    ));
    if status.sessions > 0 {
        let sessions = show::count(status.sessions, "session");
        let verb = if status.sessions == 1 { "is" } else { "are" };
        printer.line(format_args!("{sessions} {verb} open over the network"));
    }
    if let Some(console) = console {
        printer.line(format_args!("Console: {BOLD}{console}{BOLD:#} (one-time link, 15 minutes)"));
    }
    if status.attached.is_empty() {
        return;
    }
    printer.line("");
    let head = ["CLIENT", "VIA", "FOLDER", "SINCE", "RUNNING", "HAS CALLED"].map(str::to_owned);
    let rows = status.attached.iter().map(|client| row(client, printer));
    for (number, row) in show::columns(std::iter::once(head).chain(rows)).iter().enumerate() {
        match number {
            0 => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            _ => printer.line(row),
        }
    }
}

fn row(client: &AttachedClient, printer: &Printer) -> [String; 6] {
    let name = format!("{} {}", client.name, client.version);
    let name = match name.trim() {
        "" => "-".to_owned(),
        name => show::shorten(&sanitize::sanitize_line(name), 40),
    };
    let used =
        client.servers.iter().map(|(server, calls)| format!("{} ({calls})", show::word(server)));
    let used = used.collect::<Vec<_>>().join(", ");
    [
        name,
        if client.transport.is_empty() { "-".to_owned() } else { show::word(&client.transport) },
        printer.places.path(&client.folder),
        moment(client.since),
        client.calls.to_string(),
        if used.is_empty() { "-".to_owned() } else { used },
    ]
}
