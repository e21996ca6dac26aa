//! Atomic replacement of a file under a lock: the whole new text, or the old one.
//!
//! Used by `edit::state_file`, `workspace` and `install`. It does not know the format of the text
//! (`edit::json_edit`).

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::lock::EditLock;
use crate::approval::hex;
use crate::error::Error;

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

/// The suffix of temporary files.
const STAGED_SUFFIX: &str = ".tmp";

/// Changes the text of the file at `path`; a missing file counts as empty. Nothing is written if `change`
/// returns the text unchanged.
pub(crate) fn update_file(
    path: &Path,
    state_dir: &Path,
    privacy: FilePrivacy,
    mut change: impl FnMut(&str) -> Result<String, Error>,
) -> Result<(), Error> {
    let target = follow_links(path)?;
    let lock = EditLock::acquire(&target, state_dir)?;
    let prefix = staged_prefix(&lock, state_dir);
    remove_leftovers(&target, &prefix);
    for _ in 0..MAX_WRITE_ATTEMPTS {
        let before = read(&target)?;
        let after = change(before.as_deref().unwrap_or_default())?;
        if before.as_deref().unwrap_or_default() == after {
            return Ok(());
        }
        let staged = stage(&target, &after, privacy, &prefix)?;
        if read(&target)? == before {
            return publish(staged, &target);
        }
        if privacy == FilePrivacy::State {
            // Only this program writes the file, under the lock, so a change despite it is damage and not a
            // race.
            break;
        }
    }
    Err(Error::Contended { path: target })
}

/// Creates a folder, and its parents, that only its owner may enter.
pub(crate) fn create_private_folder(folder: &Path) -> Result<(), Error> {
    let write = |source| Error::Write { path: folder.to_owned(), source };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(write)
}

/// Makes a folder of ours private, whatever its mode was.
pub(crate) fn make_folder_private(folder: &Path) -> Result<(), Error> {
    create_private_folder(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let write = |source| Error::Write { path: folder.to_owned(), source };
        let mode = fs::metadata(folder).map_err(write)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(write)?;
        }
    }
    Ok(())
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

/// The prefix of temporary files for the locked file. A program that keeps locks in another folder uses
/// another prefix.
fn staged_prefix(lock: &EditLock, state_dir: &Path) -> String {
    let digest = Sha256::new_with_prefix(lock.key());
    let digest = digest.chain_update(state_dir.as_os_str().as_encoded_bytes()).finalize();
    format!(".switchboard-{}-", hex(&digest[..8]))
}

/// Removes temporary files of a process that was killed before it replaced the file: under the lock, no other
/// process uses this prefix.
fn remove_leftovers(target: &Path, prefix: &str) {
    let Some(Ok(entries)) = target.parent().map(fs::read_dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_staged = |name: &str| name.starts_with(prefix) && name.ends_with(STAGED_SUFFIX);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.to_str().is_some_and(is_staged) {
            // A file that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn stage(
    target: &Path,
    text: &str,
    privacy: FilePrivacy,
    prefix: &str,
) -> Result<tempfile::NamedTempFile, Error> {
    let write = |source| Error::Write { path: target.to_owned(), source };
    let folder = target.parent().unwrap_or(Path::new("."));
    match privacy {
        FilePrivacy::State | FilePrivacy::Private => create_private_folder(folder)?,
        FilePrivacy::Shared => fs::create_dir_all(folder).map_err(write)?,
    }
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

fn publish(staged: tempfile::NamedTempFile, target: &Path) -> Result<(), Error> {
    let write = |source| Error::Write { path: target.to_owned(), source };
    staged.persist(target).map_err(|error| write(error.error))?;
    // Without this, a power loss may lose the new name, though not the old content. Not every file system
    // supports it.
    if let Some(folder) = target.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
    Ok(())
}
