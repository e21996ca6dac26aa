//! `switchboard top`: calls, latencies, errors and tokens of the last hour by server and tool, live or once.
//!
//! Used by `commands::run`. `ui::top` has the live screen; this module writes for pipes and programs. It does not start a
//! hub: a hub that has just started has nothing to show.

use serde_json::{Value, json};
use switchboard_hub::attach::AttachOptions;

use crate::args::{Global, Top};
use crate::command_engine::{find_running, hub_failure};
use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;
use crate::ui;
use crate::ui::top_table::{RowLevel, TopOrder, TopRow, rows};

pub(crate) async fn run(
    top: &Top,
    global: &Global,
    caller: &Caller,
    options: AttachOptions,
    printer: &Printer,
) -> Result<(), Failure> {
    if !top.once && !printer.is_json() && ui::has_terminal() {
        return ui::run_top(options, global).await;
    }
    let Some(hub) = find_running(caller, printer).await else {
        if printer.is_json() {
            return printer.json(&json!({ "running": false }));
        }
        printer.done(
            "No hub is running; the first client that starts `switchboard connect` starts one.",
        );
        return Ok(());
    };
    let report =
        hub.traffic().await.map_err(|error| hub_failure("cannot read the hub's counts", error))?;
    let rows = rows(&report, None, ui::unix_seconds(), TopOrder::Calls);
    if printer.is_json() {
        return printer.json(&to_json(&rows));
    }
    for line in ui::top_text(&rows) {
        printer.line(line);
    }
    Ok(())
}

/// The rows by level; each has a name: a server, a tool or a client.
fn to_json(rows: &[TopRow]) -> Value {
    let of_level = |level: RowLevel| -> Vec<Value> {
        let rows = rows.iter().filter(|row| row.level == level);
        rows.map(row_json).collect()
    };
    json!({
        "running": true,
        "total": of_level(RowLevel::Total).into_iter().next(),
        "servers": of_level(RowLevel::Server),
        "tools": of_level(RowLevel::Tool),
    })
}

fn row_json(row: &TopRow) -> Value {
    let counts = &row.counts;
    let latency = counts.latency.map(|latency| {
        json!({
            "p50Micros": latency.p50_micros, "p95Micros": latency.p95_micros, "p99Micros": latency.p99_micros,
        })
    });
    json!({
        "name": row.name, "callsPerMinute": row.calls_per_minute, "calls": counts.calls, "errors": counts.errors,
        "refused": counts.refused, "cancelled": counts.cancelled, "tokens": counts.tokens, "latency": latency,
        "perMinute": row.per_minute,
    })
}
