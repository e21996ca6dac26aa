//! `cargo xtask bench`: runs a benchmark by name, and defines the loads that `dist` profiles.
//!
//! Used by developers and by `dist`. The benchmarks themselves are in
//! `crates/*/benches`.

mod gateways;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::command::{cargo, run as run_command};
use crate::failure::{Failure, Result};
use crate::{dist, paths};

/// The environment variable with the program to measure.
const PROGRAM: &str = "SWITCHBOARD_BENCH_PROGRAM";

/// The loads that `dist` profiles, as arguments of the benchmark `gateway`.
pub(crate) const LOADS: [&[&str]; 9] = [
    &["4"],
    &["4", "modern"],
    &["4", "across"],
    &["4", "modern", "across"],
    &["4", "http"],
    &["4", "http", "modern"],
    &["4", "list"],
    &["4", "large"],
    &["connect"],
];

const HINT: &str = "cargo xtask bench wire, engine, gateway, or plugin";

pub(crate) fn run(mut args: Args) -> Result<()> {
    let name = args.word().ok_or_else(|| Failure::new("which benchmark?").hint(HINT))?;
    let package = match name.as_str() {
        "wire" => "switchboard-wire",
        "engine" => "switchboard-core",
        // The package that builds the measured program.
        "gateway" | "plugin" => "switchboard-cli",
        _ => {
            let unknown = format!("there is no benchmark named `{name}`");
            return Err(Failure::new(unknown).hint(HINT));
        }
    };
    let mut bench = cargo(&["bench", "-p", package, "--bench", &name, "--"]);
    if package == "switchboard-cli" {
        let program = if args.flag("--dist") {
            bench.arg("--dist");
            shipped()?
        } else {
            // The benchmark is built with other features of its dependencies, and so is the program beside it; build
            // it again.
            run_command(&mut cargo(&["build", "--release", "-p", package]))?;
            paths::target().join("release/switchboard")
        };
        bench.env(PROGRAM, program);
    }
    if name == "gateway" && args.flag("--peers") {
        bench.env(gateways::VARIABLE, gateways::ensure()?);
    }
    run_command(bench.args(args.rest()))
}

fn shipped() -> Result<PathBuf> {
    let program = dist::program();
    if program.exists() {
        return Ok(program);
    }
    Err(Failure::new("the program that is shipped is not built").hint("cargo xtask dist --profile"))
}

/// Puts one of [`LOADS`] on a program. The load generator need not be optimised.
pub(crate) fn load(program: &Path, words: &[&str]) -> Result<()> {
    run_command(on("gateway", program).arg("--profile").args(words))
}

/// Calls plugins in every way, a few times.
pub(crate) fn quick_plugins(program: &Path) -> Result<()> {
    run_command(on("plugin", program).arg("--quick"))
}

fn on(bench: &str, program: &Path) -> Command {
    let mut bench =
        cargo(&["bench", "--profile", "dev", "-p", "switchboard-cli", "--bench", bench, "--"]);
    bench.env(PROGRAM, program);
    bench
}
