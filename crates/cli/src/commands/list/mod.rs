//! `switchboard list`: all configured servers, each with the state of its connection.
//!
//! Used by `commands::run`; `doctor` and `reconnect` use its rows. It changes nothing.

mod check;
mod progress;
mod row;

use serde_json::json;
use switchboard_config::{ConfigProblem, Desired};

use super::{own_problem, problems};
use crate::args::List;
use crate::command_engine::{self, CommandEngine, FallbackServer, ResultLimit};
use crate::notice::Notice;
use crate::printer::{DIM, Printer};
use crate::report::{self, Failure};
use crate::surroundings::Caller;
pub(super) use check::{is_unasked, status};
pub(super) use row::{ConnectedInfo, ServerRow, TableWidths};

pub(super) async fn run(list: &List, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    if list.no_check {
        let (desired, _) = caller.desired();
        let rows = rows(&desired, printer, |_| false);
        return finish(list, &rows, &desired, caller, printer);
    }
    command_engine::with_engine(
        caller,
        ResultLimit::Screen,
        FallbackServer::Nothing,
        async |hub: &CommandEngine| {
            hub.check_servers().await?;
            let rows = check_servers(hub, printer).await?;
            finish(list, &rows, &hub.desired, caller, printer)
        },
    )
    .await
}

/// Prints the result, and fails with `--check` if a server is not connected.
fn finish(
    list: &List,
    rows: &[ServerRow],
    desired: &Desired,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    if printer.is_json() {
        printer.json(&list_json(rows, desired, &caller.notices))?;
    } else {
        print_notices(rows, desired, caller, printer);
    }
    let failing = rows.iter().filter(|row| row.is_failing()).count();
    if list.check && failing > 0 {
        let enabled = rows.iter().filter(|row| row.is_enabled()).count();
        let message = format!("{failing} of {enabled} enabled servers are not connected");
        return Err(Failure::plain(report::FailureKind::Failed, message));
    }
    Ok(())
}

/// A row for each server; prints all but those `left` for later.
fn rows(desired: &Desired, printer: &Printer, left: impl Fn(&ServerRow) -> bool) -> Vec<ServerRow> {
    let table = TableWidths::of(desired);
    let rows: Vec<_> =
        desired.servers.iter().map(|server| ServerRow::new(server, desired)).collect();
    if !printer.is_json() {
        rows.iter().filter(|row| !left(row)).for_each(|row| row.print(&table, printer));
    }
    rows
}

/// Prints each server as soon as its state is known.
async fn check_servers(hub: &CommandEngine, printer: &Printer) -> Result<Vec<ServerRow>, Failure> {
    let table = TableWidths::of(&hub.desired);
    let mut rows = rows(&hub.desired, printer, ServerRow::is_ready);
    check::all(hub, printer, |index, status, view, problems| {
        rows[index].set_status(status);
        if let Some(view) = view {
            rows[index].set_connections(view);
        }
        rows[index].set_plugin_problems(problems);
        if !printer.is_json() {
            rows[index].print(&table, printer);
        }
    })
    .await?;
    Ok(rows)
}

/// Prints the notices below the table.
fn print_notices(rows: &[ServerRow], desired: &Desired, caller: &Caller, printer: &Printer) {
    if rows.is_empty() && desired.exclusive {
        printer.done("the administrator of this machine says which servers there are: none");
    } else if rows.is_empty() {
        printer.done("no servers are configured");
        printer.notices(&[Notice::note(
            "a server is added with `switchboard add NAME COMMAND`, or `add NAME URL`",
        )]);
    }
    if printer.is_verbose() {
        for entry in &desired.shadowed {
            printer.line(format_args!(
                "{DIM}  {} of the {} scope: `{}` stands in for it ({}){DIM:#}",
                crate::show::word(&entry.name),
                entry.scope,
                switchboard_wire::sanitize::sanitize_line(&entry.behind),
                printer.places.location(&entry.at)
            ));
        }
    }
    let untold = desired.problems.iter().filter(|problem| !is_told(problem, desired));
    let notices: Vec<_> = untold
        .map(Notice::from)
        .chain(others_waiting(desired))
        .chain(command_engine::not_numbers(desired, caller))
        .chain(caller.notices.iter().cloned())
        .collect();
    printer.notices(&notices);
}

/// Whether the row of an invalid server shows this problem already.
pub(super) fn is_told(problem: &ConfigProblem, desired: &Desired) -> bool {
    let servers = desired.servers.iter();
    let told = servers.filter_map(|server| own_problem(server, desired));
    told.into_iter().any(|told| std::ptr::eq(told, problem))
}

/// A notice about hooks, rules and other items that await approval; they have no row.
fn others_waiting(desired: &Desired) -> Option<Notice> {
    let others = desired.pending.iter();
    let others =
        others.filter(|pending| pending.item.kind != switchboard_config::ApprovalItemKind::Server);
    let count = others.count();
    (count > 0).then(|| {
        let noun = if count == 1 { "thing" } else { "things" };
        Notice::note(format!(
            "{count} other {noun} of this project await approval and do not count"
        ))
        .with_hint("`switchboard approve` shows them")
    })
}

/// The output of `--json`.
fn list_json(rows: &[ServerRow], desired: &Desired, notices: &[Notice]) -> serde_json::Value {
    let mut problems = problems(desired);
    problems.extend_from_slice(notices);
    let shadowed: Vec<_> = desired
        .shadowed
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name, "scope": entry.scope, "at": entry.at, "behind": entry.behind,
            })
        })
        .collect();
    let pending: Vec<_> = desired
        .pending
        .iter()
        .map(|pending| {
            json!({
                "kind": pending.item.kind, "name": pending.item.name, "at": pending.item.at,
            })
        })
        .collect();
    json!({
        "servers": rows, "shadowed": shadowed, "pending": pending, "problems": problems,
    })
}
