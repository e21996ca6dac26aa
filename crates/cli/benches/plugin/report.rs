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
        "| | time per call | calls per second | time per call, processors awake | calls per second, processors awake |\n\
         |---|---:|---:|---:|---:|",
    );
    for (row, awake) in asleep.iter().zip(awake) {
        let _ = write!(table, "\n| {} | {} | {} |", row.what, row.figures(), awake.figures());
    }
    let text = format!(
        "The table shows `switchboard plugin serve`{} with the plugins of the program: a call of a tool that echoes its argument, in a\n\
         worker process of its own. For comparison it has the plugin's function called in this process, and the floor of every plugin in a\n\
         process of its own: an echo over a socket pair, and over HTTP the same with a relay that only passes bytes on. A client on standard\n\
         streams sends one request after the other, or keeps 64 requests in flight; over HTTP it waits for each answer, on one connection or\n\
         on sixteen. Each figure is the median of {TURNS} turns.\n\n\
         A process that waits for another one also waits until a processor wakes up. On this machine, this is most of the time of a single\n\
         call. For the two columns on the right, an idle process of the lowest priority keeps each processor awake.\n\n\
         Written by `cargo xtask bench plugin --write` on {}, {}, {cores} cores, which the client, the\n\
         server and the worker share. On another machine, only ratios are comparable.\n\n\
         {table}",
        made(is_shipped),
        date(),
        processor(),
    );
    write_section(HEADING, &text);
    println!("\nwritten to docs/benchmarks.md");
}
