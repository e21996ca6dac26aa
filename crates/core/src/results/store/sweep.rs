//! Removes spilled results: first the expired ones, then the oldest until the rest fits.
//!
//! Used by `results::store`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::entry::{files, id_of, remove_files};

/// Results younger than this are removed last: a reader may be about to open one.
const MIN_REMOVAL_AGE: Duration = Duration::from_secs(60);

/// All files of one result.
#[derive(Debug)]
struct StoredResult {
    files: Vec<PathBuf>,
    bytes: u64,
    age: Duration,
}

/// Removes expired and excess results, but never `writing`. Returns how many bytes are left.
pub(super) fn sweep(dir: &Path, cap: u64, keep: Duration, writing: Option<&str>) -> u64 {
    let mut held: Vec<(String, StoredResult)> = stored_results(dir).into_iter().collect();
    held.retain(|(id, one)| {
        let stays = one.age < keep || writing == Some(id);
        if !stays {
            remove_files(&one.files);
        }
        stays
    });
    let mut bytes: u64 = held.iter().map(|(_, one)| one.bytes).sum();
    // The oldest first; young results only when no others are left.
    held.sort_by_key(|(_, one)| std::cmp::Reverse(one.age));
    for (id, one) in held.iter().filter(|(id, _)| writing != Some(id.as_str())) {
        if bytes <= cap {
            break;
        }
        if one.age < MIN_REMOVAL_AGE {
            tracing::debug!(id, "a young result makes room for another");
        }
        remove_files(&one.files);
        bytes -= one.bytes;
    }
    bytes
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
