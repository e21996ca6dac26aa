//! Files and folders of one user's state: only their owner may read them, and a file is replaced whole or not at all.
//!
//! Used by every crate that keeps state, so that all state survives a crash: the new content is on
//! the disk before it takes the name of the old file, and the folder is synced after that. It does not check who may
//! choose a path or whether a link at it is refused: the caller does. A link is replaced here, never followed.

mod lock;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

pub use lock::{FileLock, FileLockError};

/// The suffix of staged files, which are about to replace others.
pub(crate) const STAGED_SUFFIX: &str = ".tmp";
/// A staged file older than this was left behind by a process that was killed.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);

/// Creates a folder, and its parents, that only its owner may enter. A folder that exists keeps its mode.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a folder that only its owner may enter, or gives a folder that exists that mode.
pub fn make_folder_private(folder: &Path) -> io::Result<()> {
    create_private_folder(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Replaces the file at `path`, with mode 0600, and creates its folder where there is none. After a crash the file holds
/// the old content or the new one.
pub fn replace_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    publish(stage_private_file(path, content)?, path)
}

/// Creates the file at `path`, with mode 0600, as `replace_private_file` writes it. Fails with `AlreadyExists` where
/// the file exists.
pub fn create_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let staged = stage_private_file(path, content)?;
    staged.as_file().sync_all()?;
    staged.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder_of(path);
    Ok(())
}

fn stage_private_file(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    create_private_folder(folder)?;
    let prefix = staged_prefix(path);
    remove_leftovers(folder, &prefix, LEFTOVER_AGE);
    // `tempfile` creates the file with mode 0600.
    let mut builder = tempfile::Builder::new();
    let mut staged = builder.prefix(&prefix).suffix(STAGED_SUFFIX).tempfile_in(folder)?;
    staged.write_all(content)?;
    Ok(staged)
}

/// Renames a staged file to `target`, once its content is on the disk.
pub(crate) fn publish(staged: NamedTempFile, target: &Path) -> io::Result<()> {
    staged.as_file().sync_all()?;
    staged.persist(target).map_err(|error| error.error)?;
    sync_folder_of(target);
    Ok(())
}

/// Syncs the folder of `path`: without this a power failure may lose the new name, though not the old content. Not
/// every file system can sync a folder.
fn sync_folder_of(path: &Path) {
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}

/// Removes the staged files that killed processes left in `folder`: files of this prefix that were not changed for
/// `age`.
pub(crate) fn remove_leftovers(folder: &Path, prefix: &OsString, age: Duration) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_old = |entry: &fs::DirEntry| {
        let Ok(facts) = entry.metadata() else { return false };
        let changed = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        facts.is_file() && changed.elapsed().unwrap_or_default() >= age
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_staged =
            name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(STAGED_SUFFIX.as_bytes());
        if is_staged && is_old(&entry) {
            // A file that cannot be removed now does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The prefix of staged files that are about to replace `path`.
fn staged_prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push("-");
    prefix
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_and_its_folders_are_private_from_the_start() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/c.json");
        replace_private_file(&path, b"1").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1");
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(mode(&home.path().join("a")), 0o700);
    }

    #[test]
    fn a_replaced_file_is_private_whatever_it_was_and_nothing_else_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        replace_private_file(&path, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o600));
        assert_eq!(names(home.path()), ["a"]);
    }

    /// A crash between the two steps of a replacement: the content was written, the name was not given.
    #[test]
    fn a_crash_before_the_rename_leaves_the_old_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        replace_private_file(&path, b"old").unwrap();
        let (_, left) = stage_private_file(&path, b"new").unwrap().keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(mode(&left), 0o600);
    }

    #[test]
    fn leftovers_of_over_an_hour_are_removed_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let long_ago = SystemTime::now() - LEFTOVER_AGE - Duration::from_secs(1);
        for (name, is_old) in [
            (".a-123456.tmp", true),
            (".a-abcdef.tmp", false),
            (".ab-12345.tmp", true),
            (".a-123456.txt", true),
        ] {
            let file = File::create(home.path().join(name)).unwrap();
            if is_old {
                file.set_modified(long_ago).unwrap();
            }
        }
        replace_private_file(&path, b"").unwrap();
        assert_eq!(names(home.path()), [".a-123456.txt", ".a-abcdef.tmp", ".ab-12345.tmp", "a"]);
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let (path, other) = (home.path().join("a"), home.path().join("other"));
        fs::write(&other, "theirs").unwrap();
        symlink(&other, &path).unwrap();
        replace_private_file(&path, b"ours").unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"theirs");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_file_that_is_there_is_not_created_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        create_private_file(&path, b"1").unwrap();
        let error = create_private_file(&path, b"2").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"1".to_vec(), 0o600));
        assert_eq!(names(home.path()), ["a"]);
    }

    #[test]
    fn a_folder_that_is_there_is_closed_only_where_that_is_asked_for() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        create_private_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o755);
        make_folder_private(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }
}
