//! What the engine adds: to a call over the bare wire session, to the start of servers over starting them by hand, and
//! in memory for each server that is merely there.
//!
//! Only ratios within one run mean anything, so contenders take turns and nothing here fails by the clock.
//!
//! ```text
//! cargo xtask bench engine                   print the tables
//! cargo xtask bench engine --write           and put them into docs/benchmarks.md
//! cargo xtask bench engine --quick           few samples, to see that it runs
//! cargo xtask bench engine --profile         calls through the engine alone, for a profiler
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark starts programs and reads the variables of the run"
)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark tells a person what it saw, and stops where its input is wrong"
)]

mod bench;
mod bytes;
mod calls;
mod cold;
mod report;

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    /// Calls of each contender.
    calls: usize,
    /// Starts of each contender.
    starts: usize,
}

const FULL: Effort = Effort { calls: 20_000, starts: 5 };
const QUICK: Effort = Effort { calls: 200, starts: 1 };

fn main() {
    // Cargo adds `--bench`.
    let asked = |flag: &str| std::env::args().any(|arg| arg == flag);
    let effort = if asked("--quick") { QUICK } else { FULL };
    // One thread, as little as possible between a question and its answer.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if asked("--profile") {
        return runtime.block_on(calls::repeat(effort));
    }
    let (calls, cold) = runtime.block_on(async {
        // First of all, while this process is small.
        let cold = cold::rows(effort).await;
        (calls::rows(effort).await, cold)
    });
    let tables = report::tables(&calls, &cold);
    println!("{tables}");
    if asked("--write") {
        report::write(&tables, effort);
    }
}
