//! Going back: from the record of setups to the files as they were.
//!
//! Used by `switchboard setup --undo`. A file without a later change gets its old text back, byte for byte.
//! In any other file our members are removed and the client's members are put back, unless a person has changed
//! or replaced them. It does not ask (`cli`).

use std::path::{Path, PathBuf};

use super::carry_out::lock;
use super::file_change::MemberValue;
use super::record::{ChangedFile, SetupRecord, digest};
use super::secret_transfer::{SecretFate, SecretUndo, plan_secret_undo};
use crate::edit::{self, EditError, FilePrivacy, update_file};
use crate::error::Error;
use crate::host_context::HostContext;
use crate::secret::SecretStorage;

/// What an undo would do.
#[derive(Debug, Default)]
pub struct UndoPlan {
    /// The files, each once.
    pub files: Vec<FileUndo>,
    /// The secrets that setups stored.
    pub secrets: Vec<SecretUndo>,
}

/// The undo of one file.
#[derive(Debug)]
pub struct FileUndo {
    /// The client's name; absent for our own settings.
    pub client: Option<String>,
    /// The file.
    pub file: PathBuf,
    /// How the file goes back, or why it cannot.
    pub method: Result<UndoMethod, Error>,
    /// The members that leave the file.
    pub removes: Vec<MemberValue>,
    /// The members that come back.
    pub restores: Vec<MemberValue>,
    /// The members that stay as they are, each with the reason.
    pub keeps: Vec<(MemberValue, RetentionReason)>,
    text: Option<String>,
}

/// How a file goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoMethod {
    /// The file is as it was already.
    Nothing,
    /// The file gets its old text back, byte for byte.
    Restore,
    /// The file did not exist before, and is removed.
    RemoveFile,
    /// The file was edited since, so only members change.
    Edit,
    /// The file was removed since. It is restored, because setup took servers out of it that our settings
    /// lose now.
    Recreate,
    /// The file was removed since, and stays removed: it had no server of its own.
    Missing,
}

/// Why a member stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionReason {
    /// Setup wrote it, and it was changed since.
    Changed,
    /// Setup removed it, and another one has its name now.
    NameInUse,
}

/// What an undo did.
#[derive(Debug, Default)]
pub struct UndoOutcome {
    /// The files that went back.
    pub done: Vec<PathBuf>,
    /// The files that could not be changed; the record still has their texts.
    pub failures: Vec<(PathBuf, Error)>,
    /// What became of the secrets; those with an error stay in the record.
    pub secrets: Vec<SecretUndo>,
}

/// Plans the undo of every setup in the record.
pub fn plan_undo(host: &HostContext, storage: &dyn SecretStorage) -> Result<UndoPlan, Error> {
    let record = SetupRecord::load(&host.state_dir)?;
    // Clients' files first, so that a server is never configured nowhere.
    let files = record.files().into_iter().rev();
    let files: Vec<_> = files.map(|file| FileUndo::plan(file, &record)).collect();
    let secrets = plan_secret_undo(&record, &files, host, storage);
    Ok(UndoPlan { files, secrets })
}

// === impl UndoPlan ===

impl UndoPlan {
    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.secrets.is_empty()
    }

    /// Carries out the plan, file by file. What failed stays in the record, and our settings stay until every
    /// client went back. Secrets are removed last, when no entry of ours needs them any more.
    pub fn carry_out(
        &self,
        host: &HostContext,
        storage: &dyn SecretStorage,
    ) -> Result<UndoOutcome, Error> {
        let _lock = lock(host)?;
        let mut outcome = UndoOutcome::default();
        let mut record = SetupRecord::load(&host.state_dir)?;
        for planned in &self.files {
            let is_needed = planned.client.is_none() && !outcome.failures.is_empty();
            if is_needed {
                // A client that still has our entry has its servers only in our settings.
                continue;
            }
            match undo_file(&planned.file, &record, host) {
                Ok(is_changed) => {
                    record.changes.retain(|change| change.file != planned.file);
                    record.save(&host.state_dir)?;
                    outcome.done.extend(is_changed.then(|| planned.file.clone()));
                }
                Err(error) => outcome.failures.push((planned.file.clone(), error)),
            }
        }
        if outcome.failures.is_empty() {
            outcome.secrets = undo_secrets(&mut record, host, storage);
            record.save(&host.state_dir)?;
        }
        Ok(outcome)
    }
}

/// Removes the secrets that setups stored and that nothing needs any more.
fn undo_secrets(
    record: &mut SetupRecord,
    host: &HostContext,
    storage: &dyn SecretStorage,
) -> Vec<SecretUndo> {
    let mut secrets = plan_secret_undo(record, &[], host, storage);
    for undo in &mut secrets {
        if matches!(undo.fate, Ok(SecretFate::Remove))
            && let Err(error) = storage.remove_value(&undo.name)
        {
            undo.fate = Err(error);
        }
        if undo.fate.is_ok() {
            record.secrets.remove(&undo.name);
        }
    }
    secrets
}

