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
         What a message costs to forward: our envelope beside a `serde_json::Value` tree and beside the message\n\
         type of rmcp 3.8.0, read and written as its transports do. Times are ratios, ours being 1; larger is slower.\n\
         Every contender checks the same bytes for UTF-8, learns id and method, and where it forwards, writes the\n\
         whole message; that all of them wrote the same is checked before each measurement. They take turns in one\n\
         thread, whose time on the processor is counted, and a figure is the median of {TURNS} turns.\n\n\
         Written by `cargo xtask bench wire --write` on {}, {}, {cores} cores. Only ratios mean\n\
         anything on another machine.\n\n\
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
