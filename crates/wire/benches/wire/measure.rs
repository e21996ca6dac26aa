//! The measurement: turns and medians.

use std::{hint::black_box, time::Duration};

use crate::{CONTENDERS, Task, Work, inputs::Input};

/// The turns of each contender in a full run.
pub(crate) const TURNS: usize = 301;

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Turns of each contender.
    turns: usize,
    /// About how long one turn takes.
    turn: Duration,
}

/// The measurements of one task on one input.
pub(crate) struct Row {
    pub(crate) input: &'static str,
    pub(crate) bytes: usize,
    pub(crate) task: &'static str,
    /// The median time of one message, for each contender.
    pub(crate) medians: [Duration; CONTENDERS.len()],
}

impl Effort {
    pub(crate) const FULL: Self = Self { turns: TURNS, turn: Duration::from_micros(300) };
    pub(crate) const QUICK: Self = Self { turns: 5, turn: Duration::from_micros(500) };
}

/// Measures one task on one input. The contenders take turns, so that a busy moment of the machine
/// affects each of them; the median ignores it.
pub(crate) fn row(input: &Input, task: &Task, effort: Effort) -> Row {
    let counts = task.works.map(|work| messages_per_turn(input, work, effort));
    let mut seen = task.works.map(|_| Vec::with_capacity(effort.turns));
    for _ in 0..effort.turns {
        for (contender, work) in task.works.iter().enumerate() {
            seen[contender].push(turn(input, *work, counts[contender]));
        }
    }
    Row { input: input.name, bytes: input.bytes.len(), task: task.name, medians: seen.map(median) }
}

/// Processes some megabytes of one message repeatedly.
pub(crate) fn repeat(input: &Input, work: Work) {
    for _ in 0..(8 << 20) / input.bytes.len() {
        black_box(work(black_box(input)));
    }
}

/// The number of messages that fill a turn; finding it also warms up.
fn messages_per_turn(input: &Input, work: Work, effort: Effort) -> u32 {
    let mut count = 1;
    loop {
        let took = turn(input, work, count) * count;
        if took >= effort.turn || count >= 1 << 20 {
            return count;
        }
        count *= 2;
    }
}

fn turn(input: &Input, work: Work, count: u32) -> Duration {
    let start = clock();
    for _ in 0..count {
        black_box(work(black_box(input)));
    }
    clock().saturating_sub(start) / count
}

/// The CPU time of this thread, which excludes other threads.
#[cfg(unix)]
fn clock() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("the system has such a clock").into()
}

/// The elapsed time.
#[cfg(not(unix))]
fn clock() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

fn median(mut seen: Vec<Duration>) -> Duration {
    seen.sort_unstable();
    seen[seen.len() / 2]
}
