//! `tests/conformance/client.json`: for each line, scenario and version the exact number of checks
//! that succeed for a good client, and the scenarios in which a client has to end with an error.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::judge::Demand;
use super::run::Ran;
use super::{Case, Line};
use crate::failure::{AboutFile, Failure, Result};

/// The key of the list of scenarios that are about refusing.
const REFUSALS: &str = "refusals";

#[derive(Debug)]
pub(super) struct Expected(Map<String, Value>);

impl Expected {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).about("read", path)?;
        let data = serde_json::from_str(&text);
        data.map(Self).map_err(|why| {
            Failure::new(format!("cannot understand `{}`", path.display())).because(why)
        })
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.0)
            .map_err(|why| Failure::new("cannot write the counts as JSON").because(why))?;
        fs::write(path, text + "\n").about("write", path)
    }

    pub(super) fn demand(&self, line: Line, case: &Case) -> Demand {
        let scenario = self.0.get(line.name()).and_then(|line| line.get(&case.scenario));
        let successes = scenario.and_then(|counts| counts.get(&case.version)?.as_u64());
        let refusals = self.0.get(REFUSALS).and_then(Value::as_array);
        let must_refuse =
            refusals.is_some_and(|list| list.contains(&Value::from(case.scenario.as_str())));
        Demand { successes, must_refuse }
    }

    /// Entries for which the suite has no case any more.
    pub(super) fn stale(&self, line: Line, cases: &[Case]) -> Vec<String> {
        let offered = |scenario: &str, version: &str| {
            cases.iter().any(|case| case.scenario == scenario && case.version == version)
        };
        let scenarios = self.0.get(line.name()).and_then(Value::as_object).into_iter().flatten();
        scenarios
            .flat_map(|(scenario, counts)| {
                let versions = counts.as_object().into_iter().flatten();
                versions.map(move |(version, _)| (scenario, version))
            })
            .filter(|(scenario, version)| !offered(scenario, version))
            .map(|(scenario, version)| {
                format!("{} {scenario} {version}: the suite does not offer it", line.name())
            })
            .collect()
    }

    /// Takes over the counts of clean runs.
    pub(super) fn record(&mut self, all: &[Ran]) -> Result<()> {
        if let Some(ran) = all.iter().find(|ran| !ran.is_clean()) {
            let what = format!("cannot record: {} did not go well", ran.name());
            return Err(Failure::new(what).because(ran.problems().join("\n")));
        }
        for ran in all {
            let (line, case, count) = ran.count();
            let scenarios = child(&mut self.0, line.name())?;
            child(scenarios, &case.scenario)?.insert(case.version.clone(), count.into());
        }
        Ok(())
    }
}

fn child<'a>(map: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Map<String, Value>> {
    let entry = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    entry.as_object_mut().ok_or_else(|| Failure::new(format!("`{key}` is not an object")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expected() -> Expected {
        let data = json!({
            "alpha": { "tools_call": { "2025-11-25": 2 }, "skill": { "2026-07-28": 1 } },
            "refusals": ["skill"],
        });
        Expected(data.as_object().unwrap().clone())
    }

    fn case(scenario: &str, version: &str) -> Case {
        Case { scenario: scenario.into(), version: version.into(), forced: false }
    }

    #[test]
    fn demands_are_per_line_scenario_and_version() {
        let demand = |line, case: &Case| {
            let demand = expected().demand(line, case);
            (demand.successes, demand.must_refuse)
        };
        assert_eq!(demand(Line::Alpha, &case("tools_call", "2025-11-25")), (Some(2), false));
        assert_eq!(demand(Line::Alpha, &case("tools_call", "2026-07-28")), (None, false));
        assert_eq!(demand(Line::Stable, &case("tools_call", "2025-11-25")), (None, false));
        assert_eq!(demand(Line::Alpha, &case("skill", "2026-07-28")), (Some(1), true));
    }

    #[test]
    fn entries_the_suite_dropped_are_told() {
        let cases = [case("tools_call", "2025-11-25")];
        let stale = expected().stale(Line::Alpha, &cases);
        assert_eq!(stale, ["alpha skill 2026-07-28: the suite does not offer it"]);
        assert!(expected().stale(Line::Stable, &cases).is_empty());
    }
}
