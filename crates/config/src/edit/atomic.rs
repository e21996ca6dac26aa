//! Atomic replacement of a file under a lock: the whole new text, or the old one.
//!
//! Used by `edit::state_file`, `workspace` and `install`. It does not know the format of the text
//! (`edit::json_edit`).

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::lock::EditLock;
use crate::approval::hex;
use crate::error::Error;
use crate::private_file::{STAGED_SUFFIX, create_private_folder, publish, remove_leftovers};

/// Which users may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilePrivacy {
    /// Only its owner, even if it was readable before; only this program writes it.
    State,
    /// Only its owner, unless the file exists with another mode.
    Private,
    /// As the user's umask says.
    Shared,
}

/// As many links as the operating system follows.
const MAX_LINKS: usize = 40;
/// How often to start again when another program, which does not use our lock, has written the file
/// meanwhile.
const MAX_WRITE_ATTEMPTS: usize = 20;

/// Changes the text of the file at `path`; a missing file counts as empty. Nothing is written if `change`
/// returns the text unchanged.
pub(crate) fn update_file(
    path: &Path,
    state_dir: &Path,
    privacy: FilePrivacy,
    mut change: impl FnMut(&str) -> Result<String, Error>,
) -> Result<(), Error> {
    let target = follow_links(path)?;
    let (_lock, prefix) = lock_and_clean(&target, state_dir)?;
    for _ in 0..MAX_WRITE_ATTEMPTS {
        let before = read(&target)?;
        let after = change(before.as_deref().unwrap_or_default())?;
        if before.as_deref().unwrap_or_default() == after {
            return Ok(());
        }
        let staged = stage(&target, &after, privacy, &prefix)?;
        if read(&target)? == before {
            return publish(staged, &target)
                .map_err(|source| Error::Write { path: target, source });
        }
        if privacy == FilePrivacy::State {
            // Only this program writes the file, under the lock, so a change despite it is damage and not a
            // race.
            break;
        }
    }
    Err(Error::Contended { path: target })
}

/// Removes what an edit of the file at `path` left beside it when its process was killed.
pub(crate) fn remove_staged_files(path: &Path, state_dir: &Path) -> Result<(), Error> {
    lock_and_clean(&follow_links(path)?, state_dir).map(drop)
}

/// Removes the file at `path` if `is_removable` says so of its text; one that is missing counts as removed.
pub(crate) fn remove_file_if(
    path: &Path,
    state_dir: &Path,
    is_removable: impl FnOnce(&str) -> bool,
) -> Result<(), Error> {
    let target = follow_links(path)?;
    let _locked = lock_and_clean(&target, state_dir)?;
    match read(&target)? {
        None => Ok(()),
        Some(text) if is_removable(&text) => {
            fs::remove_file(&target).map_err(|source| Error::Write { path: target, source })
        }
        Some(_) => Err(Error::Contended { path: target }),
    }
}

/// The file that a path leads to, which may not exist yet.
pub(crate) fn follow_links(path: &Path) -> Result<PathBuf, Error> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(canonical_name(&path)),
        }
    }
    let source = std::io::Error::other("too many links");
    Err(Error::Read { path, source })
}

/// The path with its folder's links resolved, so that one file has one lock.
fn canonical_name(path: &Path) -> PathBuf {
    match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Locks a file, and removes the temporary files that killed processes left beside it. Returns the prefix of such files.
fn lock_and_clean(target: &Path, state_dir: &Path) -> Result<(EditLock, OsString), Error> {
    let lock = EditLock::acquire(target, state_dir)?;
    let prefix = staged_prefix(&lock, state_dir);
    if let Some(folder) = target.parent() {
        // Under the lock no other process stages a file of this prefix.
        remove_leftovers(folder, &prefix, Duration::ZERO);
    }
    Ok((lock, prefix))
}

/// The prefix of temporary files for the locked file. A program that keeps locks in another folder uses
/// another prefix.
fn staged_prefix(lock: &EditLock, state_dir: &Path) -> OsString {
    let digest = Sha256::new_with_prefix(lock.key());
    let digest = digest.chain_update(state_dir.as_os_str().as_encoded_bytes()).finalize();
    format!(".switchboard-{}-", hex(&digest[..8])).into()
}

fn stage(
    target: &Path,
    text: &str,
    privacy: FilePrivacy,
    prefix: &OsString,
) -> Result<tempfile::NamedTempFile, Error> {
    let write = |source| Error::Write { path: target.to_owned(), source };
    let folder = target.parent().unwrap_or(Path::new("."));
    match privacy {
        FilePrivacy::State | FilePrivacy::Private => create_private_folder(folder),
        FilePrivacy::Shared => fs::create_dir_all(folder),
    }
    .map_err(write)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(STAGED_SUFFIX);
    if let Some(permissions) = fresh_permissions(privacy) {
        builder.permissions(permissions);
    }
    // The error of the library names the temporary file, which the user does not know; its kind is enough.
    let reason = |error: std::io::Error| write(error.kind().into());
    let mut staged = builder.tempfile_in(folder).map_err(reason)?;
    staged.write_all(text.as_bytes()).map_err(reason)?;
    if let Ok(metadata) = fs::metadata(target)
        && privacy != FilePrivacy::State
    {
        staged.as_file().set_permissions(metadata.permissions()).map_err(write)?;
    }
    // Now, so that little time is left between the last look at the file and its replacement.
    staged.as_file().sync_all().map_err(write)?;
    Ok(staged)
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other platforms have no modes")]
fn fresh_permissions(privacy: FilePrivacy) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(match privacy {
        FilePrivacy::State | FilePrivacy::Private => 0o600,
        // The umask is applied by the system.
        FilePrivacy::Shared => 0o666,
    }))
}

#[cfg(not(unix))]
fn fresh_permissions(_: FilePrivacy) -> Option<Permissions> {
    None
}
