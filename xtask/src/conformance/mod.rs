//! The official conformance suite's client scenarios, against our client.
//!
//! The suite itself ticks clients that did nothing, so its verdict is not asked for. Each scenario
//! runs alone, at each protocol version it knows; then the checks it wrote are counted against
//! `tests/conformance/client.json`, and the client's own exit status is demanded too.

mod expected;
mod judge;
mod listing;
mod run;

use std::path::PathBuf;
use std::str::FromStr;

use crate::args::Args;
use crate::command::{cargo, run as run_command};
use crate::failure::{Failure, Result};
use crate::peers::{self, Peers};
use crate::{paths, table};
use expected::Expected;
use run::{Ran, Suite};

/// The two published lines of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Stable,
    Alpha,
}

/// One scenario at one protocol version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Case {
    scenario: String,
    version: String,
    /// Extensions are on no version's list: the suite runs them only when forced.
    forced: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Options {
    line: Option<Line>,
    scenario: Option<String>,
    driver: Option<PathBuf>,
    record: bool,
}

impl Options {
    pub(crate) fn parse(mut args: Args) -> Result<Self> {
        let options = Self {
            line: args.value("--line")?,
            scenario: args.value("--scenario")?,
            driver: args.value("--driver")?,
            record: args.flag("--record"),
        };
        args.end()?;
        Ok(options)
    }

    fn lines(&self) -> Vec<Line> {
        self.line.map_or_else(|| vec![Line::Stable, Line::Alpha], |line| vec![line])
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    run_with(options, &peers::ensure()?)
}

pub(crate) fn run_with(options: &Options, peers: &Peers) -> Result<()> {
    let driver = options.driver.clone().map_or_else(build_driver, Ok)?;
    let path = paths::root().join("tests/conformance/client.json");
    let mut expected = Expected::read(&path)?;
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for line in options.lines() {
        let suite = Suite::new(line, peers, &driver);
        let cases = suite.cases()?;
        problems.extend(expected.stale(line, &cases));
        let wanted = cases.into_iter().filter(|case| options.wants(case)).collect();
        all.extend(suite.run(wanted, &expected)?);
    }
    if all.is_empty() {
        return Err(
            Failure::new("no scenario has that name").hint("see tests/conformance/client.json")
        );
    }
    if options.record {
        expected.record(&all)?;
        expected.write(&path)?;
        println!("\n{}", tabulate(&all));
        println!("\nrecorded in tests/conformance/client.json: read the difference");
        return Ok(());
    }
    problems.extend(all.iter().flat_map(Ran::problems));
    report(&all, &problems)
}

impl Options {
    fn wants(&self, case: &Case) -> bool {
        self.scenario.as_ref().is_none_or(|name| *name == case.scenario)
    }
}

fn build_driver() -> Result<PathBuf> {
    let program = ["-p", "switchboard-testkit", "--features", "conformance"];
    let program = program.into_iter().chain(["--bin", "conformance-client"]);
    run_command(cargo(&["build", "--locked"]).args(program))?;
    Ok(paths::target().join("debug/conformance-client"))
}

fn report(all: &[Ran], problems: &[String]) -> Result<()> {
    println!("\n{}", tabulate(all));
    if problems.is_empty() {
        return Ok(());
    }
    let failed = all.iter().filter(|ran| !ran.passed()).count();
    println!("\n{}", problems.join("\n"));
    Err(Failure::new(format!("{failed} of {} scenario runs failed", all.len()))
        .because("see the list above")
        .hint("logs are under conformance/ in the target folder"))
}

fn tabulate(all: &[Ran]) -> String {
    let rows: Vec<_> = all.iter().map(Ran::row).collect();
    table::render(&["line", "scenario", "version", "checks", "result"], &rows)
}

impl Line {
    const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Alpha => "alpha",
        }
    }

    /// The newest version of each era it knows.
    const fn eras(self) -> &'static [&'static str] {
        match self {
            Self::Stable => &["2025-11-25"],
            Self::Alpha => &["2025-11-25", "2026-07-28"],
        }
    }

    /// The package in the peers' main npm tree.
    const fn package(self) -> &'static str {
        match self {
            Self::Stable => "conformance-stable",
            Self::Alpha => "@modelcontextprotocol/conformance",
        }
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Stable, Self::Alpha].into_iter().find(|line| line.name() == text).ok_or(())
    }
}
