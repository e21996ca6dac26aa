//! A JSON file in user state that only this program reads and writes.
//!
//! Used by `approval::store` and `gateway::tokens`. Files that people write too are edited in
//! `edit::json_edit`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use super::atomic::{FilePrivacy, make_folder_private, update_file};
use crate::error::Error;

/// One JSON value in user state: private, changed under a lock, replaced atomically. A file that cannot be
/// parsed is an error and stays unchanged.
#[derive(Debug, Clone)]
pub struct StateFile {
    folder: PathBuf,
    path: PathBuf,
}

// === impl StateFile ===

impl StateFile {
    /// The file with this name in a state folder.
    pub fn new(state_dir: &Path, name: &str) -> Self {
        Self { folder: state_dir.to_owned(), path: state_dir.join(name) }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the value; the default if there is no file.
    pub fn load<T: DeserializeOwned + Default>(&self) -> Result<T, Error> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => self.parse(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
            Err(source) => Err(Error::Read { path: self.path.clone(), source }),
        }
    }

    /// Changes the value. If `change` fails, nothing is written and its error is returned.
    pub fn change<T, R, E>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Serialize + DeserializeOwned + Default,
        E: From<Error>,
    {
        make_folder_private(&self.folder)?;
        let mut change = Some(change);
        let mut changed = None;
        update_file(&self.path, &self.folder, FilePrivacy::State, |text| {
            let mut value = self.parse(text)?;
            // A file that only this program writes is changed at the first attempt or not at all.
            match change.take().map(|change| change(&mut value)) {
                Some(Ok(done)) => {
                    changed = Some(Ok(done));
                    self.to_text(&value)
                }
                refused => {
                    changed = refused;
                    Ok(text.to_owned())
                }
            }
        })?;
        changed.unwrap_or_else(|| Err(Error::Contended { path: self.path.clone() }.into()))
    }

    fn parse<T: DeserializeOwned + Default>(&self, text: &str) -> Result<T, Error> {
        if text.is_empty() {
            return Ok(T::default());
        }
        serde_json::from_str(text).map_err(|source| self.state_error(source))
    }

    fn to_text<T: Serialize>(&self, value: &T) -> Result<String, Error> {
        let text =
            serde_json::to_string_pretty(value).map_err(|source| self.state_error(source))?;
        Ok(text + "\n")
    }

    fn state_error(&self, source: serde_json::Error) -> Error {
        Error::State { path: self.path.clone(), source }
    }
}
