//! Regression tests for faults of the official SDK, which this library must not have: a tool
//! without a schema that costs the whole list, lost fields and results, progress out of order, and
//! servers that cannot be reached.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod decoding;
mod processes;
mod progress;

use switchboard_process::ProcessCommand;
use switchboard_testkit::programs::program;
use switchboard_wire::client::ServerTarget;

use crate::suite::stdio;

/// The testkit's program `puppet`, in one of its roles.
fn puppet<const N: usize>(args: [&str; N]) -> ServerTarget {
    let mut command = ProcessCommand::new(program("puppet"));
    command.args = args.map(Into::into).to_vec();
    ServerTarget::Stdio(stdio(command))
}
