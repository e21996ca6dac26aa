//! `cargo xtask fuzz`: runs the fuzz targets for a bounded time.
//!
//! Used by `cargo xtask test`. The stable compiler runs them, with unstable flags allowed, so no nightly is needed;
//! `cargo-fuzz` is installed in the cache if it is missing. It does not hold the targets: they are in `fuzz/`.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::args::Args;
use crate::command::{cargo, output, run as run_command, succeeds};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

const CARGO_FUZZ: &str = "0.13.2";

/// The time after which a single input counts as a hang.
const SECONDS_PER_INPUT: u32 = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) seconds: u32,
}

impl Options {
    pub(crate) fn parse(mut args: Args) -> Result<Self> {
        let seconds = args.value("--seconds")?.unwrap_or(20);
        args.end()?;
        Ok(Self { seconds })
    }
}

pub(crate) fn run(options: Options) -> Result<()> {
    provide_cargo_fuzz()?;
    let targets = output(&mut fuzz(&["list"])?)?;
    let mut broken = Vec::new();
    for target in targets.lines() {
        if let Err(failure) = run_target(target, options) {
            println!("{failure}");
            broken.push(target);
        }
    }
    match (targets.is_empty(), broken.is_empty()) {
        (true, _) => Err(Failure::new("there is no fuzz target in `fuzz/`")),
        (false, true) => Ok(()),
        (false, false) => Err(Failure::new(format!("fuzzing broke {}", broken.join(", ")))
            .hint("the input is in fuzz/artifacts; RUSTC_BOOTSTRAP=1 cargo fuzz run TARGET INPUT repeats it")),
    }
}

fn run_target(target: &str, options: Options) -> Result<()> {
    let found = paths::target().join("fuzz-corpus").join(target);
    fs::create_dir_all(&found).about("make", &found)?;
    // The fuzzed crates contain no unsafe code for a sanitizer to check; without one, several times
    // as many inputs run.
    let mut command = fuzz(&["run", "--sanitizer", "none", "--target-dir"])?;
    command.arg(paths::target().join("fuzz")).arg(target).arg(&found);
    let seeds = paths::root().join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command.arg("--");
    command.arg(format!("-max_total_time={}", options.seconds));
    command.arg(format!("-timeout={SECONDS_PER_INPUT}"));
    command.args(["-verbosity=0", "-print_final_stats=1"]);
    run_command(&mut command)
}

/// `cargo fuzz` with `arguments`, with our cache on the path and unstable flags allowed.
fn fuzz(arguments: &[&str]) -> Result<Command> {
    let mut command = cargo(&["fuzz"]);
    command.args(arguments).env("PATH", search_path()?).env("RUSTC_BOOTSTRAP", "1");
    Ok(command)
}

fn provide_cargo_fuzz() -> Result<()> {
    if succeeds(&mut fuzz(&["--version"])?) {
        return Ok(());
    }
    println!("cargo-fuzz is missing: installing it into the cache");
    let mut install = cargo(&["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ]);
    run_command(install.arg("--root").arg(tools()?)).map_err(|failure| {
        failure.hint("install it by hand with cargo install cargo-fuzz --locked")
    })
}

fn tools() -> Result<PathBuf> {
    Ok(paths::cache()?.join("switchboard-tools"))
}

fn search_path() -> Result<OsString> {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let own = tools()?.join("bin");
    let folders = std::env::split_paths(&inherited).chain([own]);
    std::env::join_paths(folders).map_err(|why| Failure::new("cannot extend PATH").because(why))
}
