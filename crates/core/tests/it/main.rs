//! Integration tests of `core`: catalog, connections, engine, permissions, hooks, results, logs.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on fails.

mod agent_loop;
mod audit;
mod catalog;
mod connection;
mod engine;
mod faults;
mod hooks;
mod logs;
mod permission;
mod results;
mod schema;
mod sealing;
