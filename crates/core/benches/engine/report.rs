//! The tables, on the terminal and in the documentation.

use std::fmt::Write as _;
use std::time::Duration;

use switchboard_testkit::benchmarks::{date, processor, write_section};

use crate::{Effort, calls, cold};

/// Our part of the page.
const HEADING: &str = "## The engine";

pub(crate) fn tables(calls: &[calls::Row], cold: &[cold::Row]) -> String {
    let mut out = "| server | payload | bare session | engine | added | ratio |\n\
                   |---|---:|---:|---:|---:|---:|"
        .to_owned();
    for row in calls {
        let added = row.engine.saturating_sub(row.bare);
        let _ = write!(
            out,
            "\n| {} | {} | {} | {} | {} | {} |",
            row.server,
            size(row.bytes),
            time(row.bare),
            time(row.engine),
            time(added),
            ratio(row.engine, row.bare)
        );
    }
    out.push_str(
        "\n\n| stdio servers | by hand | engine | ratio | memory for each |\n\
         |---:|---:|---:|---:|---:|",
    );
    for row in cold {
        let _ = write!(
            out,
            "\n| {} | {} | {} | {} | {} |",
            row.servers,
            time(row.by_hand),
            time(row.engine),
            ratio(row.engine, row.by_hand),
            size(row.memory)
        );
    }
    out
}

/// Puts the tables where people look for them.
pub(crate) fn write(tables: &str, effort: Effort) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ours = format!(
        "The first table compares a call through the engine with the same call on a bare wire session. The engine finds the name,\n\
         checks the arguments against the schema, applies a rule that allows the call, and applies the limits of results; there\n\
         are no hooks. Both call the same echo server, in turns call by call. Each figure is the median of {} calls.\n\n\
         The second table shows the time from the start until every tool is listed. *By hand* starts the same programs with bare\n\
         pipes, `initialize` and `tools/list`. Both start three programs at a time; the engine also starts a guard for each, and\n\
         tries the newer protocol first. The figures are medians of {} starts. The last column is the memory that the process of\n\
         the engine gains per server, without the server itself.\n\n\
         Written by `cargo xtask bench engine --write` on {}, {}, {cores} cores. On another machine,\n\
         only ratios are comparable.\n\n\
         {tables}",
        effort.calls,
        effort.starts,
        date(),
        processor(),
    );
    write_section(HEADING, &ours);
    println!("\nwritten to docs/benchmarks.md");
}

fn ratio(ours: Duration, theirs: Duration) -> String {
    format!("{:.2}", ours.as_secs_f64() / theirs.as_secs_f64())
}

fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 1e4 { format!("{micros:.1} µs") } else { format!("{:.1} ms", micros / 1e3) }
}

fn size(bytes: usize) -> String {
    if bytes < 1024 { format!("{bytes} B") } else { format!("{} KiB", bytes / 1024) }
}
