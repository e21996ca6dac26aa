//! `switchboard doctor`: the state of all servers, configuration problems, and the next step for each.
//!
//! Used by `commands::run`. It changes nothing; rows are made by `commands::list`.

mod auth;
mod extensions;

use std::sync::Arc;

use futures_util::future::try_join_all;
use serde::Serialize;
use serde_json::json;
use switchboard_config::{DesiredServer, ProblemSeverity, StartPolicy, command_line};
use switchboard_core::WorkspaceSnapshot;
use switchboard_core::engine::{ListsArrival, ServerSnapshot};

use super::list::{ServerRow, TableWidths, is_told, is_unasked, status};
use super::{setup, tools};
use crate::args::{self, Doctor};
use crate::command_engine::{self, CommandEngine, FallbackServer, WaitTarget};
use crate::environment;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, GREEN, Printer};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::state_check::unwritable_state;
use crate::surroundings::Caller;
use crate::wait;

/// How much of a warning the summary repeats.
const MAX_SUMMARY_CHARS: usize = 74;

/// One examined server; an element of `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExaminedServer {
    #[serde(flatten)]
    row: ServerRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// All process ids of the server, if there are several.
    #[serde(skip_serializing_if = "is_one_or_none")]
    pids: Vec<u32>,
    tool_count: usize,
    cost: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<std::path::PathBuf>,
    #[serde(skip)]
    is_connected: bool,
}

pub(super) async fn run(
    doctor: &Doctor,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    if let Some(args::Examined::Auth { server }) = &doctor.part {
        return auth::run(server, caller, printer).await;
    }
    command_engine::with_engine(
        caller,
        (printer.result_limit(), StartPolicy::Eager),
        FallbackServer::Nothing,
        async |hub: &CommandEngine| examine(hub, caller, printer).await,
    )
    .await
}

async fn examine(hub: &CommandEngine, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let checking = hub.check_servers(StartPolicy::Eager);
    wait::wait_with_text(printer, "checking every server", checking).await?;
    let snapshot = hub.wait_until_settled(WaitTarget::All, printer).await;
    let asking = check_answers(hub, &snapshot);
    let snapshot = wait::wait_with_text(printer, "asking every server", asking).await?;
    let all = hub.desired.servers.iter();
    let servers: Vec<_> = all.map(|server| examine_server(hub, server, &snapshot)).collect();
    let failing = servers.iter().filter(|server| server.row.is_failing()).count();
    // A problem with a row of its own is not listed again.
    let told = hub.desired.problems.iter().filter(|problem| is_told(problem, &hub.desired));
    let told: Vec<_> = told.map(|problem| Notice::from(problem).message).collect();
    let mut notices = tools::problem_notices(None, hub, caller, &snapshot);
    notices.retain(|notice| !told.contains(&notice.message));
    notices.extend(snapshot.servers.iter().filter_map(unlisted_notice));
    notices.extend(hub.desired.skipped_folders.iter().map(Notice::from));
    notices.extend(environment::missing_variables(&caller.variables, &hub.desired));
    notices.extend(unwritable_state(caller));
    notices.extend(setup::doubled_notices(caller));
    let wrong = notices.iter().filter(|notice| notice.severity >= ProblemSeverity::Warning).count();
    if printer.is_json() {
        printer.json(&json!({
            "servers": servers, "problems": notices, "wrong": failing + wrong,
            "extensions": snapshot.extensions,
            "stateDir": caller.surroundings.state_dir, "configDir": caller.surroundings.config_dir,
        }))?;
    } else {
        print(&servers, hub, caller, printer);
        extensions::print(&snapshot.extensions, printer);
        printer.notices(&notices);
    }
    // Problems come last.
    printer.print_held();
    if failing + wrong == 0 {
        printer.done(format_args!("\n{GREEN}✔{GREEN:#} Nothing is wrong."));
        return Ok(());
    }
    let failing = servers.iter().filter(|server| server.row.is_failing());
    let mut named: Vec<_> = failing.map(|server| server.row.summary()).collect();
    let is_wrong = |notice: &&Notice| notice.severity >= ProblemSeverity::Warning;
    let wrong = notices.iter().filter(is_wrong);
    named.extend(wrong.map(|notice| show::shorten(&notice.message, MAX_SUMMARY_CHARS)));
    let things = if named.len() == 1 {
        "1 thing is".to_owned()
    } else {
        format!("{} things are", named.len())
    };
    Err(Failure::plain(FailureKind::Failed, format!("{things} wrong")).with_items(named))
}

