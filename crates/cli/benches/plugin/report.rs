//! The table, on the terminal and in the documentation.

use std::fmt::Write as _;
use std::time::Duration;

use switchboard_testkit::benchmarks::{date, processor, write_section};

const HEADING: &str = "## Plugins";
/// How often each is measured.
const TURNS: usize = 9;

/// One thing, done so often in so long.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) took: Duration,
    pub(crate) rounds: u32,
}

// === impl Row ===

impl Row {
    /// The median of some turns: whatever else the machine does comes and goes.
    pub(crate) fn new(
        what: &'static str,
        rounds: u32,
        mut measure: impl FnMut(u32) -> Duration,
    ) -> Self {
        let mut turns: [Duration; TURNS] = std::array::from_fn(|_| measure(rounds));
        turns.sort();
        let row = Self { what, took: turns[TURNS / 2], rounds };
        println!("{:36} {:>9.1} µs {:>10.0} /s", row.what, row.each(), row.in_a_second());
        row
    }

    /// In microseconds.
    fn each(&self) -> f64 {
        self.took.as_secs_f64() * 1e6 / f64::from(self.rounds)
    }

    fn in_a_second(&self) -> f64 {
        f64::from(self.rounds) / self.took.as_secs_f64()
    }
}

/// Puts the table where people look for it.
pub(crate) fn write(rows: &[Row]) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut table = String::from("| | each | in a second |\n|---|---:|---:|");
    for row in rows {
        let _ =
            write!(table, "\n| {} | {:.1} µs | {:.0} |", row.what, row.each(), row.in_a_second());
    }
    let text = format!(
        "`switchboard plugin serve` with the plugins of the program: a tool that says what it is told, in a worker\n\
         process of its own. Beside it stand the plugin's function called in this process, and the floor that every\n\
         plugin in a process of its own has: an echo over a pair of sockets. A client on standard streams sends one\n\
         request after the other, or keeps 64 under way; over HTTP it waits for each answer, alone or beside others.\n\
         A figure is the median of {TURNS} turns.\n\n\
         Written by `cargo xtask bench plugin --write` on {}, {}, {cores} cores, which the client, the\n\
         server and the worker share. Only ratios mean anything on another machine.\n\n\
         {table}",
        date(),
        processor(),
    );
    write_section(HEADING, &text);
    println!("\nwritten to docs/benchmarks.md");
}
