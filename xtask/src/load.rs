//! `cargo xtask load`: the load test, long enough to show a leak.
//!
//! Used by hand; the ordinary tests run it for ten seconds. The test itself is in
//! `crates/cli/tests/it/load`.

use crate::args::Args;
use crate::command::{cargo, run as run_command};
use crate::failure::Result;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seconds: u32 = args.value("--seconds")?.unwrap_or(60);
    args.end()?;
    let mut test =
        cargo(&["test", "-p", "switchboard-cli", "--test", "it", "--", "load::", "--nocapture"]);
    run_command(test.env("SWITCHBOARD_LOAD_SECONDS", seconds.to_string()))
}
