//! Benchmarks, by name.

use crate::args::Args;
use crate::command::{cargo, run as run_command};
use crate::failure::{Failure, Result};

const HINT: &str = "cargo xtask bench wire, engine, or gateway";

pub(crate) fn run(mut args: Args) -> Result<()> {
    let name = args.word().ok_or_else(|| Failure::new("which benchmark?").hint(HINT))?;
    let package = match name.as_str() {
        "wire" => "switchboard-wire",
        "engine" => "switchboard-core",
        "gateway" => "switchboard-gateway",
        _ => {
            let unknown = format!("there is no benchmark named `{name}`");
            return Err(Failure::new(unknown).hint(HINT));
        }
    };
    if name == "gateway" {
        // The program itself is what is measured.
        run_command(&mut cargo(&["build", "--release", "-p", "switchboard-cli"]))?;
    }
    let mut bench = cargo(&["bench", "-p", package, "--bench", &name, "--"]);
    run_command(bench.args(args.rest()))
}
