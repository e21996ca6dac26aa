//! Replacing a file whole, or leaving it as it was.

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

/// Who may read a file that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilePrivacy {
    /// Only its owner, from now on whatever it was before; nobody else writes it.
    State,
    /// Only its owner, unless it exists and says otherwise.
    Private,
    /// Whoever the user's own mask lets.
    Shared,
}

/// As many links as the system itself follows.
const MAX_LINKS: usize = 40;
/// Other programs write without our lock; so often we start again when one did.
const MAX_WRITE_ATTEMPTS: usize = 20;

/// Changes the text of the file at `path`; a file that is not there is empty. Nothing is written where `change`
/// leaves the text as it is.
pub(crate) fn update_file(
    path: &Path,
    state_dir: &Path,
    privacy: FilePrivacy,
    mut change: impl FnMut(&str) -> Result<String, Error>,
) -> Result<(), Error> {
    let target = follow_links(path)?;
    let lock = EditLock::acquire(&target, state_dir)?;
    let prefix = staged_prefix(&lock, state_dir);
    if let Some(folder) = target.parent() {
        // Under the lock no other process stages a file of this prefix.
        remove_leftovers(folder, &prefix, Duration::ZERO);
    }
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
            // Ours alone: the lock is all there is, so a change despite it is damage and not a race.
            break;
        }
    }
    Err(Error::Contended { path: target })
}

/// The file a path means in the end, which may not exist yet.
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

/// One file has one lock, by whichever way its folder was reached.
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

/// What the names of files begin with that are to replace the locked one. Whoever keeps locks elsewhere uses other names.
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
    // The library names the file it could not make, which nobody asked for; the reason is enough.
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
        // The system takes away what the user's mask says.
        FilePrivacy::Shared => 0o666,
    }))
}

#[cfg(not(unix))]
fn fresh_permissions(_: FilePrivacy) -> Option<Permissions> {
    None
}
