//! What an import would do, before it does it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, Read};
use crate::entry::Signature;
use crate::install::is_ours;
use crate::problem::Problem;
use crate::surroundings::Environment;
use crate::{check, name};

/// What an import would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Entries to write, under names that are free.
    pub add: Vec<Found>,
    /// Entries that stay behind.
    pub skip: Vec<Skipped>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// A server that is not taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Skipped {
    /// Its name in the other client.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Decides what to take over: everything usable that is not here already, whatever it is called.
pub fn plan(read: Read, existing: &BTreeMap<String, Signature>, env: &Environment) -> Plan {
    let mut plan = Plan { problems: read.problems, ..Plan::default() };
    let mut known: BTreeMap<_, _> =
        existing.iter().map(|(name, signature)| (signature.clone(), name.clone())).collect();
    let mut names: BTreeSet<_> = existing.keys().cloned().collect();
    for mut found in read.servers {
        if is_ours(&found.entry) {
            let why = "it is this program".to_owned();
            plan.skip.push(Skipped { name: found.name, why });
            continue;
        }
        let checked = check(&found.name, &found.entry, &found.at, env);
        let Some(signature) = checked.entry.as_ref().map(Signature::of) else {
            plan.skip.push(Skipped { name: found.name, why: "its entry is not usable".to_owned() });
            plan.problems.extend(checked.problems);
            continue;
        };
        if let Some(same) = known.get(&signature) {
            let why = format!("it is the same server as `{same}`");
            plan.skip.push(Skipped { name: found.name, why });
            continue;
        }
        found.name = free_name(&found.name, &names);
        names.insert(found.name.clone());
        known.insert(signature, found.name.clone());
        plan.add.push(found);
    }
    plan
}

/// A name that the command line takes and nobody has.
fn free_name(wanted: &str, taken: &BTreeSet<String>) -> String {
    let wanted = name::normalize(wanted);
    let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
    let mut names = std::iter::once(wanted.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(wanted)
}
