//! The expectations in `tests/conformance/<side>.json`: for each line, scenario, version and subject the exact number
//! of successful checks.
//!
//! Used by `conformance` to judge runs and to record new counts. Beside the counts it lists the scenarios in which a
//! client must end with an error (`refusals`), and the checks that cannot pass against a subject, each with the
//! reason (`cannot`). Scenario, version and subject of an entry in `cannot` may be lists.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::case::{Case, Line, Side, Subject};
use super::judge::Demand;
use super::run::Ran;
use super::sdk::Route;
use crate::failure::{AboutFile, Failure, Result};

/// The key of the scenarios in which a client must refuse.
const REFUSALS: &str = "refusals";
/// The key of the list of checks that cannot pass.
const CANNOT: &str = "cannot";

#[derive(Debug)]
pub(super) struct Expected(Map<String, Value>);

impl Expected {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).about("read", path)?;
        let misread = || Failure::new(format!("cannot understand `{}`", path.display()));
        let data: Map<String, Value> =
            serde_json::from_str(&text).map_err(|why| misread().because(why))?;
        let expected = Self(data);
        if let Some(entry) = expected.cannot().find(|entry| !is_sound(entry)) {
            return Err(misread().because(format!(
                "an entry of `{CANNOT}` lacks its place, its checks or its reason: {entry}"
            )));
        }
        Ok(expected)
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.0)
            .map_err(|why| Failure::new("cannot write the counts as JSON").because(why))?;
        fs::write(path, text + "\n").about("write", path)
    }

    pub(super) fn demand(&self, line: Line, case: &Case) -> Demand {
        let scenario = self.0.get(line.name()).and_then(|line| line.get(&case.scenario));
        let counts = scenario.and_then(|counts| counts.get(&case.version));
        let refusals = self.0.get(REFUSALS).and_then(Value::as_array);
        Demand {
            successes: counts.and_then(|counts| counts.get(case.subject.name())?.as_u64()),
            must_refuse: refusals
                .is_some_and(|list| list.contains(&Value::from(case.scenario.as_str()))),
            excused: self.excused(line, case),
        }
    }

    /// The checks that cannot pass. What one gateway cannot, several cannot either.
    fn excused(&self, line: Line, case: &Case) -> Vec<String> {
        let one = match case.subject {
            Subject::Replicas(behind) => Some(Subject::Gateway(behind)),
            _ => None,
        };
        let one = one.map(|subject| Case { subject, ..case.clone() });
        let is_covered = |entry: &&Value| {
            covers(entry, line, case) || one.as_ref().is_some_and(|one| covers(entry, line, one))
        };
        let entries = self.cannot().filter(is_covered);
        entries.flat_map(|entry| texts(&entry["checks"])).map(str::to_owned).collect()
    }

    fn cannot(&self) -> impl Iterator<Item = &Value> {
        self.0.get(CANNOT).and_then(Value::as_array).into_iter().flatten()
    }

    /// Entries of a side's subjects that match no case of the suite.
    pub(super) fn stale(&self, line: Line, side: Side, cases: &[Case]) -> Vec<String> {
        let subjects: Vec<_> = side.subjects().into_iter().map(Subject::name).collect();
        let scenarios = self.0.get(line.name()).and_then(Value::as_object).into_iter().flatten();
        let counted = scenarios.flat_map(|(scenario, versions)| {
            let versions = versions.as_object().into_iter().flatten();
            versions.flat_map(move |(version, subjects)| {
                let subjects = subjects.as_object().into_iter().flatten();
                subjects.map(move |(subject, _)| {
                    (scenario.as_str(), version.as_str(), subject.as_str())
                })
            })
        });
        let excused = self.cannot().filter(|entry| entry["line"] == line.name()).flat_map(places);
        counted
            .chain(excused)
            .filter(|(_, _, subject)| subjects.contains(subject))
            .filter(|place| !cases.iter().any(|case| *place == of(case)))
            .map(|(scenario, version, subject)| {
                let line = line.name();
                format!("{line} {scenario} {version} {subject}: the suite does not offer it")
            })
            .collect()
    }

    /// SDK servers with different expected counts directly and through the gateway, and replicas with other counts than
    /// one gateway, without an entry that explains it.
    pub(super) fn unexplained(&self, line: Line, cases: &[Case]) -> Vec<String> {
        let differs = |case: &&Case| {
            let reference = match case.subject {
                Subject::Sdk(sdk, _) => Subject::Sdk(sdk, Route::Direct),
                Subject::Replicas(behind) => Subject::Gateway(behind),
                Subject::Client | Subject::Gateway(_) | Subject::Plugins => return false,
            };
            let reference = Case { subject: reference, ..(*case).clone() };
            let (there, here) = (self.demand(line, &reference), self.demand(line, case));
            there.successes != here.successes && there.excused == here.excused
        };
        let differing = cases.iter().filter(differs);
        let text = |case: &Case| {
            let (scenario, version, subject) = of(case);
            format!(
                "{} {scenario} {version} {subject}: another count than directly, without a reason",
                line.name()
            )
        };
        differing.map(text).collect()
    }

    /// Records the counts of clean runs.
    pub(super) fn record(&mut self, all: &[Ran]) -> Result<()> {
        if let Some(ran) = all.iter().find(|ran| !ran.is_clean()) {
            let what = format!("cannot record: {} did not go well", ran.name());
            return Err(Failure::new(what).because(ran.problems().join("\n")));
        }
        for ran in all {
            let (line, case, count) = ran.count();
            let scenarios = child(&mut self.0, line.name())?;
            let versions = child(scenarios, &case.scenario)?;
            let subjects = child(versions, &case.version)?;
            subjects.insert(case.subject.name().to_owned(), count.into());
        }
        Ok(())
    }
}

