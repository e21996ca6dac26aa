//! Judging one run: the checks the suite wrote, and how the client ended.

use serde_json::Value;

use crate::failure::{Failure, Result};

/// What a run must show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    /// The exact number of successful checks; none is known before the first recording.
    pub(super) successes: Option<u64>,
    /// The client has to end with an error, since refusing is what the scenario is about.
    pub(super) must_refuse: bool,
}

/// What a run showed.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    pub(super) successes: u64,
    /// Failures and warnings, in the suite's words.
    pub(super) complaints: Vec<String>,
    /// The client's exit status; none if it did not end.
    pub(super) status: Option<i32>,
}

impl Evidence {
    /// Reads `checks.json`: a list of objects with `id`, `status` and perhaps `errorMessage`.
    pub(super) fn from_checks(text: &str, status: Option<i32>) -> Result<Self> {
        let malformed = || Failure::new("cannot understand checks.json");
        let checks: Vec<Value> =
            serde_json::from_str(text).map_err(|why| malformed().because(why))?;
        let mut evidence = Self { status, ..Self::default() };
        for check in &checks {
            match check["status"].as_str() {
                Some("SUCCESS") => evidence.successes += 1,
                Some("SKIPPED" | "INFO") => {}
                Some(_) => evidence.complaints.push(complaint(check)),
                None => return Err(malformed().because("a check has no status")),
            }
        }
        Ok(evidence)
    }

    /// Everything that keeps the run from passing.
    pub(super) fn problems(&self, demand: Demand) -> Vec<String> {
        let mut problems = self.faults(demand);
        match demand.successes {
            Some(wanted) if wanted == self.successes => {}
            Some(wanted) => {
                problems.push(format!("{} successful checks instead of {wanted}", self.successes));
            }
            None => problems.push(format!(
                "{} successful checks, but no number is recorded (see --record)",
                self.successes
            )),
        }
        problems
    }

    /// Whether the count may be recorded: nothing is wrong but, perhaps, the number itself.
    pub(super) fn is_clean(&self, demand: Demand) -> bool {
        self.successes > 0 && self.faults(demand).is_empty()
    }

    fn faults(&self, demand: Demand) -> Vec<String> {
        let ended = match self.status {
            Some(0) if demand.must_refuse => {
                Some("the client was content with what it has to refuse".to_owned())
            }
            Some(0) => None,
            Some(_) if demand.must_refuse => None,
            Some(status) => Some(format!("the client ended with status {status}")),
            None => Some("the client did not end".to_owned()),
        };
        self.complaints.iter().cloned().chain(ended).collect()
    }
}

fn complaint(check: &Value) -> String {
    let text = |key: &str| check[key].as_str().unwrap_or("?");
    let reason = check["errorMessage"].as_str().unwrap_or_else(|| text("description"));
    format!("{} {}: {reason}", text("status"), text("id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand { successes: Some(2), must_refuse: false };

    fn evidence(statuses: &[&str], status: Option<i32>) -> Evidence {
        let checks: Vec<_> = statuses
            .iter()
            .map(|status| serde_json::json!({ "id": "c", "status": status, "description": "d" }))
            .collect();
        Evidence::from_checks(&serde_json::to_string(&checks).unwrap(), status).unwrap()
    }

    fn check(statuses: &[&str], status: Option<i32>, demand: Demand, problems: &[&str]) {
        assert_eq!(evidence(statuses, status).problems(demand), problems);
    }

    #[test]
    fn the_exact_count_passes() {
        check(&["SUCCESS", "INFO", "SKIPPED", "SUCCESS"], Some(0), DEMAND, &[]);
    }

    #[test]
    fn a_client_that_did_nothing_fails() {
        check(&[], Some(0), DEMAND, &["0 successful checks instead of 2"]);
        check(&["SKIPPED"], Some(0), DEMAND, &["0 successful checks instead of 2"]);
    }

    #[test]
    fn too_many_checks_fail_as_well() {
        check(&["SUCCESS"; 3], Some(0), DEMAND, &["3 successful checks instead of 2"]);
    }

    #[test]
    fn failures_and_warnings_fail() {
        check(&["SUCCESS", "SUCCESS", "FAILURE"], Some(0), DEMAND, &["FAILURE c: d"]);
        check(&["SUCCESS", "SUCCESS", "WARNING"], Some(0), DEMAND, &["WARNING c: d"]);
    }

    #[test]
    fn the_exit_status_counts_and_a_refusal_is_one() {
        let good = ["SUCCESS"; 2];
        check(&good, Some(1), DEMAND, &["the client ended with status 1"]);
        check(&good, None, DEMAND, &["the client did not end"]);
        let refusal = Demand { must_refuse: true, ..DEMAND };
        check(&good, Some(1), refusal, &[]);
        check(&good, Some(0), refusal, &["the client was content with what it has to refuse"]);
        check(&good, None, refusal, &["the client did not end"]);
    }

    #[test]
    fn only_a_clean_run_may_be_recorded() {
        let unknown = Demand { successes: None, must_refuse: false };
        assert!(evidence(&["SUCCESS"], Some(0)).is_clean(unknown));
        assert!(!evidence(&["SUCCESS"], Some(0)).problems(unknown).is_empty());
        assert!(!evidence(&["SUCCESS", "WARNING"], Some(0)).is_clean(unknown));
        assert!(!evidence(&[], Some(0)).is_clean(unknown));
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(Evidence::from_checks("{}", Some(0)).is_err());
        assert!(Evidence::from_checks("[{}]", Some(0)).is_err());
    }
}
