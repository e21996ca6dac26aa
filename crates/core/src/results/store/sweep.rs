//! Removes spilled results: first the expired ones, then the oldest of the owner that holds the most, until the rest
//! fits. So an owner that fills the store loses its own results, never another's.
//!
//! Used by `results::store`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::entry::{OwnerCard, files, id_of, remove_files};

/// Results younger than this are removed last: a reader may be about to open one.
const MIN_REMOVAL_AGE: Duration = Duration::from_secs(60);

/// All files of one result.
#[derive(Debug)]
struct StoredResult {
    files: Vec<PathBuf>,
    bytes: u64,
    age: Duration,
}

/// What a sweep left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swept {
    /// The size of the store.
    pub(super) bytes: u64,
    /// Whether the result that was just written had no room beside the results of other owners.
    pub(super) removed_writing: bool,
}

/// The results of a store that is too large, oldest first, with the owner of each.
struct CrowdedStore<'w> {
    results: Vec<(String, String, StoredResult)>,
    /// The bytes of each owner.
    owners: HashMap<String, u64>,
    writing: Option<&'w str>,
}

/// Removes expired and excess results. `writing` was just written: it goes only where its owner holds nothing else and
/// still holds the most.
pub(super) fn sweep(dir: &Path, cap: u64, keep: Duration, writing: Option<&str>) -> Swept {
    let mut held = stored_results(dir);
    held.retain(|id, one| {
        let stays = one.age < keep || writing == Some(id);
        if !stays {
            remove_files(&one.files);
        }
        stays
    });
    let mut swept =
        Swept { bytes: held.values().map(|one| one.bytes).sum(), removed_writing: false };
    if swept.bytes <= cap {
        return swept;
    }
    let mut crowded = CrowdedStore::new(dir, held, writing);
    while swept.bytes > cap {
        let Some((id, one)) = crowded.take_next() else { break };
        if one.age < MIN_REMOVAL_AGE {
            tracing::debug!(id, "a young result makes room for another");
        }
        remove_files(&one.files);
        swept.bytes -= one.bytes;
        swept.removed_writing |= writing == Some(&id);
    }
    swept
}

// === impl CrowdedStore ===

impl<'w> CrowdedStore<'w> {
    fn new(dir: &Path, held: HashMap<String, StoredResult>, writing: Option<&'w str>) -> Self {
        let mut owners: HashMap<String, u64> = HashMap::new();
        let mut results: Vec<_> = held
            .into_iter()
            .map(|(id, one)| {
                // A result without a card has no owner that could lose another one instead.
                let owner = OwnerCard::read(dir, &id).map(|card| card.owner).unwrap_or_default();
                *owners.entry(owner.clone()).or_default() += one.bytes;
                (owner, id, one)
            })
            .collect();
        results.sort_by_key(|(_, _, one)| std::cmp::Reverse(one.age));
        Self { results, owners, writing }
    }

    /// Takes out the result that goes next; `None` if only the one just written is left.
    fn take_next(&mut self) -> Option<(String, StoredResult)> {
        if self.results.len() <= usize::from(self.writing.is_some()) {
            return None;
        }
        let is_written = |id: &str| self.writing == Some(id);
        let mut results = self.results.iter();
        let writer = results.find(|(_, id, _)| is_written(id)).map(|(owner, ..)| owner);
        let largest =
            self.owners.iter().max_by_key(|(owner, bytes)| (**bytes, Some(*owner) == writer));
        let owner = largest?.0.clone();
        let mut of_owner =
            self.results.iter().enumerate().filter(|(_, (other, ..))| *other == owner);
        // The one just written is the owner's last.
        let first = of_owner.clone().find(|(_, (_, id, _))| !is_written(id));
        let (at, _) = first.or_else(|| of_owner.next())?;
        let (_, id, one) = self.results.remove(at);
        if let Some(bytes) = self.owners.get_mut(&owner) {
            *bytes -= one.bytes;
        }
        Some((id, one))
    }
}

fn stored_results(dir: &Path) -> HashMap<String, StoredResult> {
    let now = SystemTime::now();
    let mut held: HashMap<String, StoredResult> = HashMap::new();
    for file in files(dir) {
        let (Some(id), Ok(facts)) = (id_of(&file), file.symlink_metadata()) else { continue };
        // After the clock was set back, files may be from the future; they count as new.
        let age = facts.modified().ok().and_then(|at| now.duration_since(at).ok());
        let age = age.unwrap_or_default();
        let new = || StoredResult { files: Vec::new(), bytes: 0, age };
        let one = held.entry(id.to_owned()).or_insert_with(new);
        one.bytes += facts.len();
        one.age = one.age.min(age);
        one.files.push(file);
    }
    held
}
