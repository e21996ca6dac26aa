//! Notices about imported servers that will not start: a command that is not installed, a variable without a value, a
//! folder of a project.
//!
//! Used by `setup`. Nothing is refused for them: commands can be installed and variables set later.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_config::setup::SetupPlan;
use switchboard_config::{ProblemHint, Scope, check_entry};

use super::super::write_entry;
use crate::notice::Notice;
use crate::show;
use crate::surroundings::Caller;

/// What several servers lack, and their names.
#[derive(Default)]
struct Lack<'a> {
    what: BTreeSet<String>,
    servers: BTreeSet<&'a str>,
}

/// At most one notice of each kind, each with the names of all servers.
pub(super) fn notices(plan: &SetupPlan, caller: &Caller) -> Vec<Notice> {
    let (mut commands, mut variables) = (Lack::default(), Lack::default());
    let mut of_projects = BTreeSet::new();
    for planned in &plan.import.add {
        let (name, entry) = (&*planned.name, &planned.candidate.entry);
        if let Some(command) = write_entry::missing_command(Scope::User, entry, caller) {
            commands.add(command, name);
        }
        let checked = check_entry(name, entry, &planned.candidate.at, &caller.surroundings.env);
        for problem in &checked.problems {
            if let Some(ProblemHint::SetVariable(variable)) = &problem.hint {
                variables.add(variable, name);
            }
        }
        if names_project(entry) {
            of_projects.insert(name);
        }
    }
    let commands = commands.notice("the command", "was not found", "were not found");
    let variables = variables.notice("the variable", "is not set", "are not set");
    let variables = variables.map(|notice| {
        notice.with_hint(
            "give it a value where your clients start, or in the secret store: `switchboard secret set`",
        )
    });
    let of_projects = (!of_projects.is_empty()).then(|| {
        let names = list(of_projects);
        Notice::note(format!("only in a project, because of `${{workspaceFolder}}`: {names}"))
            .with_hint("clients start these servers where they work in a project, and nowhere else")
    });
    commands.into_iter().chain(variables).chain(of_projects).collect()
}

/// Whether an entry can start in a project only.
fn names_project(entry: &Value) -> bool {
    entry.to_string().contains("${workspaceFolder")
}

fn list(names: BTreeSet<&str>) -> String {
    names.into_iter().map(show::word).collect::<Vec<_>>().join(", ")
}

// === impl Lack ===

impl<'a> Lack<'a> {
    fn add(&mut self, what: &str, server: &'a str) {
        self.what.insert(format!("`{what}`"));
        self.servers.insert(server);
    }

    fn notice(self, thing: &str, one: &str, several: &str) -> Option<Notice> {
        let (plural, verb) = match self.what.len() {
            0 => return None,
            1 => ("", one),
            _ => ("s", several),
        };
        let what = Vec::from_iter(self.what).join(", ");
        let servers = list(self.servers);
        Some(Notice::warning(format!(
            "{thing}{plural} {what} {verb}, so these cannot start: {servers}"
        )))
    }
}
