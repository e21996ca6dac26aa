//! Carrying out a setup: import first, then each client's files, one atomic change for each file.
//!
//! Used by `switchboard setup`. The record of a change is on the disk before the change, and a server leaves a
//! client's file only once a second reading finds it in our settings. A failure costs one file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file_change::{MemberReplacement, MemberValue, PlannedFile};
use super::plan::{ServerPlace, SetupOptions, SetupPlan, plan_setup};
use super::record::{ChangedFile, SetupRecord, digest};
use super::secret_transfer::SecretTransfer;
use crate::edit::{FilePrivacy, update_file};
use crate::error::Error;
use crate::host_context::HostContext;
use crate::import::ClientApp;
use crate::install::ClientFileFormat;
use crate::private_file::FileLock;
use crate::workspace::ConfigWorkspace;

/// How long another setup may take.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// The file that one setup at a time holds, in the state folder.
const LOCK_FILE: &str = "setup.lock";

/// The outcome of a setup.
#[derive(Debug, Default)]
pub struct SetupOutcome {
    /// The names of the imported servers.
    pub imported: Vec<String>,
    /// The names of servers that were here before, and whose entries name secrets now.
    pub replaced: Vec<String>,
    /// The names of the secrets that were moved to the secret store.
    pub moved_secrets: Vec<String>,
    /// The changed files of clients.
    pub changed: Vec<PlannedFile>,
    /// What failed.
    pub failures: Vec<ClientFailure>,
}

/// A part of a setup that failed and changed nothing.
#[derive(Debug)]
pub struct ClientFailure {
    /// The client.
    pub client: ClientApp,
    /// The server that could not be imported, if it was one.
    pub server: Option<String>,
    /// The error.
    pub error: Error,
}

/// Carries out a plan. An error means that nothing was changed, for example because a client's file has changed since
/// the plan was made, or our settings cannot be written.
///
/// With `transfer`, values move to the secret store before our settings name them.
pub fn carry_out(
    plan: &SetupPlan,
    workspace: &ConfigWorkspace,
    host: &HostContext,
    options: &SetupOptions,
    transfer: Option<&SecretTransfer<'_>>,
) -> Result<SetupOutcome, Error> {
    let _lock = lock(host)?;
    if let Some(path) = plan.changed_since(&plan_setup(workspace, host, options)) {
        return Err(Error::PlanOutdated { path });
    }
    let mut outcome = SetupOutcome::default();
    import(plan, workspace, host, transfer, &mut outcome)?;
    let now = plan_setup(workspace, host, options);
    for planned in plan.file_changes() {
        let planned = without_unimported(planned, &now);
        match change_file(&planned, host) {
            Ok(()) if planned.is_empty() => {}
            Ok(()) => outcome.changed.push(planned),
            Err(error) => outcome.failures.extend(planned.client.map(|client| ClientFailure {
                client,
                server: None,
                error,
            })),
        }
    }
    Ok(outcome)
}

/// Takes the lock that one setup or undo at a time holds.
pub(super) fn lock(host: &HostContext) -> Result<FileLock, Error> {
    let path = host.state_dir.join(LOCK_FILE);
    FileLock::acquire_within(&path, LOCK_TIMEOUT)
        .map_err(|error| Error::Lock { path, source: error.into() })
}

/// Writes the planned servers into our settings, in one change.
fn import(
    plan: &SetupPlan,
    workspace: &ConfigWorkspace,
    host: &HostContext,
    transfer: Option<&SecretTransfer<'_>>,
    outcome: &mut SetupOutcome,
) -> Result<(), Error> {
    let mut settings = PlannedFile::new(None, plan.settings.clone(), ClientFileFormat::Json);
    for planned in &plan.import.add {
        let (name, entry) = (&planned.name, &planned.candidate.entry);
        // Policy judges the entry with its values: one that names secrets is not complete.
        match workspace.check_policy(name, entry, &plan.settings) {
            Ok(()) => {
                let entry = transfer
                    .map_or_else(|| entry.clone(), |each| each.plan.replace_in(name, entry));
                settings.set.push(MemberValue::new(&["mcpServers"], name, entry));
            }
            Err(error) => outcome.failures.push(ClientFailure {
                client: planned.candidate.client,
                server: Some(name.clone()),
                error,
            }),
        }
    }
    settings.replace = transfer.map(|each| plan_replacements(plan, each)).unwrap_or_default();
    let imported: Vec<_> = settings.set.iter().map(|set| set.name().to_owned()).collect();
    let replaced = settings.replace.iter().map(|each| each.member.name().to_owned());
    let replaced: Vec<_> = replaced.collect();
    let written = [&imported[..], &replaced].concat();
    let stored = transfer.map(|each| each.store(&written, host)).transpose()?.unwrap_or_default();
    if let Err(error) = change_file(&settings, host) {
        // A secret that stays in the store stays in the record too, for an undo.
        let _ = transfer.map(|each| each.take_back(&stored, host));
        return Err(error);
    }
    outcome.moved_secrets = transfer.map(|each| each.secrets_of(&written)).unwrap_or_default();
    outcome.imported = imported;
    outcome.replaced = replaced;
    Ok(())
}

/// The entries of our settings from which values move to the secret store.
fn plan_replacements(plan: &SetupPlan, transfer: &SecretTransfer<'_>) -> Vec<MemberReplacement> {
    let replacements = plan.present.iter().map(|(name, entry)| MemberReplacement {
        member: MemberValue::new(&["mcpServers"], name, entry.clone()),
        new: transfer.plan.replace_in(name, entry),
    });
    replacements.filter(|each| each.new != each.member.value).collect()
}

/// The planned change without servers that are not in our settings now.
fn without_unimported(planned: &PlannedFile, now: &SetupPlan) -> PlannedFile {
    let mut planned = planned.clone();
    let servers = now.clients.iter().flat_map(|client| &client.servers);
    let present: Vec<_> = servers
        .filter(|server| Some(server.client) == planned.client && server.project.is_none())
        .filter(|server| matches!(now.place(server), ServerPlace::Present(_)))
        .filter(|server| server.at.origin.path() == Some(&planned.file))
        .map(|server| &server.name)
        .collect();
    planned.remove.retain(|member| present.iter().any(|name| *name == member.name()));
    planned
}

/// Changes a file, after its old text was recorded.
fn change_file(planned: &PlannedFile, host: &HostContext) -> Result<(), Error> {
    if planned.is_empty() {
        return Ok(());
    }
    let file = &planned.file;
    update_file(file, &host.state_dir, FilePrivacy::Private, |text| {
        let changed =
            planned.apply(text).map_err(|source| Error::Edit { path: file.clone(), source })?;
        if changed.text == text {
            return Ok(changed.text);
        }
        let mut record = SetupRecord::load(&host.state_dir)?;
        record.push(ChangedFile {
            file: file.clone(),
            format: planned.format,
            client: planned.client.map(|client| client.name().to_owned()),
            original: file.exists().then(|| text.to_owned()),
            new_folders: missing_folders(file),
            digest: digest(&changed.text),
            added: changed.added,
            removed: changed.removed,
        });
        record.save(&host.state_dir)?;
        Ok(changed.text)
    })
}

/// The folders on the way to a file that do not exist, the innermost first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1).take_while(|folder| !folder.exists());
    folders.map(Path::to_owned).collect()
}
