//! The runner of cases: two at a time, and alone if timing matters.
//!
//! Used by `conformance` for all sides but the SDKs (`sweep`). It does not judge (`judge`).

use std::collections::VecDeque;
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Mutex;

use super::case::{Case, Line, Side};
use super::expected::Expected;
use super::judge::{Demand, Evidence};
use super::subject::{Programs, observe};
use super::suite::Suite;
use super::sweep::{self, Stage, Sweep};
use crate::failure::{AboutFile, Result};
use crate::paths;
use crate::peers::Peers;

/// Scenarios that measure time, so they run alone.
const ALONE: [&str; 1] = ["sse-retry"];
const AT_ONCE: usize = 2;

/// A finished case.
pub(super) struct Ran {
    line: Line,
    case: Case,
    demand: Demand,
    outcome: Result<Evidence>,
}

/// The inputs for running cases.
pub(super) struct Runner<'a> {
    pub(super) suite: Suite,
    pub(super) peers: &'a Peers,
    pub(super) programs: &'a Programs,
    pub(super) expected: &'a Expected,
}

impl Runner<'_> {
    pub(super) fn run(&self, side: Side, cases: Vec<Case>) -> Result<Vec<Ran>> {
        let line = self.suite.line.name();
        let folder = paths::target().join("conformance").join(side.name()).join(line);
        if folder.exists() {
            fs::remove_dir_all(&folder).about("empty", &folder)?;
        }
        let mut all = match side {
            Side::Sdk => {
                run_queue(sweep::group(cases), AT_ONCE, |sweep| self.run_sweep(sweep, &folder))
            }
            Side::Client | Side::Server | Side::Plugin | Side::Cluster => {
                self.run_cases(cases, &folder)
            }
        };
        all.sort_by_key(Ran::name);
        Ok(all)
    }

    fn run_cases(&self, cases: Vec<Case>, folder: &Path) -> Vec<Ran> {
        let (alone, together): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|case| ALONE.contains(&case.scenario.as_str()));
        let run_case = |case: Case| {
            let outcome = observe(&self.stage(), &case, &folder.join(case.slug()));
            vec![self.judge(case, outcome)]
        };
        let mut all = run_queue(together, AT_ONCE, run_case);
        all.extend(run_queue(alone, 1, run_case));
        all
    }

    fn run_sweep(&self, sweep: Sweep, folder: &Path) -> Vec<Ran> {
        let outcomes = sweep.observe(&self.stage(), folder);
        let cases = sweep.cases.into_iter().zip(outcomes);
        cases.map(|(case, outcome)| self.judge(case, outcome)).collect()
    }

    fn stage(&self) -> Stage<'_> {
        let Self { suite, programs, peers, .. } = self;
        Stage { suite, programs, peers }
    }

    fn judge(&self, case: Case, outcome: Result<Evidence>) -> Ran {
        let demand = self.expected.demand(self.suite.line, &case);
        let ran = Ran { line: self.suite.line, case, demand, outcome };
        println!("{} {}", ran.name(), ran.result());
        ran
    }
}

/// Works through `items` with `at_once` threads.
fn run_queue<T: Send>(
    items: Vec<T>,
    at_once: usize,
    run: impl Fn(T) -> Vec<Ran> + Sync,
) -> Vec<Ran> {
    let queue = Mutex::new(VecDeque::from(items));
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    let work = || std::iter::from_fn(next).flat_map(&run);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..at_once).map(|_| scope.spawn(|| work().collect::<Vec<_>>())).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

// === impl Ran ===

impl Ran {
    pub(super) fn name(&self) -> String {
        let Case { scenario, version, subject, .. } = &self.case;
        format!("{} {scenario} {version} {}", self.line.name(), subject.name())
    }

    pub(super) fn is_success(&self) -> bool {
        self.problems().is_empty()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|evidence| evidence.is_clean(&self.demand))
    }

    pub(super) fn count(&self) -> (Line, &Case, u64) {
        (self.line, &self.case, self.successes())
    }

    pub(super) fn problems(&self) -> Vec<String> {
        let problems = match &self.outcome {
            Ok(evidence) => evidence.problems(&self.demand),
            Err(failure) => vec![failure.to_string()],
        };
        problems.into_iter().map(|problem| format!("{}: {problem}", self.name())).collect()
    }

    pub(super) fn row(&self) -> Vec<String> {
        let wanted = self.demand.successes.map_or_else(|| "?".to_owned(), |n| n.to_string());
        vec![
            self.line.name().to_owned(),
            self.case.scenario.clone(),
            self.case.version.clone(),
            self.case.subject.name().to_owned(),
            format!("{}/{wanted}", self.successes()),
            self.result().to_owned(),
        ]
    }

    fn successes(&self) -> u64 {
        self.outcome.as_ref().map_or(0, |evidence| evidence.successes)
    }

    fn result(&self) -> &'static str {
        match (self.is_success(), self.is_clean()) {
            (true, _) if !self.demand.excused.is_empty() => "ok, as far as it can be",
            (true, _) => "ok",
            (false, true) => "another count",
            (false, false) => "FAILED",
        }
    }
}
