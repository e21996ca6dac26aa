//! `cargo xtask conformance`: the official conformance suite against our client, the gateway and plugins.
//!
//! Used by `cargo xtask test`. Client scenarios run against our client; server scenarios run through the gateway to a
//! server of either era, alone and as several replicas behind a balancer, and to servers on the official SDKs, directly
//! and through the gateway. It does not trust the suite's verdict, since the suite passes programs that did nothing:
//! each scenario runs alone, at each protocol version it knows; its checks are counted against `tests/conformance`, and
//! the exit status of the program under test is checked. A check that cannot pass is listed there with the reason, and
//! must fail.

mod case;
mod expected;
mod gateway;
mod group;
mod judge;
mod listener;
mod listing;
mod replicas;
mod run;
mod sdk;
mod subject;
mod suite;
mod sweep;

use std::path::PathBuf;

use crate::args::Args;
use crate::failure::{Failure, Result};
use crate::peers::{self, Peers};
use crate::{paths, table};
use case::{Case, Line, Side};
use expected::Expected;
use run::{Ran, Runner};
use subject::Programs;
use suite::Suite;

#[derive(Debug, Default)]
pub(crate) struct Options {
    side: Option<Side>,
    line: Option<Line>,
    scenario: Option<String>,
    driver: Option<PathBuf>,
    record: bool,
}

// === impl Options ===

impl Options {
    pub(crate) fn parse(mut args: Args) -> Result<Self> {
        let options = Self {
            side: args.value("--side")?,
            line: args.value("--line")?,
            scenario: args.value("--scenario")?,
            driver: args.value("--driver")?,
            record: args.flag("--record"),
        };
        args.end()?;
        Ok(options)
    }

    fn sides(&self) -> Vec<Side> {
        self.side.map_or_else(|| Side::ALL.to_vec(), |side| vec![side])
    }

    fn lines(&self) -> Vec<Line> {
        self.line.map_or_else(|| Line::ALL.to_vec(), |line| vec![line])
    }

    fn wants(&self, case: &Case) -> bool {
        self.scenario.as_ref().is_none_or(|name| *name == case.scenario)
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    run_with(options, &peers::ensure()?)
}

pub(crate) fn run_with(options: &Options, peers: &Peers) -> Result<()> {
    let programs = Programs::build(options.driver.clone(), &options.sides())?;
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for side in options.sides() {
        let (ran, stale) = run_side(side, options, peers, &programs)?;
        all.extend(ran);
        problems.extend(stale);
    }
    if all.is_empty() {
        return Err(Failure::new("no scenario has that name").hint("see tests/conformance"));
    }
    if options.record {
        println!("\n{}", tabulate(&all));
        println!("\nrecorded in tests/conformance: read the difference");
        return Ok(());
    }
    problems.extend(all.iter().flat_map(Ran::problems));
    report(&all, &problems)
}

/// Runs the cases of one side. Returns the runs and the faults of the expectations.
fn run_side(
    side: Side,
    options: &Options,
    peers: &Peers,
    programs: &Programs,
) -> Result<(Vec<Ran>, Vec<String>)> {
    let path = paths::root().join(format!("tests/conformance/{}.json", side.counts()));
    let mut expected = Expected::read(&path)?;
    let (mut all, mut stale) = (Vec::new(), Vec::new());
    for line in options.lines() {
        let runner =
            Runner { suite: Suite::new(line, peers), peers, programs, expected: &expected };
        let cases = runner.suite.cases(side)?;
        stale.extend(expected.stale(line, side, &cases));
        stale.extend(expected.unexplained(line, &cases));
        let wanted = cases.into_iter().filter(|case| options.wants(case)).collect();
        all.extend(runner.run(side, wanted)?);
    }
    if options.record {
        expected.record(&all)?;
        expected.write(&path)?;
    }
    Ok((all, stale))
}

fn report(all: &[Ran], problems: &[String]) -> Result<()> {
    println!("\n{}", tabulate(all));
    if problems.is_empty() {
        return Ok(());
    }
    let failed = all.iter().filter(|ran| !ran.is_success()).count();
    println!("\n{}", problems.join("\n"));
    Err(Failure::new(format!("{failed} of {} scenario runs failed", all.len()))
        .because("see the list above")
        .hint("logs are under conformance/ in the target folder"))
}

fn tabulate(all: &[Ran]) -> String {
    let rows: Vec<_> = all.iter().map(Ran::row).collect();
    table::render(&["line", "scenario", "version", "subject", "checks", "result"], &rows)
}
