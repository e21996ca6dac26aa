//! The programs of this package, built on demand and found next to the test.
//!
//! Used by tests and benchmarks of most crates.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its programs cannot go on"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program that is only the guard.
pub fn guard_path() -> PathBuf {
    program("guard")
}

/// The program `name` of this package, built from the current sources.
pub fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built(&["--bins"])).join(name)
}

/// A program of this package that needs the hub's crates: `hub-for-tests` or `attach-for-tests`.
pub fn hub_program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    // Built by name: the other programs are built elsewhere, and must not be replaced while they run.
    let which = ["--features=hub", "--bin=hub-for-tests", "--bin=attach-for-tests"];
    BUILT.get_or_init(|| built(&which)).join(name)
}

/// The folder of the programs, after building them. A test is not rebuilt when only these programs change, so an
/// existing file may be old.
fn built(which: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    // <target>/<profile>/deps/<test>, or without `deps` for a program.
    let folder = test.parent().expect("a program lies in a folder");
    let folder = if folder.ends_with("deps") { folder.parent() } else { Some(folder) };
    let folder = folder.expect("a test lies in a target folder").to_owned();
    build(&folder, which);
    folder
}

/// Builds the programs: a quarter of a second if they are current. Cargo's lock serialises concurrent tests.
fn build(folder: &Path, which: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(name) => name,
    };
    let target = folder.parent().expect("a profile folder lies in a target folder");
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--package=switchboard-testkit"])
        .args(which)
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    // Variables that cargo sets for a test would make build scripts run again, and rebuild all crates above them.
    for (name, _) in std::env::vars_os() {
        let told = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        if told.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            build.env_remove(name);
        }
    }
    let status = build.status().expect("cargo can be run");
    assert!(status.success(), "the testkit's programs do not build: {status}");
}