/// Takes back the changes of one file; whether there was something to do.
fn undo_file(file: &Path, record: &SetupRecord, host: &HostContext) -> Result<bool, Error> {
    let undo = FileUndo::plan(file, record);
    match undo.method? {
        UndoMethod::Nothing | UndoMethod::Missing => {
            // A setup that was killed may have staged the file, and created its folder.
            edit::remove_staged_files(file, &host.state_dir)?;
            if undo.text.is_none() {
                remove_folders(record.changes.iter().filter(|change| change.file == file));
            }
            Ok(false)
        }
        UndoMethod::RemoveFile => {
            edit::remove_file_if(file, &host.state_dir, |text| {
                FileUndo::from_text(file, record, Some(text)).text.is_none()
            })?;
            remove_folders(record.changes.iter().filter(|change| change.file == file));
            Ok(true)
        }
        UndoMethod::Restore | UndoMethod::Edit | UndoMethod::Recreate => {
            update_file(file, &host.state_dir, FilePrivacy::Private, |text| {
                // A missing file is read as an empty one.
                let text = Some(text).filter(|text| !text.is_empty() || file.exists());
                let undo = FileUndo::from_text(file, record, text);
                undo.method?;
                undo.text.ok_or_else(|| Error::Contended { path: file.to_owned() })
            })?;
            Ok(true)
        }
    }
}

/// Removes the folders that were created for a file, if nothing else has come into them.
fn remove_folders<'a>(changes: impl Iterator<Item = &'a ChangedFile>) {
    for folder in changes.flat_map(|change| &change.new_folders) {
        // A folder that is not empty stays.
        let _ = std::fs::remove_dir(folder);
    }
}

// === impl UndoMethod ===

impl UndoMethod {
    /// A stable word for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Restore => "restore",
            Self::RemoveFile => "remove",
            Self::Edit => "edit",
            Self::Recreate => "recreate",
            Self::Missing => "missing",
        }
    }
}

// === impl FileUndo ===

impl FileUndo {
    /// The text that our settings will have; absent for a client's file and for a file that will not exist.
    pub(super) fn planned_settings(&self) -> Option<&str> {
        self.text.as_deref().filter(|_| self.client.is_none())
    }

