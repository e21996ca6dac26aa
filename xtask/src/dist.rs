//! The program as it is shipped: `target/dist/switchboard`.
//!
//! It is built twice. First so that it counts what it does while clients call through it; then with those counts, by
//! which the compiler knows what to make fast, what to keep together, and what hardly ever runs. A quarter of the time
//! that a call takes in a plain release build is saved by it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::bench::{LOADS, load, quick_plugins};
use crate::command::{cargo, output, run as run_command, succeeds};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

/// What stands between flags of the compiler.
const BETWEEN: &str = "\u{1f}";
/// What was seen to run often is to stay under its own name: `crates/cli/layout.ld` says where it lies.
const NAMES: &str = "-Cllvm-args=-profile-guided-section-prefix=false";

pub(crate) fn run(args: Args) -> Result<()> {
    args.end()?;
    let merging = merger()?;
    let folder = paths::target().join("dist");
    let (counts, profile) = (folder.join("counts"), folder.join("profile"));
    let built = build(&folder, &[&format!("-Cprofile-generate={}", counts.display())])?;
    // What the build's own programs counted says nothing of ours.
    let _ = fs::remove_dir_all(&counts);
    let counting = folder.join("counting");
    fs::copy(&built, &counting).about("copy", &built)?;
    for words in LOADS {
        load(&counting, words)?;
    }
    quick_plugins(&counting)?;
    run_command(Command::new(merging).arg("merge").arg("-o").arg(&profile).arg(&counts))?;
    let built = build(&folder, &[&format!("-Cprofile-use={}", profile.display()), NAMES])?;
    let program = program();
    fs::copy(&built, &program).about("copy", &built)?;
    println!("{}", program.display());
    Ok(())
}

/// Where it is.
pub(crate) fn program() -> PathBuf {
    paths::target().join("dist/switchboard")
}

/// The program, built with these flags of the compiler.
fn build(folder: &Path, flags: &[&str]) -> Result<PathBuf> {
    let mut building = cargo(&["build", "--release", "-p", "switchboard-cli", "--target-dir"]);
    building.arg(folder).env("CARGO_ENCODED_RUSTFLAGS", flags.join(BETWEEN));
    run_command(&mut building)?;
    Ok(folder.join("release/switchboard"))
}

/// The program that adds counts up: the toolchain's own, or the one of the compiler's version.
fn merger() -> Result<PathBuf> {
    let about = output(Command::new("rustc").arg("-vV"))?;
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let said =
        |what: &str| about.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": "));
    let version = said("LLVM version").and_then(|version| version.split('.').next());
    let (host, version) = (said("host").unwrap_or_default(), version.unwrap_or_default());
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/llvm-profdata");
    let other = PathBuf::from(format!("llvm-profdata-{version}"));
    let works = |program: &PathBuf| succeeds(Command::new(program).args(["merge", "--help"]));
    [own, other].into_iter().find(works).ok_or_else(|| {
        let hint = format!(
            "install the toolchain's component `llvm-tools`, or Debian's package `llvm-{version}`"
        );
        Failure::new("there is no `llvm-profdata` for this compiler").hint(hint)
    })
}
