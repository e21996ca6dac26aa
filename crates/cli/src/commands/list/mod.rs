//! `switchboard list`: every server, whatever became of it.

mod check;
mod connect;
mod progress;
mod row;

use serde_json::json;
use switchboard_config::{Desired, Problem};

use super::{own_problem, problems};
use crate::args::List;
use crate::notice::Notice;
use crate::printer::{DIM, Printer};
use crate::report::{self, Failure};
use crate::surroundings::Caller;
use row::{Row, Table};

pub(super) async fn run(list: &List, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let desired = caller.workspace.desired();
    let rows = tokio::select! {
        rows = rows(list, &desired, caller, printer) => rows?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::interrupted()),
    };
    if printer.is_json() {
        printer.json(&shown(&rows, &desired, &caller.notices))?;
    } else {
        after(&rows, &desired, caller, printer);
    }
    let failing = rows.iter().filter(|row| row.is_failing()).count();
    if list.check && failing > 0 {
        let enabled = rows.iter().filter(|row| row.is_enabled()).count();
        let message = format!("{failing} of {enabled} enabled servers are not connected");
        return Err(Failure::plain(report::Kind::Failed, message));
    }
    Ok(())
}

/// Prints each server as soon as there is something to say about it.
async fn rows(
    list: &List,
    desired: &Desired,
    caller: &Caller,
    printer: &Printer,
) -> Result<Vec<Row>, Failure> {
    let table = Table::of(desired);
    let mut rows: Vec<_> = desired.servers.iter().map(|server| Row::new(server, desired)).collect();
    let tell = |row: &Row| {
        if !printer.is_json() {
            row.print(&table, printer);
        }
    };
    let is_checked = |row: &Row| row.is_ready() && !list.no_check;
    rows.iter().filter(|row| !is_checked(row)).for_each(tell);
    if !list.no_check {
        check::all(desired, caller, printer, |index, status| {
            rows[index].checked(status);
            tell(&rows[index]);
        })
        .await?;
    }
    Ok(rows)
}

/// What is worth saying besides the servers.
fn after(rows: &[Row], desired: &Desired, caller: &Caller, printer: &Printer) {
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
                switchboard_wire::sanitize::line(&entry.behind),
                printer.places.location(&entry.at)
            ));
        }
    }
    let untold = desired.problems.iter().filter(|problem| !is_told(problem, desired));
    let notices: Vec<_> = untold
        .map(Notice::from)
        .chain(others_waiting(desired))
        .chain(check::not_numbers(desired, caller))
        .chain(caller.notices.iter().cloned())
        .collect();
    printer.notices(&notices);
}

/// Whether the row of an invalid server says it already.
fn is_told(problem: &Problem, desired: &Desired) -> bool {
    let servers = desired.servers.iter();
    let told = servers.filter_map(|server| own_problem(server, desired));
    told.into_iter().any(|told| std::ptr::eq(told, problem))
}

/// Hooks, rules and the like have no row.
fn others_waiting(desired: &Desired) -> Option<Notice> {
    let others = desired.pending.iter();
    let others = others.filter(|pending| pending.item.kind != switchboard_config::ItemKind::Server);
    let count = others.count();
    (count > 0).then(|| {
        let noun = if count == 1 { "thing" } else { "things" };
        Notice::note(format!(
            "{count} other {noun} of this project await approval and do not count"
        ))
        .hinted("`switchboard approve` shows them")
    })
}

/// The shape of `--json`.
fn shown(rows: &[Row], desired: &Desired, notices: &[Notice]) -> serde_json::Value {
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
