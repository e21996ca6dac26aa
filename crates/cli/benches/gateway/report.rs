//! The tables, on the terminal and in the documentation.

use std::fmt::Write as _;
use std::time::Duration;

use switchboard_testkit::benchmarks::{date, documents, made, processor, write_section};

use crate::Effort;
use crate::chart;
use crate::client::Era;
use crate::connect::Medians;
use crate::contender::Contender;
use crate::measure::{Between, CONNECTIONS, Calls, Rest, Turn, WithThreads};
use crate::process::MemoryUse;

/// Everything that was seen.
pub(crate) struct Report {
    pub(crate) stdio: Vec<Calls>,
    pub(crate) http: Vec<Calls>,
    pub(crate) rest: Vec<Rest>,
    pub(crate) threads: Vec<WithThreads>,
    pub(crate) connect: Connect,
    pub(crate) effort: Effort,
}

/// A client on standard streams, with processors that sleep while nothing runs, and with processors that do not.
pub(crate) struct Connect {
    pub(crate) asleep: Medians,
    pub(crate) awake: Medians,
}

const HEADING: &str = "## The gateway";
const CHART: &str = "benchmarks-gateway.svg";
/// Where in [`CONNECTIONS`] the numbers are that ratios are made of.
const SIXTEEN: usize = 1;

// === impl Report ===

impl Report {
    pub(crate) fn tables(&self) -> String {
        format!(
            "The echo server on standard streams:\n\n{}\n\nThe echo server over HTTP:\n\n{}\n\n\
             Large results and long lists, memory, and the time from the start to the first answer:\n\n{}\n\n\
             Switchboard with one, two and four threads that carry out calls. Calls per second are relative to one thread: calls of\n\
             64 bytes on 16 connections, 1 MiB results and 1,000-tool lists on four:\n\n{}\n\n\
             The median time of one call from a client on standard streams. Each message between processes wakes a sleeping\n\
             processor; in the second row an idle process of the lowest priority keeps each processor awake:\n\n\
             | | to the server itself | `connect --standalone` | `connect` | added by the hub |\n\
             |---|---:|---:|---:|---:|\n{}\n{}",
            calls(&self.stdio),
            calls(&self.http),
            rest(&self.rest),
            threads(&self.threads),
            connect("processors may sleep", &self.connect.asleep),
            connect("processors awake", &self.connect.awake),
        )
    }

    /// Puts the tables and the chart where people look for them.
    pub(crate) fn write(&self, is_shipped: bool) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let text = format!(
            "The tables compare `switchboard serve`{} with other gateways before the same echo server. Switchboard checks the schema,\n\
             applies a rule that allows the call, and applies the limits of results. The echo server is built with the official SDK, as\n\
             most servers are. Each program runs in a process of its own, on loopback. *Direct* is the echo server itself over HTTP. The\n\
             *floor* is a bare gateway on one thread that parses the envelope, remaps ids and splices bytes, and does nothing else. The\n\
             *plain rmcp gateway* connects the official SDK's server to its client.\n\n\
             A modern call costs the echo server half as much again as a legacy call. Therefore client and server speak the same era,\n\
             2025-11-25 unless the row says otherwise, and each row of Switchboard is compared with the floor before a server of the same\n\
             era; *modern client* and *modern server* are Switchboard between the eras. Calls carry 64 bytes. Each connection has a\n\
             session of its own, and makes one call after the other. Contenders take turns of {} ms, and each figure is the median of {}\n\
             turns. *Added* is the difference from direct, on one connection.\n\n\
             ![Calls per second on 16 connections]({CHART})\n\n\
             Large results have 1 MiB, on four connections; Switchboard runs with `--result-limit 0`. It lists 1,000 tools from its\n\
             catalog; the other gateways ask the server each time. Memory is the RSS of the gateway's own process and, in brackets, its private\n\
             memory: *idle* two seconds after its first call, and with 1,000 sessions that have each made one call.\n\n\
             Written by `cargo xtask bench gateway --write` on {}, {}, {cores} cores, which the\n\
             load, the gateway and the server share. On another machine, only ratios are comparable.\n\n\
             {}",
            made(is_shipped),
            self.effort.turn.as_millis(),
            self.effort.turns,
            date(),
            processor(),
            self.tables(),
        );
        let bars: Vec<_> = self
            .stdio
            .iter()
            .map(|row| chart::Bar {
                name: name(&row.between).replace('*', ""),
                value: row.turns[SIXTEEN].per_second,
                ours: matches!(row.between.contender, Contender::Ours(_)),
            })
            .collect();
        let drawn = chart::draw("Calls per second on 16 connections", &bars);
        std::fs::write(documents().join(CHART), drawn).expect("the chart can be written");
        write_section(HEADING, &text);
        println!("\nwritten to docs/benchmarks.md");
    }
}

