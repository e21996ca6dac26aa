//! The load test for as long as it takes to see a leak; the tests run it for ten seconds.

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
