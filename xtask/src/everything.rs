//! `cargo xtask test`: all checks in one command. A failed step does not stop the others.
//!
//! Used by CI (`.ci/run`) and by developers. It does not hold the checks: each step is a verb of its own or a
//! command.

use std::process::Command;

use crate::command::{cargo, run as run_command, succeeds};
use crate::failure::{Failure, Result};
use crate::peers::{self, Peers};
use crate::step::{Outcome, Report};
use crate::{conformance, failed_tests, fuzz, mac_check, tidy};

/// Long enough to replay the seeds and try some inputs, short enough for every run.
const FUZZ_SECONDS: u32 = 10;

pub(crate) fn run() -> Result<()> {
    let mut report = Report::default();
    // A failed step is in the report; later steps need only the result of `peers`.
    let _ = report.step("format", || run_command(&mut cargo(&["fmt", "--all", "--check"])));
    let _ = report.step("clippy", clippy);
    let _ = report.step("rustdoc", rustdoc);
    let peers = report.step("peers", peers::ensure);
    let peers = || peers.as_ref().map_err(|_| Failure::new("the peers could not be installed"));
    let _ = report.step("tests", || tests(peers()?));
    let _ = report.step("doc tests", || doc_tests(peers()?));
    let _ = report
        .step("conformance", || conformance::run_with(&conformance::Options::default(), peers()?));
    let _ = report.step("fuzz", || fuzz::run(fuzz::Options { seconds: FUZZ_SECONDS }));
    report.optional("macOS", mac_check::check);
    report.optional("licences", licences);
    let _ = report.step("tidy", tidy::check);
    report.close()
}

fn clippy() -> Result<()> {
    let all = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    run_command(&mut cargo(&all))
}

fn rustdoc() -> Result<()> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    run_command(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests(peers: &Peers) -> Result<()> {
    let nextest = succeeds(&mut cargo(&["nextest", "--version"]));
    let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
    failed_tests::forget();
    let mut command = cargo(runner);
    command.args(["--workspace", "--locked", "--no-fail-fast"]);
    let result = run_command(with_peers(&mut command, peers));
    result.map_err(|failure| match failed_tests::describe() {
        Some(names) => failure.because(names),
        None => failure,
    })
}

fn doc_tests(peers: &Peers) -> Result<()> {
    let mut command = cargo(&["test", "--doc", "--workspace", "--locked"]);
    run_command(with_peers(&mut command, peers))
}

fn with_peers<'a>(command: &'a mut Command, peers: &Peers) -> &'a mut Command {
    command.env(peers::VARIABLE, peers.root())
}

/// Advisories are left out: their list comes from a host that not every machine reaches.
fn licences() -> Result<Outcome> {
    if !succeeds(&mut cargo(&["deny", "--version"])) {
        let hint = "cargo-deny is not installed (cargo install cargo-deny --locked)";
        return Ok(Outcome::Skipped(hint.to_owned()));
    }
    run_command(&mut cargo(&["deny", "--locked", "check", "bans", "licenses", "sources"]))?;
    Ok(Outcome::Success)
}
