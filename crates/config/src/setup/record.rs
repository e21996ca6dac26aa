//! The record of what a setup has changed: for each file its text before, and a digest of its text after.
//!
//! Used by `setup::carry_out` and `setup::undo`. The record holds secrets of clients' files, so it is a private
//! file of user state. It does not edit the files that it is about.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::file_change::MemberValue;
use crate::approval::hex;
use crate::edit::StateFile;
use crate::error::Error;
use crate::install::ClientFileFormat;

/// The file of the record in the state folder.
const RECORD_FILE: &str = "setup.json";

/// All changes of setups that were not undone, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    pub(super) changes: Vec<ChangedFile>,
    /// The secrets that setups stored, each with the digest of its value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) secrets: BTreeMap<String, String>,
}

/// One change of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangedFile {
    /// The file, by the path that the client uses.
    pub(super) file: PathBuf,
    pub(super) format: ClientFileFormat,
    /// The client's name; absent for our own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    /// The text before the change; absent if there was no file.
    pub(super) original: Option<String>,
    /// The folders that were created for the file, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) new_folders: Vec<PathBuf>,
    /// The digest of the text after the change.
    pub(super) digest: String,
    /// The members that the change set.
    pub(super) added: Vec<MemberValue>,
    /// The members that the change removed or replaced.
    pub(super) removed: Vec<MemberValue>,
}

/// The digest of a text.
pub(super) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Write { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

// === impl SetupRecord ===

impl SetupRecord {
    pub(super) fn file(state_dir: &Path) -> StateFile {
        StateFile::new(state_dir, RECORD_FILE)
    }

    pub(super) fn load(state_dir: &Path) -> Result<Self, Error> {
        Self::file(state_dir).load()
    }

    /// Writes the record, which is on the disk when this returns. An empty record is no file.
    pub(super) fn save(&self, state_dir: &Path) -> Result<(), Error> {
        if *self == Self::default() {
            return remove_file(Self::file(state_dir).path());
        }
        Self::file(state_dir).change(|record: &mut Self| {
            record.clone_from(self);
            Ok(())
        })
    }

    /// Adds a change. One that begins where the last change of its file ended continues that change, so that the
    /// text from before both is kept.
    pub(super) fn push(&mut self, change: ChangedFile) {
        let last = self.changes.iter_mut().rev().find(|last| last.file == change.file);
        match last {
            Some(last) if change.original.as_deref().map(digest).as_ref() == Some(&last.digest) => {
                last.extend(change);
            }
            // The last change was recorded, and the program ended before it was made.
            Some(last) if change.original == last.original => *last = change,
            _ => self.changes.push(change),
        }
    }

    /// The files that were changed, each once.
    pub(super) fn files(&self) -> Vec<&Path> {
        let mut files: Vec<_> = Vec::new();
        for change in &self.changes {
            if !files.contains(&&*change.file) {
                files.push(&*change.file);
            }
        }
        files
    }
}

// === impl ChangedFile ===

impl ChangedFile {
    fn extend(&mut self, next: Self) {
        let is_ours =
            |member: &MemberValue| self.added.iter().any(|added| added.path == member.path);
        let removed: Vec<_> = next.removed.into_iter().filter(|member| !is_ours(member)).collect();
        self.removed.extend(removed);
        self.added.retain(|old| next.added.iter().all(|new| new.path != old.path));
        self.added.extend(next.added);
        self.digest = next.digest;
    }
}
