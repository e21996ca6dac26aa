//! What stands in a set of files and folders at one moment, without keeping any of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// No file of more is read by the configuration; that it is larger is then all that matters.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// One look at everything.
///
/// Two looks are *equal* when nothing was written in between, not even the same bytes again. They say the *same* when
/// the contents are: that is what a new state is built for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look(BTreeMap<PathBuf, Seen>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    content: Content,
    /// Of the link, if it is one, and of what is there in the end.
    stamps: [Option<Stamp>; 2],
    /// The entries of a folder. Those that matter are looked at themselves, and an editor's leavings say nothing.
    names: BTreeSet<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
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
struct Stamp([i64; 7]);

// === impl Look ===

impl Look {
    /// Looks at the contents of `paths`, and whether there is anything at `marks`.
    pub(crate) fn at(paths: &BTreeSet<PathBuf>, marks: &BTreeSet<PathBuf>) -> Self {
        let marks = marks.iter().map(|path| (path.clone(), mark(path)));
        let paths = paths.iter().map(|path| (path.clone(), seen(path)));
        Self(marks.chain(paths).collect())
    }

    /// Whether both say the same, apart from what `except` names.
    pub(crate) fn same(&self, other: &Self, except: &BTreeSet<PathBuf>) -> bool {
        let mut paths = self.0.keys().chain(other.0.keys());
        paths.all(|path| except.contains(path) || self.content(path) == other.content(path))
    }

    /// Whether anything is there.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        *self.content(path) != Content::Nothing
    }

    /// The files that held something `before` and are empty now.
    pub(crate) fn emptied_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Path> {
        let is_file = |content: &Content, empty: bool| matches!(content, Content::File { is_empty, .. } if *is_empty == empty);
        let emptied = self.0.iter().filter(move |(path, now)| {
            is_file(&now.content, true) && is_file(before.content(path), false)
        });
        emptied.map(|(path, _)| path.as_path())
    }

    /// What nobody looked at is taken for absent.
    fn content(&self, path: &Path) -> &Content {
        self.0.get(path).map_or(&Content::Nothing, |seen| &seen.content)
    }
}

fn mark(path: &Path) -> Seen {
    let found = fs::symlink_metadata(path);
    Seen {
        content: found
            .map_or_else(|error| absent(&error), |found| Content::Mark { owner: owner(&found) }),
        stamps: [None, None],
        names: BTreeSet::new(),
    }
}

fn seen(path: &Path) -> Seen {
    let link = fs::symlink_metadata(path);
    let target = fs::metadata(path);
    let stamps = [&link, &target].map(|found| found.as_ref().ok().map(Stamp::of));
    let content = match (link, target) {
        (Err(error), _) | (Ok(_), Err(error)) if !path.is_symlink() => absent(&error),
        (Ok(link), Ok(target)) => {
            content(path, &link, &target).unwrap_or_else(|error| absent(&error))
        }
        // A link to nothing is there and cannot be read.
        _ => Content::Unreadable(ErrorKind::NotFound),
    };
    let names = match content {
        Content::Folder => names(path),
        _ => BTreeSet::new(),
    };
    Seen { content, stamps, names }
}

fn names(folder: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

fn content(path: &Path, link: &Metadata, target: &Metadata) -> io::Result<Content> {
    if target.is_dir() {
        return Ok(Content::Folder);
    }
    // Opening a pipe would wait for its other end.
    if !target.is_file() {
        return Ok(Content::Unreadable(ErrorKind::InvalidInput));
    }
    let mut file = File::open(path)?.take(MAX_BYTES + 1);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Content::File {
        digest: Sha256::digest(&bytes).into(),
        is_empty: bytes.iter().all(u8::is_ascii_whitespace),
        owners: [owner(link), owner(target)],
    })
}

fn absent(error: &io::Error) -> Content {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Content::Nothing,
        kind => Content::Unreadable(kind),
    }
}

// === impl Stamp ===

impl Stamp {
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
