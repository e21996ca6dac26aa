//! The build with profile-guided optimisation, `target/dist/switchboard`.
//!
//! Used by `cargo xtask dist --profile` and, through its result, by `cargo xtask bench --dist`. It builds the program
//! twice: with instrumentation, under which clients call through it, and then with the collected profile. A call then
//! takes a quarter fewer instructions, and a third fewer instruction cache misses. It does not make packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build_release;
use crate::bench::{LOADS, load, quick_plugins};
use crate::command::{output, run as run_command, succeeds};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

/// Each process writes to its own folder, so that a killed one does not spoil other profiles.
const EACH: &str = "%p";

/// Builds the program and returns its path.
pub(super) fn build_guided() -> Result<PathBuf> {
    let merger = merger()?;
    let folder = paths::target().join("dist");
    // Removed first: cargo does not notice that the profile has changed.
    if folder.exists() {
        fs::remove_dir_all(&folder).about("remove", &folder)?;
    }
    let (counts, counting) = (folder.join("counts"), folder.join("counting"));
    let counted = format!("-Cprofile-generate={}", counts.join(EACH).display());
    let built = build_release(&folder, Some(&counted))?;
    fs::copy(&built, &counting).about("copy", &built)?;
    // Profiles of build scripts, which ran with the flags.
    if counts.exists() {
        fs::remove_dir_all(&counts).about("remove", &counts)?;
    }
    for words in LOADS {
        load(&counting, words)?;
    }
    quick_plugins(&counting)?;
    let profile = folder.join("profile");
    let mut merging = Command::new(merger);
    merging.args(["merge", "--failure-mode=all", "-o"]).arg(&profile).arg(&counts);
    run_command(&mut merging)?;
    let used = format!("-Cprofile-use={}", profile.display());
    let built = build_release(&folder, Some(&used))?;
    let program = program();
    fs::copy(&built, &program).about("copy", &built)?;
    Ok(program)
}

/// The path of the program that this build makes.
pub(crate) fn program() -> PathBuf {
    paths::target().join("dist/switchboard")
}

/// `llvm-profdata`, of the toolchain or of the compiler's LLVM version.
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
