//! Busy processes that keep the processors from sleeping during a benchmark.
//!
//! Used by the benchmarks of `cli`. A call that waits for another process is answered by a processor that slept, and
//! waking it can take longer than the call, above all in a virtual machine. One busy process of the lowest priority
//! keeps each processor awake. It measures nothing.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up stops")]

use std::{
    hint::black_box,
    os::unix::process::parent_id,
    process::{Child, Command},
    thread::available_parallelism,
    time::{Duration, Instant},
};

/// The argument that asks this program to keep one processor awake.
pub const WORD: &str = "--stay-awake";
/// Longer than any measurement.
const LONGEST: Duration = Duration::from_secs(600);

/// The processes that keep processors awake, until this is dropped.
pub struct Awake(Vec<Child>);

// === impl Awake ===

impl Awake {
    /// Keeps every processor awake. The running program must call [`stay`] when its argument is [`WORD`].
    pub fn keep() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self((0..processors).map(|_| one()).collect())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

fn one() -> Child {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(std::env::current_exe().unwrap()).args(["--bench", WORD]);
    command.spawn().unwrap()
}

/// Spins for as long as the parent lives.
pub fn stay() {
    let (parent, began) = (parent_id(), Instant::now());
    while parent_id() == parent && began.elapsed() < LONGEST {
        for n in 0..1_000_000 {
            black_box(n);
        }
    }
}
