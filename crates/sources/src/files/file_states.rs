//! The state of a set of files and folders at one moment: digests and stamps, not contents.
//!
//! Used by `build` and `broken_files` to see whether anything changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The configuration reads no larger file; of a larger one, only its being too large counts.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The states of all watched paths.
///
/// Two `FileStates` are *equal* if no file was written in between, not even with equal bytes. They have
/// *equal content* if the bytes are equal: only a difference in content leads to a new snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStates(BTreeMap<PathBuf, FileState>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    content: FileContent,
    /// The stamps of the link, if the path is one, and of its target.
    stamps: [Option<WriteStamp>; 2],
    /// The entries of a folder. The relevant ones are watched themselves; temporary files of editors do not
    /// count as content.
    names: BTreeSet<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FileContent {
    Nothing,
    /// The owner is part of the state, because files of other users are ignored.
    File {
        digest: [u8; 32],
        is_empty: bool,
        owners: [u32; 2],
    },
    Folder,
    /// A path of which only existence and owner count.
    Mark {
        owner: u32,
    },
    Unreadable(ErrorKind),
}

/// A stamp that changes with every write.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WriteStamp([i64; 7]);

// === impl FileStates ===

impl FileStates {
    /// Reads the states of `paths`, and whether anything exists at `marks`.
    pub(crate) fn read(paths: &BTreeSet<PathBuf>, marks: &BTreeSet<PathBuf>) -> Self {
        let marks = marks.iter().map(|path| (path.clone(), read_mark_state(path)));
        let paths = paths.iter().map(|path| (path.clone(), read_state(path)));
        Self(marks.chain(paths).collect())
    }

    /// Whether both have equal contents, apart from the paths in `except`.
    pub(crate) fn is_same_except(&self, other: &Self, except: &BTreeSet<PathBuf>) -> bool {
        let mut paths = self.0.keys().chain(other.0.keys());
        paths.all(|path| except.contains(path) || self.content(path) == other.content(path))
    }

    /// Whether anything exists at `path`.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        *self.content(path) != FileContent::Nothing
    }

    /// The files that had content in `before` and are empty now.
    pub(crate) fn emptied_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Path> {
        let is_file = |content: &FileContent, empty: bool| matches!(content, FileContent::File { is_empty, .. } if *is_empty == empty);
        let emptied = self.0.iter().filter(move |(path, now)| {
            is_file(&now.content, true) && is_file(before.content(path), false)
        });
        emptied.map(|(path, _)| path.as_path())
    }

    /// The content at `path`; a path that is not watched counts as absent.
    fn content(&self, path: &Path) -> &FileContent {
        self.0.get(path).map_or(&FileContent::Nothing, |seen| &seen.content)
    }
}

fn read_mark_state(path: &Path) -> FileState {
    let found = fs::symlink_metadata(path);
    FileState {
        content: found.map_or_else(
            |error| absent_content(&error),
            |found| FileContent::Mark { owner: owner(&found) },
        ),
        stamps: [None, None],
        names: BTreeSet::new(),
    }
}

fn read_state(path: &Path) -> FileState {
    let link = fs::symlink_metadata(path);
    let target = fs::metadata(path);
    let stamps = [&link, &target].map(|found| found.as_ref().ok().map(WriteStamp::of));
    let content = match (link, target) {
        (Err(error), _) | (Ok(_), Err(error)) if !path.is_symlink() => absent_content(&error),
        (Ok(link), Ok(target)) => {
            read_content(path, &link, &target).unwrap_or_else(|error| absent_content(&error))
        }
        // A dangling link exists and cannot be read.
        _ => FileContent::Unreadable(ErrorKind::NotFound),
    };
    let names = match content {
        FileContent::Folder => list_names(path),
        _ => BTreeSet::new(),
    };
    FileState { content, stamps, names }
}

fn list_names(folder: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

fn read_content(path: &Path, link: &Metadata, target: &Metadata) -> io::Result<FileContent> {
    if target.is_dir() {
        return Ok(FileContent::Folder);
    }
    // Opening a pipe would block.
    if !target.is_file() {
        return Ok(FileContent::Unreadable(ErrorKind::InvalidInput));
    }
    let mut file = File::open(path)?.take(MAX_FILE_BYTES + 1);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(FileContent::File {
        digest: Sha256::digest(&bytes).into(),
        is_empty: bytes.iter().all(u8::is_ascii_whitespace),
        owners: [owner(link), owner(target)],
    })
}

fn absent_content(error: &io::Error) -> FileContent {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileContent::Nothing,
        kind => FileContent::Unreadable(kind),
    }
}

// === impl WriteStamp ===

impl WriteStamp {
    fn of(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self([
            found.dev().cast_signed(),
            found.ino().cast_signed(),
            found.size().cast_signed(),
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
        ])
    }
}

fn owner(found: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(found)
}
