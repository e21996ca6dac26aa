//! Replacing a file whole, or leaving it as it was.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::lock::EditLock;
use crate::approval::hex;
use crate::error::Error;

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

/// What the names of files end with that are to replace others.
const STAGED_SUFFIX: &str = ".tmp";

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
            // Ours alone: the lock is all there is, so a change despite it is damage and not a race.
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

/// Closes a folder of ours to everyone else, whatever it was before.
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
fn staged_prefix(lock: &EditLock, state_dir: &Path) -> String {
    let digest = Sha256::new_with_prefix(lock.key());
    let digest = digest.chain_update(state_dir.as_os_str().as_encoded_bytes()).finalize();
    format!(".switchboard-{}-", hex(&digest[..8]))
}

/// Removes what a process left behind that was killed before it could replace the file: under the lock nobody else stages
/// a file of this prefix.
fn remove_leftovers(target: &Path, prefix: &str) {
    let Some(Ok(entries)) = target.parent().map(fs::read_dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_staged = |name: &str| name.starts_with(prefix) && name.ends_with(STAGED_SUFFIX);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.to_str().is_some_and(is_staged) {
            // One that cannot be removed now is in nobody's way.
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
    // The library names the file it could not make, which nobody asked for; the reason is enough.
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
        // The system takes away what the user's mask says.
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
    // Without this the new name may be lost with the power, though not the old content. Not every file system can.
    if let Some(folder) = target.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
    Ok(())
}
