//! `cargo xtask bench plugin`: what a plugin's call costs, and how many there are in a second.
//!
//! Beside each figure stands the floor it has in common with every program of its kind: an echo over a pair of sockets.
//! Nothing fails by the clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark reports, or stops"
)]

mod floor;
mod http;
mod stdio;

use std::time::Duration;

/// How often each is done.
const ROUNDS: u32 = 20_000;

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
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let floor = floor::round_trip(ROUNDS);
    row("socket pair, echo", floor, ROUNDS);
    let mut served = stdio::Served::start();
    row("stdio, ping, one at a time", served.one_by_one(ROUNDS, ping), ROUNDS);
    row("stdio, tool call, one at a time", served.one_by_one(ROUNDS, call), ROUNDS);
    row("stdio, ping, pipelined", served.pipelined(ROUNDS * 5, ping), ROUNDS * 5);
    row("stdio, tool call, pipelined", served.pipelined(ROUNDS * 2, call), ROUNDS * 2);
    drop(served);
    let mut kept = http::Kept::start();
    row("HTTP, tool call, kept alive", kept.one_by_one(ROUNDS / 4, call), ROUNDS / 4);
}

fn row(what: &str, took: Duration, rounds: u32) {
    let each = took / rounds;
    let in_a_second = f64::from(rounds) / took.as_secs_f64();
    println!("{what:34} {:>9.1} µs {in_a_second:>10.0} /s", each.as_secs_f64() * 1e6);
}
