//! `switchboard logs --audit`: calls from the audit log, with caller, decision and outcome.
//!
//! Used by `commands::logs`. It does not write the log (`core::audit` does).

use std::time::SystemTime;

use serde_json::json;
use switchboard_core::audit::{self, AuditCallLine, AuditEntry, AuditFilter, AuditLog};
use switchboard_wire::sanitize;

use crate::args;
use crate::command_engine;
use crate::notice::Notice;
use crate::printer::{DIM, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;
use crate::wait::EndSignals;

/// The longest name in the table.
const MAX_NAME_CHARS: usize = 60;

pub(super) async fn run(
    asked: &args::Logs,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let failed = |error| Failure::new("cannot read the audit log", error);
    let folder = caller.surroundings.state_dir.join("logs");
    let filter = filter(asked);
    // Followed before the end is read, so that no line falls between the two.
    let follow = if asked.follow {
        Some(audit::follow_audit_log(&folder, filter.clone()).await.map_err(failed)?)
    } else {
        None
    };
    command_engine::settle(caller, printer).await;
    let history = audit::read_audit_log(&folder, filter, asked.lines).await.map_err(failed)?;
    let path = AuditLog::path(&folder);
    match (printer.is_json(), &follow) {
        (true, None) => {
            let (calls, unreadable) = (&history.entries, history.unreadable);
            return printer
                .json(&json!({ "file": path, "calls": calls, "unreadable": unreadable }));
        }
        _ => print(&history.entries, TableHead::Visible, printer)?,
    }
    if history.entries.is_empty() {
        let path = printer.places.path(&path);
        printer.done(format_args!("no calls yet; they are recorded in {path}"));
    }
    if history.unreadable > 0 {
        let lines = show::count(history.unreadable, "line");
        printer.notices(&[Notice::warning(format!("{lines} of the log cannot be read"))]);
    }
    let Some(mut follow) = follow else { return Ok(()) };
    let mut shown = history.entries;
    let mut ending = EndSignals::listen();
    loop {
        tokio::select! {
            more = follow.next() => {
                let mut more = more.map_err(failed)?;
                // Lines that were written in between were shown already; they come first, and once.
                more.retain(|entry| !shown.contains(entry));
                shown.clear();
                print(&more, TableHead::Left, printer)?;
            }
            () = ending.wait_for_end() => return Err(Failure::interrupted()),
        }
    }
}

fn filter(asked: &args::Logs) -> AuditFilter {
    let server = asked.only.as_ref().or(asked.server.as_ref());
    let filter = match server {
        Some(server) => AuditFilter::default().of_server(server),
        None => AuditFilter::default(),
    };
    match asked.since.and_then(|since| SystemTime::now().checked_sub(since)) {
        Some(since) => filter.since(since),
        None => filter,
    }
}

/// Whether the table has a head.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableHead {
    Visible,
    Left,
}

/// Prints a table for people, or one line of JSON for each call with `--json --follow`.
fn print(entries: &[AuditEntry], head: TableHead, printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        for entry in entries {
            let line = serde_json::to_string(entry)
                .map_err(|error| Failure::new("cannot write JSON", error))?;
            printer.line(crate::printer::escaped(&line));
        }
        return Ok(());
    }
    if entries.is_empty() {
        return Ok(());
    }
    let names =
        ["TIME", "WHO", "CALLED", "DECISION", "OUTCOME", "TOOK", "BYTES"].map(str::to_owned);
    let rows = std::iter::once(names).chain(entries.iter().map(row));
    for (number, row) in show::columns(rows).iter().enumerate() {
        match (number, head) {
            (0, TableHead::Visible) => printer.line(format_args!("{DIM}{row}{DIM:#}")),
            (0, TableHead::Left) => {}
            _ => printer.line(row),
        }
    }
    Ok(())
}

fn row(entry: &AuditEntry) -> [String; 7] {
    match entry {
        AuditEntry::Call(line) => call_row(line),
        AuditEntry::Lost(lost) => {
            let what = format!(
                "{} not written: {}",
                show::count(usize::try_from(lost.lost).unwrap_or(usize::MAX), "call"),
                lost.why
            );
            let mut row = [const { String::new() }; 7];
            (row[0], row[1]) = (time(&lost.time), "-".to_owned());
            row[2] = sanitize::sanitize_line(&what).into_owned();
            row
        }
    }
}

fn call_row(line: &AuditCallLine) -> [String; 7] {
    let clean = |text: &str| show::shorten(&sanitize::sanitize_line(text), MAX_NAME_CHARS);
    let who = match line.client.as_str() {
        "" => clean(&line.principal),
        client => format!("{} ({})", clean(&line.principal), clean(client)),
    };
    let called = match line.method.as_str() {
        "tools/call" => clean(&line.name),
        method => clean(&format!("{method} {}", line.name)),
    };
    let decision = [&line.decision, &line.by, &line.rule].map(|word| word.as_deref().unwrap_or(""));
    let decision = match decision.join(" ").trim() {
        "" => "-".to_owned(),
        words => clean(words),
    };
    let outcome = match &line.error {
        Some(error) => format!("{}: {}", clean(&line.outcome), clean(error)),
        None => clean(&line.outcome),
    };
    let bytes = format!("{} → {}", line.sent, line.received);
    [time(&line.time), who, called, decision, outcome, duration_text(line.micros), bytes]
}

/// Shortens a timestamp of the log to `2026-07-28 09:05:07`.
fn time(stamp: &str) -> String {
    let stamp = sanitize::sanitize_line(stamp);
    stamp.get(..19).unwrap_or(&stamp).replace('T', " ")
}

fn duration_text(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{}.{} ms", micros / 1_000, micros / 100 % 10),
        _ => format!("{}.{} s", micros / 1_000_000, micros / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_things_take() {
        for (micros, shown) in
            [(7, "7 µs"), (1_000, "1.0 ms"), (12_345, "12.3 ms"), (61_999_999, "61.9 s")]
        {
            assert_eq!(duration_text(micros), shown);
        }
    }
}
