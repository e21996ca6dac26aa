//! Running cases: two at a time, and alone where timing matters.

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
use crate::failure::{AboutFile, Result};
use crate::paths;

/// These judge by the clock, so nothing else runs beside them.
const ALONE: [&str; 1] = ["sse-retry"];
const AT_ONCE: usize = 2;

/// A case, run.
pub(super) struct Ran {
    line: Line,
    case: Case,
    demand: Demand,
    outcome: Result<Evidence>,
}

/// Everything that it takes to run a case.
pub(super) struct Runner<'a> {
    pub(super) suite: Suite,
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
        let (alone, together): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|case| ALONE.contains(&case.scenario.as_str()));
        let mut all = self.run_queue(together, AT_ONCE, &folder);
        all.extend(self.run_queue(alone, 1, &folder));
        all.sort_by_key(Ran::name);
        Ok(all)
    }

    fn run_queue(&self, cases: Vec<Case>, at_once: usize, folder: &Path) -> Vec<Ran> {
        let queue = Mutex::new(VecDeque::from(cases));
        let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
        let work = || std::iter::from_fn(next).map(|case| self.run_case(case, folder));
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..at_once).map(|_| scope.spawn(|| work().collect::<Vec<_>>())).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    }

    fn run_case(&self, case: Case, folder: &Path) -> Ran {
        let outcome = observe(&self.suite, self.programs, &case, &folder.join(case.slug()));
        let demand = self.expected.demand(self.suite.line, &case);
        let ran = Ran { line: self.suite.line, case, demand, outcome };
        println!("{} {}", ran.name(), ran.result());
        ran
    }
}

// === impl Ran ===

impl Ran {
    pub(super) fn name(&self) -> String {
        let Case { scenario, version, subject, .. } = &self.case;
        format!("{} {scenario} {version} {}", self.line.name(), subject.name())
    }

    pub(super) fn passed(&self) -> bool {
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
        match (self.passed(), self.is_clean()) {
            (true, _) if !self.demand.excused.is_empty() => "ok, as far as it can be",
            (true, _) => "ok",
            (false, true) => "another count",
            (false, false) => "FAILED",
        }
    }
}
