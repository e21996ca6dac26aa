//! The judgement of one run: the suite's checks, and the exit status of the program under test.
//!
//! Used by `run` and `sweep`. The expected counts come from `expected`.

use serde_json::Value;

use crate::failure::{Failure, Result};

/// The expectation for a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Demand {
    /// The exact number of successful checks; `None` before the first recording.
    pub(super) successes: Option<u64>,
    /// Whether the program must end with an error, since the scenario tests a refusal.
    pub(super) must_refuse: bool,
    /// Checks that cannot pass, for a documented reason. None may pass.
    pub(super) excused: Vec<String>,
}

/// The evidence of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    pub(super) successes: u64,
    pub(super) complaints: Vec<Complaint>,
    /// Checks that the suite skipped or only noted.
    unjudged: Vec<String>,
    /// The exit status of the program under test; `None` if it did not end.
    pub(super) status: Option<i32>,
}

/// A failure or a warning of the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    check: String,
    text: String,
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
                Some("INFO" | "SKIPPED") => evidence.unjudged.push(word(check, "id").to_owned()),
                Some(_) => evidence.complaints.push(Complaint::read(check)),
                None => return Err(malformed().because("a check has no status")),
            }
        }
        Ok(evidence)
    }

    /// The reasons why the run does not pass.
    pub(super) fn problems(&self, demand: &Demand) -> Vec<String> {
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

    /// Whether the count may be recorded: the only problem may be the number. A run without successes proves nothing,
    /// unless the excuses explain it.
    pub(super) fn is_clean(&self, demand: &Demand) -> bool {
        let shows = self.successes > 0 || !demand.excused.is_empty();
        shows && self.faults(demand).is_empty()
    }

    fn faults(&self, demand: &Demand) -> Vec<String> {
        let ended = match self.status {
            Some(0) if demand.must_refuse => {
                Some("the client was content with what it has to refuse".to_owned())
            }
            Some(0) => None,
            Some(_) if demand.must_refuse => None,
            Some(status) => Some(format!("the program ended with status {status}")),
            None => Some("the program did not end".to_owned()),
        };
        let excused = |complaint: &&Complaint| !demand.excused.contains(&complaint.check);
        let complaints = self.complaints.iter().filter(excused).map(|it| it.text.clone());
        complaints.chain(self.unneeded(demand)).chain(ended).collect()
    }

    /// Excuses for checks that passed, or that do not exist.
    fn unneeded(&self, demand: &Demand) -> impl Iterator<Item = String> {
        let fails = |check: &String| {
            self.unjudged.contains(check) || self.complaints.iter().any(|it| it.check == *check)
        };
        let unneeded = demand.excused.iter().filter(move |check| !fails(check));
        unneeded
            .map(|check| format!("{check} is excused, but does not fail"))
            .collect::<Vec<_>>()
            .into_iter()
    }
}

impl Complaint {
    fn read(check: &Value) -> Self {
        let reason = check["errorMessage"].as_str().unwrap_or_else(|| word(check, "description"));
        let (status, id) = (word(check, "status"), word(check, "id"));
        Self { check: id.to_owned(), text: format!("{status} {id}: {reason}") }
    }
}

fn word<'a>(check: &'a Value, key: &str) -> &'a str {
    check[key].as_str().unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand() -> Demand {
        Demand { successes: Some(2), ..Demand::default() }
    }

    fn excused(check: &str) -> Demand {
        Demand { excused: vec![check.to_owned()], ..demand() }
    }

    fn evidence(statuses: &[&str], status: Option<i32>) -> Evidence {
        let checks: Vec<_> = statuses
            .iter()
            .map(|status| serde_json::json!({ "id": "c", "status": status, "description": "d" }))
            .collect();
        Evidence::from_checks(&serde_json::to_string(&checks).unwrap(), status).unwrap()
    }

    fn check(statuses: &[&str], status: Option<i32>, demand: &Demand, problems: &[&str]) {
        assert_eq!(evidence(statuses, status).problems(demand), problems);
    }

    #[test]
    fn the_exact_count_passes() {
        check(&["SUCCESS", "INFO", "SKIPPED", "SUCCESS"], Some(0), &demand(), &[]);
    }

    #[test]
    fn a_program_that_did_nothing_fails() {
        check(&[], Some(0), &demand(), &["0 successful checks instead of 2"]);
        check(&["SKIPPED"], Some(0), &demand(), &["0 successful checks instead of 2"]);
    }

    #[test]
    fn too_many_checks_fail_as_well() {
        check(&["SUCCESS"; 3], Some(0), &demand(), &["3 successful checks instead of 2"]);
    }

    #[test]
    fn failures_and_warnings_fail() {
        check(&["SUCCESS", "SUCCESS", "FAILURE"], Some(0), &demand(), &["FAILURE c: d"]);
        check(&["SUCCESS", "SUCCESS", "WARNING"], Some(0), &demand(), &["WARNING c: d"]);
    }

    #[test]
    fn what_is_excused_may_fail_and_has_to() {
        let good = ["SUCCESS", "SUCCESS"];
        check(&["SUCCESS", "SUCCESS", "FAILURE"], Some(0), &excused("c"), &[]);
        check(
            &["SUCCESS", "FAILURE"],
            Some(0),
            &excused("c"),
            &["1 successful checks instead of 2"],
        );
        check(&["SUCCESS", "SUCCESS", "SKIPPED"], Some(0), &excused("c"), &[]);
        check(&["SUCCESS", "SUCCESS", "INFO"], Some(0), &excused("c"), &[]);
        check(&good, Some(0), &excused("c"), &["c is excused, but does not fail"]);
        let other = ["FAILURE c: d", "x is excused, but does not fail"];
        check(&["SUCCESS", "SUCCESS", "FAILURE"], Some(0), &excused("x"), &other);
    }

    #[test]
    fn the_exit_status_counts_and_a_refusal_is_one() {
        let good = ["SUCCESS"; 2];
        check(&good, Some(1), &demand(), &["the program ended with status 1"]);
        check(&good, None, &demand(), &["the program did not end"]);
        let refusal = Demand { must_refuse: true, ..demand() };
        check(&good, Some(1), &refusal, &[]);
        check(&good, Some(0), &refusal, &["the client was content with what it has to refuse"]);
        check(&good, None, &refusal, &["the program did not end"]);
    }

    #[test]
    fn only_a_clean_run_may_be_recorded() {
        let unknown = Demand::default();
        assert!(evidence(&["SUCCESS"], Some(0)).is_clean(&unknown));
        assert!(!evidence(&["SUCCESS"], Some(0)).problems(&unknown).is_empty());
        assert!(!evidence(&["SUCCESS", "WARNING"], Some(0)).is_clean(&unknown));
        assert!(!evidence(&[], Some(0)).is_clean(&unknown));
        assert!(!evidence(&["INFO"], Some(0)).is_clean(&unknown));
        assert!(evidence(&["FAILURE"], Some(0)).is_clean(&excused("c")));
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(Evidence::from_checks("{}", Some(0)).is_err());
        assert!(Evidence::from_checks("[{}]", Some(0)).is_err());
    }
}
