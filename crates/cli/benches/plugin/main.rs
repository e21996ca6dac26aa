//! What a plugin's call costs, and how many there are in a second.
//!
//! ```sh
//! cargo xtask bench plugin                   # the table
//! cargo xtask bench plugin --write           # and put it into docs/benchmarks.md
//! cargo xtask bench plugin --quick           # a few of each, for whoever looks on
//! cargo xtask bench plugin --dist            # of the program that is shipped
//! ```
//!
//! Beside each figure stands the floor it has in common with every program of its kind: an echo over a pair of sockets,
//! and over HTTP the same with somebody in between. Everything is measured twice, the second time with processors that
//! are kept awake: one that sleeps may take longer to wake than a call takes. Nothing fails by the clock.

#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark starts programs and reads the variables of the run"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark reports, or stops"
)]

mod floor;
mod http;
mod inside;
mod report;
mod stdio;

use report::Row;
use switchboard_testkit::awake;

/// How often each is done, and how often where it need not be exact.
const ROUNDS: u32 = 20_000;
const FEW: u32 = 2_000;

/// What a request and its answer look like over a connection.
pub(crate) const GREETING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

pub(crate) fn call(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"hi"}}}}}}"#
    )
}

pub(crate) fn ping(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn main() {
    // `cargo test` builds benchmarks too, and asks them for nothing.
    let words: Vec<String> = std::env::args().collect();
    let asked = |flag: &str| words.iter().any(|word| word == flag);
    if !asked("--bench") {
        return;
    }
    if asked(awake::WORD) {
        return awake::stay();
    }
    let number = if asked("--quick") { FEW } else { ROUNDS };
    let asleep = measured(number);
    println!("\nthe same, with processors that stay awake");
    let staying = awake::Awake::keep();
    let awake = measured(number);
    drop(staying);
    if asked("--write") {
        report::write(&asleep, &awake, asked("--dist"));
    }
}

fn measured(number: u32) -> Vec<Row> {
    let mut rows = vec![
        Row::new("the plugin itself, in process", number, inside::calls),
        Row::new("socket pair, echo", number, floor::round_trip),
    ];
    let mut served = stdio::Served::start();
    let mut alone = |what, ask| Row::new(what, number, |rounds| served.one_by_one(rounds, ask));
    rows.push(alone("stdio, ping, one at a time", ping));
    rows.push(alone("stdio, tool call, one at a time", call));
    let mut many =
        |what, rounds, ask| Row::new(what, rounds, |rounds| served.pipelined(rounds, ask));
    rows.push(many("stdio, ping, pipelined", number * 5, ping));
    rows.push(many("stdio, tool call, pipelined", number * 2, call));
    drop(served);
    rows.push(Row::new("HTTP, passed on over a socket pair", number / 4, floor::passed_on));
    let serving = http::Serving::start();
    let mut kept = serving.connect();
    rows.push(Row::new("HTTP, tool call, one connection kept alive", number / 4, |rounds| {
        kept.one_by_one(rounds, call)
    }));
    let mut all: Vec<_> = (0..16).map(|_| serving.connect()).collect();
    rows.push(Row::new("HTTP, tool call, sixteen connections kept alive", number, |rounds| {
        http::together(&mut all, rounds, call)
    }));
    rows
}
