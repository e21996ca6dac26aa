//! `switchboard list`: all configured servers, each with the state of its connection.
//!
//! Used by `commands::run`; `doctor` and `reconnect` use its rows. It changes nothing.

mod check;
mod progress;
mod row;

use serde_json::json;
use switchboard_config::{ConfigProblem, Desired, ProblemSeverity, StartPolicy};

use super::problems;
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
        let rows = rows(&desired);
        let mut table = RowPrinter::new(&desired, printer);
        for row in &rows {
            table.print(row);
        }
        return finish(list, &rows, &desired, caller, printer);
    }
    let start = if list.check { StartPolicy::Eager } else { StartPolicy::Lazy };
    command_engine::with_engine(
        caller,
        (ResultLimit::Screen, start),
        FallbackServer::Nothing,
        async |hub: &CommandEngine| {
            hub.check_servers(start).await?;
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
        printer.notices(&problems(desired));
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

/// Prints the rows in the order of the configuration, each once.
struct RowPrinter<'a> {
    table: TableWidths,
    printer: &'a Printer,
    printed: usize,
}

/// A row for each server.
fn rows(desired: &Desired) -> Vec<ServerRow> {
    desired.servers.iter().map(|server| ServerRow::new(server, desired)).collect()
}

/// Prints each server as soon as its state and those of all servers before it are known.
async fn check_servers(hub: &CommandEngine, printer: &Printer) -> Result<Vec<ServerRow>, Failure> {
    let mut table = RowPrinter::new(&hub.desired, printer);
    let mut rows = rows(&hub.desired);
    table.print_known(&rows);
    check::all(hub, printer, |index, status, view, problems| {
        rows[index].set_status(status);
        if let Some(view) = view {
            rows[index].set_connections(view);
        }
        rows[index].set_plugin_problems(problems);
        table.print_known(&rows);
    })
    .await?;
    table.print_rest(&rows);
    Ok(rows)
}

/// Prints the notices below the table.
fn print_notices(rows: &[ServerRow], desired: &Desired, caller: &Caller, printer: &Printer) {
    let mut errors = desired.problems.iter().map(|problem| problem.severity);
    let is_broken = errors.any(|severity| severity == ProblemSeverity::Error);
    if rows.is_empty() && desired.exclusive {
        printer.done("The administrator of this machine allows no servers.");
    } else if rows.is_empty() && !is_broken {
        printer.done("No servers are configured.");
        printer.notices(&[Notice::note(
            "add a server with `switchboard add NAME COMMAND` or `switchboard add NAME URL`",
        )]);
    }
    if printer.is_verbose() {
        for entry in &desired.shadowed {
            printer.line(format_args!(
                "{DIM}  {} of the {} scope: replaced by `{}` ({}){DIM:#}",
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
    let told = servers.filter_map(|server| desired.own_problem(server));
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
            "{count} other {noun} of this project await approval and have no effect yet"
        ))
        .with_hint("`switchboard approve` shows them")
    })
}

// === impl RowPrinter ===

impl<'a> RowPrinter<'a> {
    fn new(desired: &Desired, printer: &'a Printer) -> Self {
        Self { table: TableWidths::of(desired), printer, printed: 0 }
    }

    /// Prints the rows up to the first one whose state is not known yet.
    fn print_known(&mut self, rows: &[ServerRow]) {
        while let Some(row) = rows.get(self.printed).filter(|row| !row.is_ready()) {
            self.print(row);
        }
    }

    /// Prints the rows that are left, also those of servers that were not waited for to the end.
    fn print_rest(&mut self, rows: &[ServerRow]) {
        for row in &rows[self.printed..] {
            self.print(row);
        }
    }

    fn print(&mut self, row: &ServerRow) {
        self.printed += 1;
        if !self.printer.is_json() {
            row.print(&self.table, self.printer);
        }
    }
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
