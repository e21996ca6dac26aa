//! Published gateways of other projects, installed in the cache for the benchmark `gateway`.
//!
//! Used by `bench`. Each is pinned by its version; its dependencies are those that the registry resolves, since no
//! test uses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run;
use crate::failure::{AboutFile, Result};
use crate::paths;

/// The environment variable with the folder of the gateways.
pub(super) const VARIABLE: &str = "SWITCHBOARD_BENCH_PEERS";

const NPM: [&str; 2] = ["mcp-proxy@6.7.19", "supergateway@4.0.0"];
/// Each has its own virtual environment, since their versions clash.
const PYTHON: [(&str, &str); 2] =
    [("mcp-proxy", "mcp-proxy==0.13.0"), ("fastmcp", "fastmcp==4.1.2")];

/// Installs missing gateways. One that cannot be installed is skipped, with a message.
pub(super) fn ensure() -> Result<PathBuf> {
    let root = paths::cache()?.join("switchboard-bench-peers");
    let npm = root.join("npm");
    if !npm.join("node_modules").exists() {
        attempt(&npm, with_npm);
    }
    for (name, package) in PYTHON {
        let place = root.join(name);
        if !place.join("bin").join(name).exists() {
            attempt(&place, |place| with_pip(place, package));
        }
    }
    Ok(root)
}

fn attempt(place: &Path, install: impl FnOnce(&Path) -> Result<()>) {
    let made = fs::create_dir_all(place).about("make", place);
    if let Err(failure) = made.and_then(|()| install(place)) {
        println!("not installed in {}: {failure}", place.display());
    }
}

fn with_npm(place: &Path) -> Result<()> {
    let flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").args(flags).arg("--prefix").arg(place).args(NPM))
}

fn with_pip(place: &Path, package: &str) -> Result<()> {
    run(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    let flags = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(place.join("bin/python")).args(flags).arg(package))
}
