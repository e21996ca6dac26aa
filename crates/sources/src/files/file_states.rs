//! What stands in a set of files and folders at one moment, without keeping any of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// No file of more is read by the configuration; that it is larger is then all that matters.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// One look at everything.
///
/// Two looks are *equal* when nothing was written in between, not even the same bytes again. They say the *same* when
/// the contents are: that is what a new state is built for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStates(BTreeMap<PathBuf, FileState>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    content: FileContent,
    /// Of the link, if it is one, and of what is there in the end.
    stamps: [Option<WriteStamp>; 2],
    /// The entries of a folder. Those that matter are looked at themselves, and an editor's leavings say nothing.
    names: BTreeSet<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FileContent {
    Nothing,
    /// Who owns it matters: files of others do not count.
    File {
        digest: [u8; 32],
        is_empty: bool,
        owners: [u32; 2],
    },
    Folder,
    /// It is there, and whose it is.
    Mark {
        owner: u32,
    },
    Unreadable(ErrorKind),
}

/// Changes with every write, whatever was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WriteStamp([i64; 7]);

// === impl FileStates ===

impl FileStates {
    /// Looks at the contents of `paths`, and whether there is anything at `marks`.
    pub(crate) fn read(paths: &BTreeSet<PathBuf>, marks: &BTreeSet<PathBuf>) -> Self {
        let marks = marks.iter().map(|path| (path.clone(), read_mark_state(path)));
        let paths = paths.iter().map(|path| (path.clone(), read_state(path)));
        Self(marks.chain(paths).collect())
    }

    /// Whether both say the same, apart from what `except` names.
    pub(crate) fn is_same_except(&self, other: &Self, except: &BTreeSet<PathBuf>) -> bool {
        let mut paths = self.0.keys().chain(other.0.keys());
        paths.all(|path| except.contains(path) || self.content(path) == other.content(path))
    }

    /// Whether anything is there.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        *self.content(path) != FileContent::Nothing
    }

    /// The files that held something `before` and are empty now.
    pub(crate) fn emptied_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Path> {
        let is_file = |content: &FileContent, empty: bool| matches!(content, FileContent::File { is_empty, .. } if *is_empty == empty);
        let emptied = self.0.iter().filter(move |(path, now)| {
            is_file(&now.content, true) && is_file(before.content(path), false)
        });
        emptied.map(|(path, _)| path.as_path())
    }

    /// What nobody looked at is taken for absent.
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
        // A link to nothing is there and cannot be read.
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
    // Opening a pipe would wait for its other end.
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

// === impl Stamp ===

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
