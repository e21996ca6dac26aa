//! Where the programs of this package are: next to the test that asks, built if need be.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its programs cannot go on"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// All of them, to know whether they are there.
const PROGRAMS: [&str; 5] = [
    "guard",
    "stubborn",
    "hub-under-test",
    "fixture-server",
    "puppet",
];

/// A program that is nothing but a guard.
pub fn guard_path() -> PathBuf {
    program("guard")
}

/// The program `name` of this package, as old as the running test or newer.
pub fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("a test knows its own path");
        // <target>/<profile>/deps/<test>
        let folder = test
            .ancestors()
            .nth(2)
            .expect("a test lies in a target folder")
            .to_owned();
        let built = PROGRAMS.map(|name| modified(&folder.join(name)));
        if built.iter().min() < Some(&modified(&test)) {
            build(&folder);
        }
        folder
    });
    folder.join(name)
}

fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|file| file.modified()).ok()
}

/// Cargo's own lock lets many tests ask at once.
fn build(folder: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(name) => name,
    };
    // What cargo tells a test would make build scripts run again, and everything above them.
    let told = |name: &str| {
        [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_CRATE_",
            "CARGO_PRIMARY_",
            "CARGO_BIN_",
            "OUT_DIR",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    };
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(told) {
            command.env_remove(name);
        }
    }
    let status = command
        .args([
            "build",
            "--quiet",
            "--package",
            "switchboard-testkit",
            "--bins",
        ])
        .args(["--profile", profile, "--target-dir"])
        .arg(
            folder
                .parent()
                .expect("a profile folder lies in a target folder"),
        )
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .status()
        .expect("cargo can be run");
    assert!(
        status.success(),
        "the testkit's programs do not build: {status}"
    );
}
