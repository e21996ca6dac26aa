//! Processors that do not sleep while something is measured.
//!
//! A call that waits for another process is answered by a processor that slept, and waking it can take longer than the
//! call, in a virtual machine above all. One idle process on each keeps it awake, and gives way to everything else.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up stops")]

use std::{
    hint::black_box,
    os::unix::process::parent_id,
    process::{Child, Command},
    thread::available_parallelism,
    time::{Duration, Instant},
};

/// Asks this program to keep one processor awake.
pub const WORD: &str = "--stay-awake";
/// Nothing measured here takes as long.
const LONGEST: Duration = Duration::from_secs(600);

/// Processes that keep processors awake, until it is dropped.
pub struct Awake(Vec<Child>);

// === impl Awake ===

impl Awake {
    /// Keeps each awake. The program that runs must give way to [`stay`] when it is asked for it by [`WORD`].
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

/// Does nothing, without rest, as long as whoever asked is there.
pub fn stay() {
    let (parent, began) = (parent_id(), Instant::now());
    while parent_id() == parent && began.elapsed() < LONGEST {
        for n in 0..1_000_000 {
            black_box(n);
        }
    }
}
