//! [`SecretTransfer`]: storing the secrets of a setup, and what an undo does with them.
//!
//! Used by `setup::carry_out` and `setup::undo`. The record names a secret before the store has it, so that no
//! secret of a setup that ended early is forgotten. It does not choose names (`secret::move_plan`).

use std::collections::BTreeSet;

use super::record::{SetupRecord, digest};
use super::undo::FileUndo;
use crate::approval::ApprovalStore;
use crate::error::Error;
use crate::host_context::{HostContext, ResolveOptions};
use crate::load;
use crate::secret::{SecretMovePlan, SecretStorage, collect_names_in_text, collect_secret_names};

/// The secrets of a setup, and the store that they move to.
pub struct SecretTransfer<'a> {
    /// The secrets.
    pub plan: &'a SecretMovePlan,
    /// The store.
    pub storage: &'a dyn SecretStorage,
}

/// The undo of one secret that a setup stored.
#[derive(Debug)]
pub struct SecretUndo {
    /// The name of the secret.
    pub name: String,
    /// What becomes of the secret, or why that cannot be told.
    pub fate: Result<SecretFate, Error>,
}

/// What an undo does with a secret that a setup stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretFate {
    /// The secret is removed from the store.
    Remove,
    /// The secret stays, because an entry names it.
    StillNamed,
    /// The secret stays, because it has another value since.
    Replaced,
    /// The secret was removed since.
    Missing,
}

// === impl SecretTransfer ===

impl SecretTransfer<'_> {
    /// Stores the new secrets of the servers that are imported, and returns their names. A failure leaves the store
    /// and the record as they were.
    pub(super) fn store(
        &self,
        imported: &[String],
        host: &HostContext,
    ) -> Result<Vec<String>, Error> {
        let values = self.plan.new_values(|server| imported.iter().any(|name| name == server));
        if values.is_empty() {
            return Ok(Vec::new());
        }
        let before = SetupRecord::load(&host.state_dir)?;
        let mut record = before.clone();
        let digests = values.iter().map(|(name, value)| (name.clone(), digest(value.expose())));
        record.secrets.extend(digests);
        record.save(&host.state_dir)?;
        if let Err(error) = self.storage.store_values(&values) {
            before.save(&host.state_dir)?;
            return Err(error);
        }
        Ok(values.into_keys().collect())
    }

    /// Removes secrets that were stored for entries which could not be written.
    pub(super) fn take_back(&self, names: &[String], host: &HostContext) -> Result<(), Error> {
        for name in names {
            self.storage.remove_value(name)?;
        }
        let mut record = SetupRecord::load(&host.state_dir)?;
        record.secrets.retain(|name, _| !names.contains(name));
        record.save(&host.state_dir)
    }

    /// The secrets that the entries of these servers name now instead of a value.
    pub(super) fn secrets_of(&self, imported: &[String]) -> Vec<String> {
        let moves = self.plan.moves.iter().filter(|each| imported.contains(&each.server));
        moves.map(|each| each.secret.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

// === impl SecretFate ===

impl SecretFate {
    /// A stable word for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::StillNamed => "still-named",
            Self::Replaced => "replaced",
            Self::Missing => "missing",
        }
    }
}

/// What becomes of each secret of the record, once the files are as `files` plans them.
pub(super) fn plan_secret_undo(
    record: &SetupRecord,
    files: &[FileUndo],
    host: &HostContext,
    storage: &dyn SecretStorage,
) -> Vec<SecretUndo> {
    if record.secrets.is_empty() {
        return Vec::new();
    }
    let named = names_in_use(files, host);
    let undo = |(name, digest): (&String, &String)| {
        let fate = fate(name, digest, &named, storage);
        SecretUndo { name: name.clone(), fate }
    };
    record.secrets.iter().map(undo).collect()
}

fn fate(
    name: &str,
    stored_digest: &str,
    named: &BTreeSet<String>,
    storage: &dyn SecretStorage,
) -> Result<SecretFate, Error> {
    if named.contains(name) {
        return Ok(SecretFate::StillNamed);
    }
    if !storage.stored_names()?.contains(name) {
        return Ok(SecretFate::Missing);
    }
    let value = storage.stored_value(name)?;
    let is_ours = value.is_some_and(|value| digest(value.expose()) == stored_digest);
    Ok(if is_ours { SecretFate::Remove } else { SecretFate::Replaced })
}

/// The secrets that entries name: in the files of this caller, in our settings as they will be, and in whatever a
/// person approved in any project.
fn names_in_use(files: &[FileUndo], host: &HostContext) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let loaded = load::load_scopes(host, &ResolveOptions::default());
    let is_planned = |path| files.iter().any(|undo| Some(&*undo.file) == path);
    for candidate in loaded.candidates.iter().filter(|each| !is_planned(each.at.origin.path())) {
        collect_secret_names(&candidate.node, &mut names);
    }
    for text in files.iter().filter_map(FileUndo::planned_settings) {
        collect_names_in_text(text, &mut names);
    }
    // A record that cannot be read approves nothing.
    let approvals = ApprovalStore::new(&host.state_dir).load().unwrap_or_default();
    names.extend(approvals.approved_secrets());
    names
}
