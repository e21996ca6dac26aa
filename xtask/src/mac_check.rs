//! The step `macOS` of `cargo xtask test`: compile-checks the workspace for macOS.
//!
//! Used by `everything`. It checks Rust code only: the C code of dependencies is not compiled, since that needs Apple's
//! headers, and nothing is linked or run.

use std::fs;
use std::process::Command;

use crate::command::{cargo, output, run as run_command, succeeds};
use crate::failure::{AboutFile, Result};
use crate::paths;
use crate::step::Outcome;

const TARGET: &str = "aarch64-apple-darwin";
/// Compilers of C code, replaced by a program that does nothing.
const C_TOOLS: [&str; 2] = ["CC_aarch64_apple_darwin", "AR_aarch64_apple_darwin"];

/// Checks every crate; tests drive Linux.
pub(crate) fn check() -> Result<Outcome> {
    if !is_installed() && !succeeds(Command::new("rustup").args(["target", "add", TARGET])) {
        let why = format!("the target {TARGET} is not installed, and `rustup target add` fails");
        return Ok(Outcome::Skipped(why));
    }
    let folder = paths::target().join("mac");
    fs::create_dir_all(&folder).about("create", &folder)?;
    // jemalloc asks for a library that exists; a check does not read it.
    let library = folder.join("libjemalloc.a");
    fs::write(&library, "").about("write", &library)?;
    let mut check = cargo(&["check", "--workspace", "--locked", "--target", TARGET]);
    // The testkit drives processes of Linux, and `xtask` runs where the tests run.
    check
        .args(["--exclude", "xtask", "--exclude", "switchboard-testkit", "--target-dir"])
        .arg(&folder);
    check.env("JEMALLOC_OVERRIDE", &library).env("RUSTFLAGS", "-D warnings");
    for tool in C_TOOLS {
        check.env(tool, "true");
    }
    run_command(&mut check)?;
    Ok(Outcome::Success)
}

fn is_installed() -> bool {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    let libraries = std::path::Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET);
    libraries.exists()
}