/// Scenario, version and subject.
type Spot<'a> = (&'a str, &'a str, &'a str);

fn of(case: &Case) -> Spot<'_> {
    (&case.scenario, &case.version, case.subject.name())
}

/// All combinations that an entry names.
fn places(entry: &Value) -> Vec<Spot<'_>> {
    let mut places = Vec::new();
    for scenario in texts(&entry["scenario"]) {
        for version in texts(&entry["version"]) {
            places.extend(texts(&entry["behind"]).map(|subject| (scenario, version, subject)));
        }
    }
    places
}

/// The text, or the texts of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter_map(Value::as_str)
}

fn covers(entry: &Value, line: Line, case: &Case) -> bool {
    entry["line"] == line.name() && places(entry).contains(&of(case))
}

fn is_sound(entry: &Value) -> bool {
    let has = |key: &str| {
        let mut texts = texts(&entry[key]).peekable();
        texts.peek().is_some() && texts.all(|text| !text.is_empty())
    };
    ["line", "scenario", "version", "behind", "checks", "reason"].into_iter().all(has)
}

fn child<'a>(map: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Map<String, Value>> {
    let entry = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    entry.as_object_mut().ok_or_else(|| Failure::new(format!("`{key}` is not an object")))
}

#[cfg(test)]
mod tests {
    use super::super::case::Behind;
    use super::super::sdk::Sdk;
    use super::*;
    use serde_json::json;

    fn expected() -> Expected {
        let data = json!({
            "alpha": {
                "tools_call": { "2025-11-25": { "client": 2 } },
                "skill": { "2026-07-28": { "client": 1, "legacy": 5 } },
            },
            "refusals": ["skill"],
            "cannot": [{ "line": "alpha", "scenario": "skill", "version": "2026-07-28",
                         "behind": "legacy", "checks": ["c"], "reason": "it is so" }],
        });
        Expected(data.as_object().unwrap().clone())
    }

    fn case(scenario: &str, version: &str) -> Case {
        Case {
            scenario: scenario.into(),
            version: version.into(),
            subject: Subject::Client,
            forced: false,
        }
    }

    fn behind(behind: Behind) -> Case {
        Case { subject: Subject::Gateway(behind), ..case("skill", "2026-07-28") }
    }

