//! A sweep: all scenarios of one version against one SDK server on one route, in one run of the suite.
//!
//! Used by `conformance` for the SDK side. A scenario takes some ten milliseconds; starting the programs for each
//! would take minutes. A sweep also shows that no scenario breaks the next one.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::case::{Case, Subject};
use super::gateway;
use super::judge::Evidence;
use super::listener::Listener;
use super::sdk::{Route, Sdk};
use super::subject::Programs;
use super::suite::Suite;
use crate::failure::{AboutFile, Result};
use crate::peers::Peers;

/// The cases that one run of the suite decides: they differ in the scenario only.
#[derive(Debug)]
pub(super) struct Sweep {
    sdk: Sdk,
    route: Route,
    version: String,
    pub(super) cases: Vec<Case>,
}

/// The programs that a run needs.
#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) suite: &'a Suite,
    pub(super) programs: &'a Programs,
    pub(super) peers: &'a Peers,
}

/// Groups the cases of SDK servers: one sweep for each server, route and version.
pub(super) fn group(cases: Vec<Case>) -> Vec<Sweep> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for case in cases {
        let Subject::Sdk(sdk, route) = case.subject else { continue };
        let version = &case.version;
        let same =
            |sweep: &&mut Sweep| (sweep.sdk, sweep.route, &sweep.version) == (sdk, route, version);
        match sweeps.iter_mut().find(same) {
            Some(sweep) => sweep.cases.push(case),
            None => {
                let version = version.clone();
                sweeps.push(Sweep { sdk, route, version, cases: vec![case] });
            }
        }
    }
    sweeps
}

// === impl Sweep ===

impl Sweep {
    /// Runs the suite. Returns the evidence of each case, in the order of `cases`.
    pub(super) fn observe(&self, stage: &Stage<'_>, all: &Path) -> Vec<Result<Evidence>> {
        let folder = all.join(format!("{}-{}", self.route.name(self.sdk), self.version));
        match self.run(stage, &folder) {
            Ok(status) => self.cases.iter().map(|case| evidence(&folder, case, status)).collect(),
            Err(failure) => self.cases.iter().map(|_| Err(failure.clone())).collect(),
        }
    }

    /// Returns the exit status of the gateway; on the direct route there is none.
    fn run(&self, stage: &Stage<'_>, folder: &Path) -> Result<Option<i32>> {
        fs::create_dir_all(folder).about("make", folder)?;
        let Stage { suite, programs, peers } = stage;
        let sweep = |url: &str| self.run_scenarios(suite, url, folder);
        let listening = || {
            let command = self.sdk.listening(peers, folder);
            Listener::start("server", command, folder, listening_url)
        };
        match self.route {
            Route::Direct => sweep(listening()?.url()).map(|()| Some(0)),
            Route::Http => {
                let server = listening()?;
                let entry = json!({ "type": "http", "url": server.url() });
                let gateway = gateway::serve(programs, &entry, folder)?;
                sweep(gateway.url())?;
                gateway.stop()
            }
            Route::Stdio => {
                let gateway = gateway::serve(programs, &self.sdk.stdio_entry(peers), folder)?;
                sweep(gateway.url())?;
                gateway.stop()
            }
        }
    }

    /// Runs the suite once for the version's list, and once for each scenario of an extension.
    fn run_scenarios(&self, suite: &Suite, url: &str, folder: &Path) -> Result<()> {
        let (forced, listed): (Vec<_>, Vec<_>) = self.cases.iter().partition(|case| case.forced);
        match listed[..] {
            [] => {}
            [only] => suite.single(only, url, folder)?,
            _ => suite.sweep(&self.version, url, folder)?,
        }
        forced.into_iter().try_for_each(|case| suite.single(case, url, folder))
    }
}

fn evidence(folder: &Path, case: &Case, status: Option<i32>) -> Result<Evidence> {
    let path = Suite::swept_checks(folder, &case.scenario)?;
    let text = fs::read_to_string(&path).about("read", &path)?;
    Evidence::from_checks(&text, status)
}

/// The URL in the line `listening URL`, which every conformance server prints.
fn listening_url(line: &str) -> Option<String> {
    line.trim().strip_prefix("listening ").map(str::to_owned)
}
