//! The tables, on the terminal and in the documentation.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::{Effort, calls, cold};

/// Where our part of the page begins; what stands before it is not ours.
const HEADING: &str = "\n## The engine\n";

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
    let path = documents().join("benchmarks.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    let others = page.split(HEADING).next().unwrap_or(&page).trim_end().to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ours = format!(
        "{HEADING}\n\
         What a call costs through the engine (name found, arguments checked against the schema, a rule that allows\n\
         it, limits of results; no hooks) over the same call on a bare wire session. Both speak to the same echo, take\n\
         turns call by call, and a figure is the median of {} calls.\n\n\
         Below it, the time from nothing to every tool listed, beside the same programs started by hand with bare\n\
         pipes, `initialize` and `tools/list`, three at a time in both cases; the engine also starts a guard for each,\n\
         and asks for the newer protocol first. Medians of {} starts. The last column is what this process grew by\n\
         for each server, the servers themselves not counted.\n\n\
         Written by `cargo xtask bench engine --write` on {}, {}, {cores} cores. Only ratios mean\n\
         anything on another machine.\n\n\
         {tables}\n",
        effort.calls,
        effort.starts,
        date(),
        processor(),
    );
    std::fs::write(&path, format!("{others}\n{ours}")).expect("the page can be written");
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

/// Cargo names our crate's folder when it runs us.
fn documents() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("run by cargo");
    PathBuf::from(own).join("../../docs")
}

fn date() -> String {
    let said = Command::new("date").args(["-u", "+%F"]).output();
    said.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}

fn processor() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find_map(|line| {
        let (name, model) = line.split_once(':')?;
        (name.trim() == "model name").then(|| model.trim().to_owned())
    });
    model.unwrap_or_else(|| "an unnamed processor".to_owned())
}
