//! Installation of the peers: `npm ci` for each npm tree, a virtual environment for each Python
//! tree.
//!
//! Used by `peers`. Versions come from the lock files alone, and no package's scripts run.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{NPM, PYTHON, debian};
use crate::command::{run, succeeds};
use crate::failure::{AboutFile, Result};

/// Installs every tree of `source` under `root`. It replaces only the trees: a folder chosen by the
/// user may hold other files.
pub(super) fn all(source: &Path, root: &Path) -> Result<()> {
    println!("installing peers in {}", root.display());
    for tree in NPM {
        println!("{tree}:");
        npm(&source.join(tree), &root.join(tree))?;
    }
    for tree in PYTHON {
        println!("{tree}:");
        python(&source.join(tree), &root.join(tree))?;
    }
    Ok(())
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).about("empty", folder)?;
    }
    fs::create_dir_all(folder).about("make", folder)
}

fn npm(source: &Path, tree: &Path) -> Result<()> {
    empty(tree)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(source.join(file), tree.join(file)).about("copy", &source.join(file))?;
    }
    let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").args(flags).current_dir(tree))
}

fn python(source: &Path, tree: &Path) -> Result<()> {
    empty(tree)?;
    environment(tree)?;
    // The list is complete, so pip resolves nothing; `pip check` verifies that.
    let flags = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    run(pip(tree).args(flags).arg(source.join("requirements.txt")))?;
    run(pip(tree).arg("check"))
}

fn pip(tree: &Path) -> Command {
    let mut command = Command::new(tree.join("bin/python"));
    command.args(["-m", "pip"]);
    command
}

/// Makes a virtual environment. Debian's Python lacks `ensurepip`.
fn environment(tree: &Path) -> Result<()> {
    if !succeeds(Command::new("python3").args(["-c", "import ensurepip"])) {
        debian::install("python3-venv", "python3 -m venv does not work")?;
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(tree))
}
