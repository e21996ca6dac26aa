//! `switchboard reconnect`: closes and reopens the connection to one server.
//!
//! Used by `commands::run`. The supervisor in `core` does the work.

use serde_json::json;
use switchboard_config::StartPolicy;

use super::list::ConnectedInfo;
use crate::args::Server;
use crate::command_engine::{self, CommandEngine, FallbackServer, WaitTarget};
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

pub(super) async fn run(
    server: &Server,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    command_engine::with_engine(
        caller,
        (printer.result_limit(), StartPolicy::Eager),
        FallbackServer::Builtin,
        async |hub: &CommandEngine| show(&server.server, hub, printer).await,
    )
    .await
}

async fn show(server: &str, hub: &CommandEngine, printer: &Printer) -> Result<(), Failure> {
    hub.reconnect(server).await?;
    let snapshot = hub.wait_until_settled(WaitTarget::Server(server), printer).await;
    if let Some(failure) = command_engine::missing_failure(hub, &snapshot, server) {
        return Err(failure);
    }
    let Some(view) = snapshot.server(server) else { return Ok(()) };
    let connection = ConnectedInfo::of(view);
    let problems = snapshot.problems.iter().filter(|p| p.server.as_deref() == Some(server));
    let problems: Vec<_> = problems.map(Notice::from).collect();
    if printer.is_json() {
        return printer.json(&json!({
            "name": view.name, "state": view.status.word(), "connection": connection,
            "toolCount": view.tools, "cost": view.cost, "problems": problems,
        }));
    }
    let said = connection.map(|connection| connection.to_string()).unwrap_or_default();
    let tools = show::count(view.tools, "tool");
    printer
        .done(format_args!("connected to {BOLD}{}{BOLD:#}: {said}, {tools}", show::word(server)));
    printer.notices(&problems);
    Ok(())
}
