//! Benchmarks, by the name of the crate they belong to.

use crate::args::Args;
use crate::command::{cargo, run as run_command};
use crate::failure::{Failure, Result};

pub(crate) fn run(mut args: Args) -> Result<()> {
    match args.word().as_deref() {
        Some("wire") => {
            let mut bench = cargo(&["bench", "-p", "switchboard-wire", "--bench", "wire", "--"]);
            run_command(bench.args(args.rest()))
        }
        Some(other) => Err(Failure::new(format!("there is no benchmark named `{other}`"))
            .hint("cargo xtask bench wire")),
        None => Err(Failure::new("which benchmark?").hint("cargo xtask bench wire")),
    }
}
