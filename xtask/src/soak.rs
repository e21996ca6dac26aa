//! `cargo xtask soak`: the tests that run in a loop, long enough to show a leak or a race.
//!
//! Used by hand; the ordinary tests run each for some seconds. The tests are in `crates/cli/tests/it`: `load`,
//! `cluster_kills`.

use crate::args::Args;
use crate::command::{cargo, run as run_command};
use crate::failure::Result;
use crate::peers;

/// The environment variable with the time of each test, in seconds.
const VARIABLE: &str = "SWITCHBOARD_SOAK_SECONDS";

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seconds: u32 = args.value("--seconds")?.unwrap_or(60);
    args.end()?;
    let peers = peers::ensure()?;
    let mut test = cargo(&["test", "-p", "switchboard-cli", "--test", "it", "--"]);
    // One after the other: each wants the machine for itself.
    test.args(["load::", "cluster_kills::", "--nocapture", "--test-threads=1"]);
    run_command(test.env(VARIABLE, seconds.to_string()).env(peers::VARIABLE, peers.root()))
}
