//! Integration tests of `hub`: the socket, clients that attach to it, workspaces of agents, and every feature through
//! every face (which writes `docs/compatibility.md`).
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod agents;
mod attach;
mod compatibility;
mod socket;
