//! The era and version with which each server was last reached, kept across runs in `eras.json`.
//!
//! Opened by `engine::storage`; used by `wire` through the era cache, so that a known server gets the right handshake
//! at once. It does not hold secrets: servers are identified by a digest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_config::private_file::replace_private_file;
use switchboard_wire::client::EraCache;

/// How many servers are remembered; beyond that the store is emptied.
const MAX_SERVERS_REMEMBERED: usize = 10_000;
/// The largest file that is read.
const MAX_ERA_FILE_BYTES: u64 = 4 << 20;

/// The era cache, and its file.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct EraStore {
    pub(in crate::engine) cache: Arc<EraCache>,
    file: Option<PathBuf>,
}

// === impl EraStore ===

impl EraStore {
    /// Loads the eras of former runs. An unreadable file counts as empty: eras can be found out again.
    pub(in crate::engine) fn open(state: &Path) -> Self {
        let eras = Self { cache: Arc::default(), file: Some(state.join("eras.json")) };
        for (target, known) in eras.read() {
            if let Ok(known) = known.parse() {
                eras.cache.restore(&target, known);
            }
        }
        eras
    }

    /// Writes the eras, unless the file is up to date.
    pub(in crate::engine) fn save(&self) {
        let Some(file) = &self.file else { return };
        let known = self.cache.entries().into_iter();
        let known: BTreeMap<String, String> = known
            .take(MAX_SERVERS_REMEMBERED)
            .map(|(target, known)| (target, known.to_string()))
            .collect();
        if known.is_empty() || known == self.read() {
            return;
        }
        if let Err(error) = write(file, &known) {
            tracing::debug!(%error, "how servers were reached could not be kept");
        }
    }

    fn read(&self) -> BTreeMap<String, String> {
        let Some(file) = &self.file else { return BTreeMap::new() };
        let is_small = fs::metadata(file).is_ok_and(|about| about.len() <= MAX_ERA_FILE_BYTES);
        let text = if is_small { fs::read(file).unwrap_or_default() } else { Vec::new() };
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

fn write(file: &Path, known: &BTreeMap<String, String>) -> std::io::Result<()> {
    replace_private_file(file, &serde_json::to_vec(known)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_wire::Version;

    #[test]
    fn what_was_learnt_is_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let eras = EraStore::open(folder.path());
        let check = |target: &str, version: Version, legacy_too: Option<bool>| {
            eras.cache.put(target, version);
            if let Some(legacy_too) = legacy_too {
                eras.cache.put_legacy_too(target, legacy_too);
            }
            eras.save();
            let again = EraStore::open(folder.path());
            assert_eq!(again.cache.get(target), Some(version), "{target}");
            assert_eq!(again.cache.legacy_too(target), legacy_too, "{target}");
        };
        check("legacy", Version::V2025_03_26, None);
        check("modern", Version::V2026_07_28, None);
        check("both", Version::V2026_07_28, Some(true));
        check("alone", Version::V2026_07_28, Some(false));
    }

    #[test]
    fn a_broken_file_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "{", "[]", r#"{"a":"1999-01-01"}"#] {
            fs::write(folder.path().join("eras.json"), text).unwrap();
            assert!(EraStore::open(folder.path()).cache.entries().is_empty(), "{text}");
        }
    }
}
