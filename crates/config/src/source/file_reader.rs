//! Reading files and folders, and recording which paths were read.
//!
//! Used by `load` and `import`. The recorded paths are watched by `switchboard_sources`.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::problem::{ConfigProblem, ConfigProblemKind};

/// Larger than any configuration; a foreign file must not fill the memory.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Claude Code keeps the history of all projects beside its servers, which makes files of more than 10 MiB.
const MAX_CLIENT_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Which owners a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOwnership {
    /// Any: the user or the administrator chose the path.
    Any,
    /// Only this user: a walk up the tree passes through folders that others may write to.
    Only(u32),
}

/// The result of reading a file.
#[derive(Debug)]
pub(crate) enum FileReadResult {
    /// The file does not exist.
    Nothing,
    /// The file's text.
    Text(String),
    /// The file exists and cannot be used.
    Unusable(ConfigProblem),
}

/// Reads files and records every path, existing or not, so that all can be watched.
#[derive(Debug, Default)]
pub(crate) struct FileReader {
    looked_at: Vec<PathBuf>,
}

impl FileReader {
    /// Reads the file at `path`.
    pub(crate) fn read(&mut self, path: &Path, ownership: FileOwnership) -> FileReadResult {
        self.note(path);
        read_file(path, ownership, MAX_FILE_BYTES).unwrap_or_else(|error| unusable(path, &error))
    }

    /// Reads the user's own file of another client, which may hold much besides servers.
    pub(crate) fn read_client_file(&mut self, path: &Path) -> FileReadResult {
        self.note(path);
        read_file(path, FileOwnership::Any, MAX_CLIENT_FILE_BYTES)
            .unwrap_or_else(|error| unusable(path, &error))
    }

    /// The entries of a folder, sorted by name. A missing folder is empty; an unreadable folder is a problem,
    /// since it may hold a policy.
    pub(crate) fn list(&mut self, folder: &Path) -> Result<Vec<PathBuf>, ConfigProblem> {
        self.note(folder);
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match entries {
            Ok(entries) => {
                let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
                paths.sort();
                Ok(paths)
            }
            Err(error) if is_absent(&error) && fs::symlink_metadata(folder).is_err() => {
                Ok(Vec::new())
            }
            Err(error) => Err(problem(folder, &error.to_string())),
        }
    }

    /// Whether there is a link at `path`, dangling or not.
    pub(crate) fn is_link(&mut self, path: &Path) -> bool {
        self.note(path);
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// All read paths, in order.
    pub(crate) fn into_paths(self) -> Vec<PathBuf> {
        self.looked_at
    }

    fn note(&mut self, path: &Path) {
        if !self.looked_at.iter().any(|seen| seen == path) {
            self.looked_at.push(path.to_owned());
        }
    }
}

fn read_file(
    path: &Path,
    ownership: FileOwnership,
    max_bytes: u64,
) -> std::io::Result<FileReadResult> {
    let link = match fs::symlink_metadata(path) {
        Ok(link) => link,
        Err(error) if is_absent(&error) => return Ok(FileReadResult::Nothing),
        Err(error) => return Err(error),
    };
    // Checked before opening, because opening a pipe would block.
    let target = match fs::metadata(path) {
        Ok(target) => target,
        Err(error) if is_absent(&error) => {
            let why = "it is a link to a file that does not exist";
            return Ok(FileReadResult::Unusable(problem(path, why)));
        }
        Err(error) => return Err(error),
    };
    if !target.is_file() {
        return Ok(FileReadResult::Unusable(problem(path, "it is not a regular file")));
    }
    if !owned(&link, ownership) || !owned(&target, ownership) {
        return Ok(FileReadResult::Unusable(foreign(path)));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let why = format!("it is larger than {} MiB", max_bytes / (1024 * 1024));
        return Ok(FileReadResult::Unusable(problem(path, &why)));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => FileReadResult::Text(text),
        Err(_) => FileReadResult::Unusable(problem(path, "it is not UTF-8 text")),
    })
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unusable(path: &Path, error: &std::io::Error) -> FileReadResult {
    FileReadResult::Unusable(problem(path, &error.to_string()))
}

fn problem(path: &Path, why: &str) -> ConfigProblem {
    let message = format!("cannot read {}: {why}", path.display());
    ConfigProblem::error(ConfigProblemKind::Unreadable, message).in_file(path)
}

fn foreign(path: &Path) -> ConfigProblem {
    let message = format!("skipped {}: it belongs to another user", path.display());
    ConfigProblem::warning(ConfigProblemKind::ForeignOwner, message).in_file(path)
}

/// Whether a file, or a link, at `path` has an accepted owner.
pub(crate) fn is_owned(path: &Path, ownership: FileOwnership) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| owned(&metadata, ownership))
}

#[cfg(unix)]
fn owned(metadata: &fs::Metadata, ownership: FileOwnership) -> bool {
    use std::os::unix::fs::MetadataExt;
    match ownership {
        FileOwnership::Any => true,
        FileOwnership::Only(user) => metadata.uid() == user,
    }
}

#[cfg(not(unix))]
fn owned(_: &fs::Metadata, _: FileOwnership) -> bool {
    true
}
