//! The record of approved and rejected items, in user state.
//!
//! Used by `resolve` (read) and `workspace` (write). It does not ask a person; the fronts do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diff::{ApprovalChange, diff_contents};
use super::item::{ApprovalItem, ApprovalItemKind, folder_key};
use crate::edit::StateFile;
use crate::error::Error;

/// The decision on an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemVerdict {
    /// A person approved exactly this item.
    Approved,
    /// A person rejected exactly this item.
    Rejected,
    /// No decision yet. If an item of that name was approved before, the differences are given.
    Unknown {
        /// The differences from the last approved content.
        changes: Option<Vec<ApprovalChange>>,
    },
}

/// All decisions, as read from user state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Approvals {
    #[serde(default)]
    version: u32,
    /// The records by folder, then by hash.
    #[serde(default)]
    folders: BTreeMap<String, BTreeMap<String, ApprovalRecord>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ApprovalRecord {
    kind: ApprovalItemKind,
    name: String,
    decision: RecordedDecision,
    /// The approved content, kept to show changes.
    content: Value,
    /// The time of the decision, in seconds since 1970.
    decided: u64,
    /// The rule for start folders at that time; absent in records of the first rule.
    #[serde(default)]
    start_rule: StartRule,
    /// The secrets that the content named when it was approved; absent in records of before there were
    /// secrets, when such a reference was plain text.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    secrets: BTreeSet<String>,
}

/// In which folder a command starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StartRule {
    /// In the nearest project root of the caller.
    #[default]
    ProjectRoot,
    /// In the folder that its file belongs to.
    #[serde(rename = "own-folder")]
    EntryFolder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordedDecision {
    Approved,
    Rejected,
}

impl Approvals {
    /// The decision on `item`.
    pub fn verdict(&self, item: &ApprovalItem) -> ItemVerdict {
        let records = self.folders.get(&item.folder_key());
        let record = records.and_then(|records| records.get(&item.hash()));
        match record.map(|record| (record.decision, &record.secrets)) {
            Some((RecordedDecision::Approved, secrets)) if !item.secrets().is_subset(secrets) => {
                ItemVerdict::Unknown { changes: None }
            }
            Some((RecordedDecision::Approved, _)) => ItemVerdict::Approved,
            Some((RecordedDecision::Rejected, _)) => ItemVerdict::Rejected,
            None => ItemVerdict::Unknown { changes: self.changes_since(item) },
        }
    }

    /// Whether the decision on exactly this item is older than the rule that a command starts in the folder
    /// that its file belongs to.
    pub(crate) fn predates_start_folders(&self, item: &ApprovalItem) -> bool {
        let records = self.folders.get(&item.folder_key());
        let record = records.and_then(|records| records.get(&item.hash()));
        record.is_some_and(|record| record.start_rule == StartRule::ProjectRoot)
    }

    /// Whether a person approved exactly this item.
    pub fn is_approved(&self, item: &ApprovalItem) -> bool {
        self.verdict(item) == ItemVerdict::Approved
    }

    /// The secrets that approved items of all folders name.
    pub(crate) fn approved_secrets(&self) -> impl Iterator<Item = String> {
        let records = self.folders.values().flat_map(BTreeMap::values);
        let approved = records.filter(|record| record.decision == RecordedDecision::Approved);
        approved.flat_map(|record| record.secrets.iter().cloned())
    }

    fn changes_since(&self, item: &ApprovalItem) -> Option<Vec<ApprovalChange>> {
        let records = self.folders.get(&item.folder_key())?.values();
        let same = records.filter(|record| {
            record.kind == item.kind
                && record.name == item.name
                && record.decision == RecordedDecision::Approved
        });
        let last = same.max_by_key(|record| record.decided)?;
        Some(diff_contents(&last.content, &item.content))
    }

    fn decide(&mut self, items: &[ApprovalItem], decision: RecordedDecision, now: u64) {
        for item in items {
            let record = ApprovalRecord {
                kind: item.kind,
                name: item.name.clone(),
                decision,
                content: item.content.clone(),
                decided: now,
                start_rule: StartRule::EntryFolder,
                secrets: item.secrets(),
            };
            self.folders.entry(item.folder_key()).or_default().insert(item.hash(), record);
        }
    }

    fn forget(&mut self, root: &Path) -> usize {
        let inside = |key: &String| Path::new(key).starts_with(root) || *key == folder_key(root);
        let before: usize = self.folders.values().map(BTreeMap::len).sum();
        self.folders.retain(|key, _| !inside(key));
        before - self.folders.values().map(BTreeMap::len).sum::<usize>()
    }
}

/// The file that holds [`Approvals`]: private, replaced atomically, changed under a lock.
#[derive(Debug, Clone)]
pub struct ApprovalStore {
    file: StateFile,
}

impl ApprovalStore {
    /// The store in this state folder.
    pub fn new(state_dir: &Path) -> Self {
        Self { file: StateFile::new(state_dir, "approvals.json") }
    }

    /// The path of the record.
    pub fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }

    /// Loads the record; empty if there is none.
    pub fn load(&self) -> Result<Approvals, Error> {
        self.file.load()
    }

    /// Records that a person approved these items.
    pub fn approve(&self, items: &[ApprovalItem], now: u64) -> Result<(), Error> {
        self.change(|approvals| approvals.decide(items, RecordedDecision::Approved, now))
    }

    /// Records that a person rejected these items.
    pub fn reject(&self, items: &[ApprovalItem], now: u64) -> Result<(), Error> {
        self.change(|approvals| approvals.decide(items, RecordedDecision::Rejected, now))
    }

    /// Deletes every decision on files in or below `root`, and returns their number.
    pub fn reset(&self, root: &Path) -> Result<usize, Error> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.change(|approvals| approvals.forget(&root))
    }

    fn change<R>(&self, change: impl FnOnce(&mut Approvals) -> R) -> Result<R, Error> {
        self.file.change(|approvals: &mut Approvals| {
            approvals.version = 1;
            Ok(change(approvals))
        })
    }
}