    #[test]
    fn demands_are_per_line_scenario_version_and_subject() {
        let demand = |line, case: &Case| {
            let demand = expected().demand(line, case);
            (demand.successes, demand.must_refuse, demand.excused.len())
        };
        assert_eq!(demand(Line::Alpha, &case("tools_call", "2025-11-25")), (Some(2), false, 0));
        assert_eq!(demand(Line::Alpha, &case("tools_call", "2026-07-28")), (None, false, 0));
        assert_eq!(demand(Line::Stable, &case("tools_call", "2025-11-25")), (None, false, 0));
        assert_eq!(demand(Line::Alpha, &case("skill", "2026-07-28")), (Some(1), true, 0));
        assert_eq!(demand(Line::Alpha, &behind(Behind::Legacy)), (Some(5), true, 1));
        assert_eq!(demand(Line::Alpha, &behind(Behind::Modern)), (None, true, 0));
        assert_eq!(demand(Line::Stable, &behind(Behind::Legacy)), (None, true, 0));
    }

    #[test]
    fn entries_the_suite_dropped_are_told() {
        let stale = |line, side, cases: &[Case]| expected().stale(line, side, cases);
        let cases = [case("tools_call", "2025-11-25"), case("skill", "2026-07-28")];
        let gone = "alpha skill 2026-07-28 legacy: the suite does not offer it";
        assert_eq!(stale(Line::Alpha, Side::Server, &[]), [gone, gone], "the count and the excuse");
        assert!(stale(Line::Alpha, Side::Server, &[behind(Behind::Legacy)]).is_empty());
        assert!(stale(Line::Alpha, Side::Client, &cases).is_empty());
        assert_eq!(stale(Line::Alpha, Side::Client, &cases[..1]).len(), 1);
        assert!(stale(Line::Stable, Side::Server, &[]).is_empty());
    }

    #[test]
    fn replicas_pass_what_one_gateway_passes() {
        let replicas =
            Case { subject: Subject::Replicas(Behind::Legacy), ..case("skill", "2026-07-28") };
        let mut data = expected();
        let counted = |data: &mut Expected, count: u64| {
            data.0["alpha"]["skill"]["2026-07-28"]["legacy-replicas"] = json!(count);
        };
        counted(&mut data, 5);
        assert_eq!(data.demand(Line::Alpha, &replicas).excused, ["c"]);
        assert!(data.unexplained(Line::Alpha, std::slice::from_ref(&replicas)).is_empty());
        counted(&mut data, 4);
        assert_eq!(data.unexplained(Line::Alpha, std::slice::from_ref(&replicas)).len(), 1);
    }

    #[test]
    fn an_excuse_may_name_several_places() {
        let mut data = expected();
        data.0["cannot"][0]["behind"] = json!(["legacy", "modern"]);
        let excused = |case: &Case| data.demand(Line::Alpha, case).excused;
        assert_eq!(excused(&behind(Behind::Legacy)), ["c"]);
        assert_eq!(excused(&behind(Behind::Modern)), ["c"]);
        assert!(excused(&case("skill", "2026-07-28")).is_empty());
    }

    #[test]
    fn another_count_through_the_gateway_needs_a_reason() {
        let on = |route| Case {
            subject: Subject::Sdk(Sdk::TypeScript1, route),
            ..case("ping", "2025-11-25")
        };
        let cases = [on(Route::Direct), on(Route::Http)];
        let mut data = expected();
        data.0["alpha"]["ping"] = json!({ "2025-11-25": { "ts1 direct": 2, "ts1 http": 2 } });
        assert!(data.unexplained(Line::Alpha, &cases).is_empty());
        data.0["alpha"]["ping"]["2025-11-25"]["ts1 http"] = json!(1);
        let unexplained =
            "alpha ping 2025-11-25 ts1 http: another count than directly, without a reason";
        assert_eq!(data.unexplained(Line::Alpha, &cases), [unexplained]);
        data.0["cannot"] = json!([{ "line": "alpha", "scenario": "ping", "version": "2025-11-25",
                                    "behind": "ts1 http", "checks": ["c"], "reason": "it is so" }]);
        assert!(data.unexplained(Line::Alpha, &cases).is_empty());
    }

    #[test]
    fn an_excuse_without_a_reason_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.json");
        let mut data = expected();
        data.write(&path).unwrap();
        assert!(Expected::read(&path).is_ok());
        data.0["cannot"][0]["reason"] = json!("");
        data.write(&path).unwrap();
        assert!(Expected::read(&path).is_err());
    }
}