fn name(between: &Between) -> String {
    let eras = match (between.client, between.server) {
        (Era::Legacy, Era::Legacy) => "",
        (Era::Modern, Era::Modern) => ", modern",
        (Era::Modern, Era::Legacy) => ", modern client",
        (Era::Legacy, Era::Modern) => ", modern server",
    };
    between.contender.name() + eras
}

fn calls(rows: &[Calls]) -> String {
    let mut out = String::from("| |");
    for number in CONNECTIONS {
        let _ = write!(out, " calls/s at {number} |");
    }
    out.push_str(" of the floor at 16 | CPU per call at 16 | added p50 | added p99 |\n|---|");
    out.push_str(&"---:|".repeat(CONNECTIONS.len() + 4));
    let of = |wanted: &Contender, server: Era| {
        let is_it = |row: &&Calls| row.between.contender == *wanted && row.between.server == server;
        rows.iter().find(is_it).map(|row| row.turns.clone()).unwrap_or_default()
    };
    let direct = of(&Contender::Direct, Era::Legacy);
    for row in rows {
        let floor = of(&Contender::Floor, row.between.server);
        let _ = write!(out, "\n| {} |", name(&row.between));
        for turn in &row.turns {
            let _ = write!(out, " {:.0} |", turn.per_second);
        }
        let at_16 = row.turns[SIXTEEN];
        let of_floor = at_16.per_second / floor[SIXTEEN].per_second;
        let _ = write!(
            out,
            " {of_floor:.2} | {} | {} |",
            micros(at_16.cpu),
            added(row.turns[0], direct[0])
        );
    }
    out
}

fn added(ours: Turn, direct: Turn) -> String {
    let p50 = micros(ours.p50.saturating_sub(direct.p50));
    let p99 = micros(ours.p99.saturating_sub(direct.p99));
    format!("{p50} | {p99}")
}

fn rest(rows: &[Rest]) -> String {
    let mut out = String::from(
        "| | 1 MiB results | of the floor | 1,000-tool lists/s | CPU per list | idle | 1,000 sessions | cold start |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|",
    );
    let floor =
        rows.iter().find(|row| row.contender == Contender::Floor).map_or(1.0, |row| row.large);
    for row in rows {
        let _ = write!(
            out,
            "\n| {} | {:.0} MB/s | {:.2} | {:.0} | {} | {} | {} | {:.0} ms |",
            row.contender.name(),
            row.large / 1e6,
            row.large / floor,
            row.list.per_second,
            micros(row.list.cpu),
            memory(row.idle),
            row.crowded.map_or_else(|| "–".to_owned(), memory),
            row.cold.as_secs_f64() * 1e3,
        );
    }
    out
}

/// A row for each number of threads. Rates are shown as parts of the first row's.
pub(crate) fn threads(rows: &[WithThreads]) -> String {
    let mut out = String::from(
        "| | calls/s | CPU per call | 1 MiB results | CPU per result | 1,000-tool lists | CPU per list | idle | 1,000 sessions |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|",
    );
    let Some(first) = rows.first() else { return out };
    for row in rows {
        let _ = write!(out, "\n| {} |", row.name);
        for (turn, one) in
            [(row.calls, first.calls), (row.large, first.large), (row.lists, first.lists)]
        {
            let _ =
                write!(out, " {:.2} | {} |", turn.per_second / one.per_second, micros(turn.cpu));
        }
        let (idle, crowded) = row.memory;
        let crowded = crowded.map_or_else(|| "–".to_owned(), memory);
        let _ = write!(out, " {} | {crowded} |", memory(idle));
    }
    out
}

fn connect(name: &str, medians: &Medians) -> String {
    let Medians { direct, standalone, attached } = medians;
    let added = attached.saturating_sub(*standalone);
    let [direct, standalone, attached, added] =
        [*direct, *standalone, *attached, added].map(micros);
    format!("| {name} | {direct} | {standalone} | {attached} | {added} |")
}

fn micros(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 100.0 { format!("{micros:.1} µs") } else { format!("{micros:.0} µs") }
}

/// RSS, and in brackets the private part of it.
fn memory(memory: MemoryUse) -> String {
    format!("{} ({})", megabytes(memory.resident), megabytes(memory.private))
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