/// A notice about a connected server that has not sent its lists.
fn unlisted_notice(view: &ServerSnapshot) -> Option<Notice> {
    let is_late = matches!(view.lists, ListsArrival::Coming | ListsArrival::Overdue);
    if !is_late || !view.is_usable() {
        return None;
    }
    let message = format!("`{}` is connected but has not sent its lists", view.name);
    let hint = format!("`{}` shows its output", command_line("logs", [&*view.name]));
    Some(Notice::warning(message).with_hint(hint).with_server(&view.name))
}

/// Has the servers asked that were connected only after the check. The snapshot with their answers.
async fn check_answers(
    hub: &CommandEngine,
    snapshot: &WorkspaceSnapshot,
) -> Result<Arc<WorkspaceSnapshot>, Failure> {
    let unasked = snapshot.servers.iter().filter(|view| is_unasked(view));
    try_join_all(unasked.map(|view| hub.check_answers(&view.name))).await?;
    Ok(hub.snapshot())
}

fn examine_server(
    hub: &CommandEngine,
    server: &DesiredServer,
    snapshot: &WorkspaceSnapshot,
) -> ExaminedServer {
    let mut row = ServerRow::new(server, &hub.desired);
    let view = command_engine::view_of(snapshot, server);
    if let Some(status) = view.and_then(|view| status(hub, view)) {
        row.set_status(status);
    }
    if let Some(view) = view {
        row.set_connections(view);
    }
    let is_process = view.is_some_and(|view| view.transport == Some("stdio"));
    let stats = view.and_then(|view| view.stats.as_ref());
    ExaminedServer {
        row,
        pid: stats.and_then(|stats| stats.pid),
        pids: stats.map(|stats| stats.pids.clone()).unwrap_or_default(),
        tool_count: view.map_or(0, |view| view.tools),
        cost: view.map_or(0, |view| view.cost),
        log: if is_process { hub.log(server) } else { None },
        is_connected: view.is_some_and(|view| view.facts.is_some()),
    }
}

fn is_one_or_none(pids: &[u32]) -> bool {
    pids.len() < 2
}

fn print(servers: &[ExaminedServer], hub: &CommandEngine, caller: &Caller, printer: &Printer) {
    let places = &printer.places;
    let row = |what: &str, path| {
        printer.line(format_args!("{BOLD}{what:9}{BOLD:#}{}", places.path(path)));
    };
    row("project", &hub.desired.root);
    row("settings", &caller.surroundings.config_dir);
    row("state", &caller.surroundings.state_dir);
    printer.line("");
    let table = TableWidths::of(&hub.desired).with_places();
    for server in servers {
        server.row.print(&table, printer);
        for line in server.details(printer) {
            printer.line(format_args!("    {DIM}{line}{DIM:#}"));
        }
    }
    if servers.is_empty() {
        printer.line("No servers are configured.");
    }
}

// === impl ExaminedServer ===

impl ExaminedServer {
    fn details(&self, printer: &Printer) -> Vec<String> {
        let mut lines = Vec::new();
        if self.is_connected {
            let answer = self.row.answer_time().filter(|_| !printer.is_verbose());
            lines.extend(self.row.connection().filter(|_| !printer.is_verbose()));
            let process = match &*self.pids {
                [] => None,
                [pid] => Some(format!("process {pid}")),
                pids => {
                    let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
                    Some(format!("processes {}", pids.join(", ")))
                }
            };
            let tools = show::count(self.tool_count, "tool");
            let tools = format!("{tools}, about {} tokens", show::group_thousands(self.cost));
            let facts: Vec<_> = [answer, process, Some(tools)].into_iter().flatten().collect();
            lines.push(facts.join(" · "));
        }
        lines.extend(self.log.as_ref().map(|log| format!("log: {}", printer.places.path(log))));
        lines
    }
}