    fn plan(file: &Path, record: &SetupRecord) -> Self {
        match std::fs::read_to_string(file) {
            Ok(text) => Self::from_text(file, record, Some(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Self::from_text(file, record, None)
            }
            Err(source) => {
                let mut undo = Self::new(file, record, None);
                undo.method = Err(Error::Read { path: file.to_owned(), source });
                undo
            }
        }
    }

    fn new(file: &Path, record: &SetupRecord, text: Option<&str>) -> Self {
        let change = record.changes.iter().find(|change| change.file == file);
        Self {
            client: change.and_then(|change| change.client.clone()),
            file: file.to_owned(),
            method: Ok(UndoMethod::Nothing),
            removes: Vec::new(),
            restores: Vec::new(),
            keeps: Vec::new(),
            text: text.map(str::to_owned),
        }
    }

    /// Undoes the changes of `file` in its present text, the last one first.
    fn from_text(file: &Path, record: &SetupRecord, text: Option<&str>) -> Self {
        let mut undo = Self::new(file, record, text);
        let changes = || record.changes.iter().filter(|change| change.file == file);
        let has_servers = changes().any(|change| !change.removed.is_empty());
        let is_removed = text.is_none() && undo.client.is_some() && has_servers;
        let mut earlier = changes().rev();
        if is_removed && let Some(last) = earlier.next() {
            undo.text.clone_from(&last.original);
            undo.restores.extend(last.removed.iter().cloned());
        }
        let mut is_exact = true;
        for change in earlier {
            match undo.undo_change(change) {
                Ok(exact) => is_exact &= exact,
                Err(source) => {
                    undo.method = Err(Error::Edit { path: file.to_owned(), source });
                    return undo;
                }
            }
        }
        undo.method = Ok(match (text, &undo.text) {
            (None, Some(_)) => UndoMethod::Recreate,
            (None, None) if is_exact && !is_removed => UndoMethod::Nothing,
            (None, None) => UndoMethod::Missing,
            (Some(_), None) => UndoMethod::RemoveFile,
            (Some(before), Some(after)) if before == after => UndoMethod::Nothing,
            _ if is_exact => UndoMethod::Restore,
            _ => UndoMethod::Edit,
        });
        undo
    }

    /// Undoes one change; whether that gave back the text from before it.
    fn undo_change(&mut self, change: &ChangedFile) -> Result<bool, EditError> {
        if self.text == change.original {
            return Ok(true);
        }
        let Some(text) = self.text.take() else {
            return Ok(false);
        };
        if digest(&text) == change.digest {
            self.text.clone_from(&change.original);
            self.removes.extend(change.added.iter().cloned());
            self.restores.extend(change.removed.iter().cloned());
            return Ok(true);
        }
        self.text = Some(self.undo_members(text, change)?);
        Ok(false)
    }

    fn undo_members(
        &mut self,
        mut text: String,
        change: &ChangedFile,
    ) -> Result<String, EditError> {
        for member in &change.added {
            match change.format.get(&text, &member.keys())? {
                None => {}
                Some(value) if value == member.value => {
                    text = change.format.remove(&text, &member.keys())?;
                    self.removes.push(member.clone());
                }
                Some(_) => self.keeps.push((member.clone(), RetentionReason::Changed)),
            }
        }
        for member in &change.removed {
            match change.format.get(&text, &member.keys())? {
                None => {
                    text = change.format.set(&text, &member.keys(), &member.value)?;
                    self.restores.push(member.clone());
                }
                Some(value) if value == member.value => {}
                Some(_) => self.keeps.push((member.clone(), RetentionReason::NameInUse)),
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::install::ClientFileFormat;

    const BEFORE: &str = "{\"m\": {\"a\": 1}}\n";
    const AFTER: &str = "{\"m\": {\"us\": 2}}\n";

    fn change(original: Option<&str>, after: &str) -> ChangedFile {
        ChangedFile {
            file: "/f.json".into(),
            format: ClientFileFormat::Json,
            client: None,
            original: original.map(str::to_owned),
            new_folders: Vec::new(),
            digest: digest(after),
            added: vec![MemberValue::new(&["m"], "us", json!(2))],
            removed: vec![MemberValue::new(&["m"], "a", json!(1))],
        }
    }

    /// Checks how the present text goes back, and to which text.
    #[track_caller]
    fn check(changes: &[ChangedFile], now: Option<&str>, method: UndoMethod, text: Option<&str>) {
        let mut record = SetupRecord::default();
        changes.iter().cloned().for_each(|change| record.push(change));
        let undo = FileUndo::from_text(Path::new("/f.json"), &record, now);
        assert_eq!((undo.method.unwrap(), undo.text.as_deref()), (method, text));
    }

    #[test]
    fn a_text_goes_back_by_what_it_is_now() {
        let one = [change(Some(BEFORE), AFTER)];
        check(&one, Some(AFTER), UndoMethod::Restore, Some(BEFORE));
        // The program ended after the record and before the change.
        check(&one, Some(BEFORE), UndoMethod::Nothing, Some(BEFORE));
        let mut client_file = change(Some(BEFORE), AFTER);
        client_file.client = Some("cursor".into());
        check(&[client_file.clone()], None, UndoMethod::Recreate, Some(BEFORE));
        client_file.removed.clear();
        check(&[client_file], None, UndoMethod::Missing, None);
        check(&one, None, UndoMethod::Missing, None);
        let edited = "{\"x\": 0, \"m\": {\"us\": 2}}\n";
        check(&one, Some(edited), UndoMethod::Edit, Some("{\"x\": 0, \"m\": {\n  \"a\": 1\n}}\n"));
        let created = [change(None, AFTER)];
        check(&created, Some(AFTER), UndoMethod::RemoveFile, None);
        check(&created, None, UndoMethod::Nothing, None);
    }

    #[test]
    fn members_that_a_person_changed_stay() {
        let one = [change(Some(BEFORE), AFTER)];
        let edited = "{\"m\": {\"us\": 3, \"a\": 4}}\n";
        let mut record = SetupRecord::default();
        record.push(one[0].clone());
        let undo = FileUndo::from_text(Path::new("/f.json"), &record, Some(edited));
        let reasons: Vec<_> = undo.keeps.iter().map(|(_, reason)| *reason).collect();
        assert_eq!(reasons, [RetentionReason::Changed, RetentionReason::NameInUse]);
        assert_eq!(undo.text.as_deref(), Some(edited));
    }

    #[test]
    fn a_change_that_continues_another_keeps_the_first_text() {
        let last = "{\"m\": {\"us\": 5}}\n";
        let mut second = change(Some(AFTER), last);
        second.added[0].value = json!(5);
        second.removed = vec![MemberValue::new(&["m"], "us", json!(2))];
        let both = [change(Some(BEFORE), AFTER), second];
        check(&both, Some(last), UndoMethod::Restore, Some(BEFORE));
        let edited = "{\"x\": 0, \"m\": {\"us\": 5}}\n";
        check(&both, Some(edited), UndoMethod::Edit, Some("{\"x\": 0, \"m\": {\n  \"a\": 1\n}}\n"));
    }
}
