//! The benchmark of forwarding: our envelope beside `serde_json::Value` and rmcp's message type, on
//! equal bytes in one run.
//!
//! Run by `cargo xtask bench wire`. Only ratios within one run mean anything, so the contenders
//! take turns, and no result fails by the clock.
//!
//! ```text
//! cargo xtask bench wire                     print the table
//! cargo xtask bench wire --write             and put it into docs/benchmarks.md
//! cargo xtask bench wire --quick             few samples, to see that it runs
//! cargo xtask bench wire --profile [WORD]    ours alone, for a profiler; messages named so
//! cargo xtask bench wire --profile texts     the work on the texts of one small call
//! cargo xtask bench wire --profile sessions  one small call, client and server in one process
//! ```
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark tells a person what it saw, and stops where its input is wrong"
)]

mod call;
mod inputs;
mod measure;
mod ours;
mod peer;
mod report;
mod value;

use bytes::Bytes;
use inputs::Input;
use measure::Effort;

/// One way to do a task on a message.
type Work = fn(&Input) -> Bytes;

/// A task on a message, as each contender does it.
struct Task {
    name: &'static str,
    works: [Work; 3],
}

/// The columns, ours first.
const CONTENDERS: [&str; 3] = ["ours", "serde_json::Value", "rmcp"];

const TASKS: [Task; 3] = [
    Task { name: "read id and method", works: [ours::read, value::read, peer::read] },
    Task {
        name: "forward under another id",
        works: [ours::forward, value::forward, peer::forward],
    },
    Task {
        name: "forward with members changed",
        works: [ours::splice, value::splice, peer::splice],
    },
];

fn main() {
    // Cargo adds `--bench`.
    let asked = |flag: &str| std::env::args().any(|arg| arg == flag);
    let effort = if asked("--quick") { Effort::QUICK } else { Effort::FULL };
    if asked("--profile") {
        return profile(&std::env::args().next_back().unwrap_or_default());
    }
    let mut rows = Vec::new();
    for input in inputs::all() {
        for task in &TASKS {
            agree(&input, task);
            rows.push(measure::row(&input, task, effort));
        }
    }
    let table = report::table(&rows);
    println!("{table}");
    if asked("--write") {
        report::write(&table);
    }
}

/// Runs our contender alone, on the messages and tasks with `word` in their names, or on all.
fn profile(word: &str) {
    match word {
        "texts" => return call::texts(),
        "sessions" => return call::sessions(),
        _ => {}
    }
    let word = if word.starts_with("--") { "" } else { word };
    for input in inputs::all() {
        for task in &TASKS {
            if format!("{}, {}", input.name, task.name).contains(word) {
                measure::repeat(&input, task.works[0]);
            }
        }
    }
}

/// Checks that all contenders produce equal results: one that does less would win unfairly.
fn agree(input: &Input, task: &Task) {
    let said: Vec<serde_json::Value> = task
        .works
        .iter()
        .map(|work| serde_json::from_slice(&work(input)).expect("each contender writes JSON"))
        .collect();
    assert!(
        said.iter().all(|value| *value == said[0]),
        "{}, {}: the contenders disagree",
        input.name,
        task.name
    );
}
