//! The plan of an import: which servers would be added, and which skipped.
//!
//! Used by `switchboard import` through `ConfigWorkspace`. It does not write entries (`workspace`).

use std::collections::{BTreeMap, BTreeSet};

use super::{ClientServers, ImportCandidate};
use crate::entry::ServerSignature;
use crate::host_context::EnvironmentVariables;
use crate::install::is_switchboard_entry;
use crate::problem::ConfigProblem;
use crate::{check_entry, server_name};

/// The plan of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportPlan {
    /// The entries to write, under free names.
    pub add: Vec<ImportCandidate>,
    /// The servers that are skipped.
    pub skip: Vec<SkippedImport>,
    /// The problems of reading the files.
    pub problems: Vec<ConfigProblem>,
}

/// A skipped server.
#[derive(Debug, Clone, PartialEq)]
pub struct SkippedImport {
    /// The server's name in the other client.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// Plans to import every usable server that is not configured here yet, under whatever name.
pub fn plan_import(
    read: ClientServers,
    existing: &BTreeMap<String, ServerSignature>,
    env: &EnvironmentVariables,
) -> ImportPlan {
    let mut plan = ImportPlan { problems: read.problems, ..ImportPlan::default() };
    let mut known: BTreeMap<_, _> =
        existing.iter().map(|(name, signature)| (signature.clone(), name.clone())).collect();
    let mut names: BTreeSet<_> = existing.keys().cloned().collect();
    for mut found in read.servers {
        if is_switchboard_entry(&found.entry) {
            let why = "it is this program".to_owned();
            plan.skip.push(SkippedImport { name: found.name, why });
            continue;
        }
        let checked = check_entry(&found.name, &found.entry, &found.at, env);
        let Some(signature) = checked.entry.as_ref().map(ServerSignature::of_entry) else {
            plan.skip.push(SkippedImport {
                name: found.name,
                why: "its entry is not usable".to_owned(),
            });
            plan.problems.extend(checked.problems);
            continue;
        };
        if let Some(same) = known.get(&signature) {
            let why = format!("it is the same server as `{same}`");
            plan.skip.push(SkippedImport { name: found.name, why });
            continue;
        }
        found.name = free_name(&found.name, &names);
        names.insert(found.name.clone());
        known.insert(signature, found.name.clone());
        plan.add.push(found);
    }
    plan
}

/// A valid server name that is not taken.
fn free_name(wanted: &str, taken: &BTreeSet<String>) -> String {
    let wanted = server_name::normalize_server_name(wanted);
    let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
    let mut names = std::iter::once(wanted.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(wanted)
}
