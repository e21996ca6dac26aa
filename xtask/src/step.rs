//! The report of a long run: each step is printed, timed and recorded, and a failed one does not
//! stop the others.
//!
//! Used by `everything`.

use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::table;

/// How a step ended.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Success,
    Skipped(String),
    Failed(Failure),
}

/// A finished step.
struct Done {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Report(Vec<Done>);

impl Report {
    /// Runs a step that passes or fails. Returns its value for later steps.
    pub(crate) fn step<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut made = None;
        self.optional(name, || {
            made = Some(work()?);
            Ok(Outcome::Success)
        });
        let failed = || Failure::new(format!("the step `{name}` failed"));
        made.ok_or_else(failed)
    }

    /// Runs a step that may be skipped.
    pub(crate) fn optional(&mut self, name: &'static str, work: impl FnOnce() -> Result<Outcome>) {
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = work().unwrap_or_else(Outcome::Failed);
        match &outcome {
            Outcome::Success => {}
            Outcome::Skipped(why) => println!("skipped: {why}"),
            Outcome::Failed(failure) => println!("failed: {failure}"),
        }
        self.0.push(Done { name, outcome, took: start.elapsed() });
    }

    /// Prints what failed, the table and the closing line. Fails if a step failed.
    pub(crate) fn close(self) -> Result<()> {
        for done in &self.0 {
            if let Outcome::Failed(failure) = &done.outcome {
                println!("\n--- {}: {failure}", done.name);
            }
        }
        println!("\n{}\n\n{}", self.table(), self.closing_line());
        match self.count(|outcome| matches!(outcome, Outcome::Failed(_))) {
            0 => Ok(()),
            n => Err(Failure::new(format!("{n} of {} steps failed", self.0.len()))),
        }
    }

    fn table(&self) -> String {
        let rows: Vec<_> = self.0.iter().map(Done::row).collect();
        table::render(&["step", "time", "result"], &rows)
    }

    fn closing_line(&self) -> String {
        let passed = self.count(|outcome| matches!(outcome, Outcome::Success));
        let failed = self.count(|outcome| matches!(outcome, Outcome::Failed(_)));
        match self.0.len() - passed - failed {
            0 => format!("{passed} passed, {failed} failed"),
            skipped => format!("{passed} passed, {failed} failed, {skipped} skipped"),
        }
    }

    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.0.iter().filter(|done| which(&done.outcome)).count()
    }
}

impl Done {
    fn row(&self) -> Vec<String> {
        let result = match &self.outcome {
            Outcome::Success => "ok".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Failed(failure) => format!("FAILED: {}", failure.headline()),
        };
        vec![self.name.to_owned(), format!("{:.1}s", self.took.as_secs_f32()), result]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Report {
        let mut report = Report::default();
        assert_eq!(report.step("one", || Ok(1)).unwrap(), 1);
        assert!(report.step("two", || Err::<(), _>(Failure::new("broke\nbadly"))).is_err());
        report.optional("three", || Ok(Outcome::Skipped("not installed".into())));
        report
    }

    #[test]
    fn a_failed_step_does_not_hide_the_others() {
        let report = mixed();
        assert_eq!(report.closing_line(), "1 passed, 1 failed, 1 skipped");
        assert!(report.close().is_err());
    }

    #[test]
    fn the_table_has_a_line_for_each_step() {
        let table = mixed().table();
        assert!(table.contains("FAILED: broke"), "{table}");
        assert!(!table.contains("badly"), "{table}");
        assert!(table.contains("skipped: not installed"), "{table}");
    }

    #[test]
    fn all_passed_is_a_plain_line() {
        let mut report = Report::default();
        report.step("one", || Ok(())).unwrap();
        assert_eq!(report.closing_line(), "1 passed, 0 failed");
        assert!(report.close().is_ok());
    }
}
