//! The table of results, on the terminal and in the documentation.

use std::{fmt::Write, time::Duration};

use switchboard_testkit::benchmarks::{date, documents, processor};

use crate::{
    CONTENDERS,
    measure::{Row, TURNS},
};

/// Renders Markdown: ratios relative to ours, and the time of ours.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut out = format!(
        "| message | task | {} | time of ours | throughput of ours |\n|---|---|{}---:|---:|",
        CONTENDERS.join(" | "),
        "---:|".repeat(CONTENDERS.len())
    );
    for row in rows {
        let ours = row.medians[0];
        let _ = write!(out, "\n| {} | {} |", row.input, row.task);
        for median in row.medians {
            let _ = write!(out, " {} |", ratio(median, ours));
        }
        let _ = write!(out, " {} | {} |", time(ours), throughput(row.bytes, ours));
    }
    out
}

fn ratio(theirs: Duration, ours: Duration) -> String {
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    if (ratio - 1.0).abs() < f64::EPSILON {
        return "1".to_owned();
    }
    format!("{ratio:.1}")
}

fn time(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos < 10_000 {
        return format!("{nanos} ns");
    }
    format!("{:.1} µs", duration.as_secs_f64() * 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn throughput(bytes: usize, duration: Duration) -> String {
    format!("{:.0} MB/s", bytes as f64 / duration.as_secs_f64() / 1e6)
}

/// Writes the table to the documentation.
pub(crate) fn write(table: &str) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let page = format!(
        "# Benchmarks\n\n\
         This table shows the cost of forwarding a message: with our envelope, with a `serde_json::Value` tree, and with the\n\
         message type of rmcp 3.8.0, read and written as its transports do. Times are ratios to ours; larger is slower. Every\n\
         contender checks the same bytes for UTF-8 and reads id and method; if it forwards, it also writes the whole message.\n\
         Before each measurement, a check compares what all of them wrote. They take turns in one thread. The times are\n\
         processor time, and each figure is the median of {TURNS} turns.\n\n\
         Written by `cargo xtask bench wire --write` on {}, {}, {cores} cores. On another machine,\n\
         only ratios are comparable.\n\n\
         {table}\n",
        date(),
        processor(),
    );
    let path = documents().join("benchmarks.md");
    std::fs::create_dir_all(documents()).expect("the folder can be made");
    // Other benchmarks have their own headings below.
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let others = before.find("\n## ").map_or("", |at| &before[at..]);
    std::fs::write(&path, page + others).expect("the page can be written");
    println!("\nwritten to docs/benchmarks.md");
}
