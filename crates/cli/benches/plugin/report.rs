//! The table, on the terminal and in the documentation.

use std::fmt::Write as _;
use std::time::Duration;

use switchboard_testkit::benchmarks::{date, made, processor, write_section};

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

    fn figures(&self) -> String {
        format!("{:.1} µs | {:.0}", self.each(), self.in_a_second())
    }
}

/// Puts the table where people look for it.
pub(crate) fn write(asleep: &[Row], awake: &[Row], is_shipped: bool) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut table = String::from(
        "| | each | in a second | each, processors awake | in a second, processors awake |\n\
         |---|---:|---:|---:|---:|",
    );
    for (row, awake) in asleep.iter().zip(awake) {
        let _ = write!(table, "\n| {} | {} | {} |", row.what, row.figures(), awake.figures());
    }
    let text = format!(
        "`switchboard plugin serve`{} with the plugins of the program: a tool that says what it is told, in a worker\n\
         process of its own. Beside it stand the plugin's function called in this process, and the floor that every\n\
         plugin in a process of its own has: an echo over a pair of sockets, and over HTTP the same with somebody in\n\
         between who does nothing but pass it on. A client on standard streams sends one request after the other, or\n\
         keeps 64 under way; over HTTP it waits for each answer, alone or beside others. A figure is the median of\n\
         {TURNS} turns.\n\n\
         Whoever waits for another process waits for a processor to wake, too; on this machine that is most of what a\n\
         call takes that is made alone. The figures to the right were measured with an idle process on each that keeps\n\
         it awake and gives way to all others. A worker that has answered stays awake for a tenth of a millisecond,\n\
         which the floors do not.\n\n\
         Written by `cargo xtask bench plugin --write` on {}, {}, {cores} cores, which the client, the\n\
         server and the worker share. Only ratios mean anything on another machine.\n\n\
         {table}",
        made(is_shipped),
        date(),
        processor(),
    );
    write_section(HEADING, &text);
    println!("\nwritten to docs/benchmarks.md");
}
