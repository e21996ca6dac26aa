//! The file: whole lines at its end, and another file in its place when it is large.
//!
//! Several programs of one user write it at once: a hub, a `serve`, a command. Each write is of whole lines and goes to
//! the end, wherever that is by then; who finds that the file was put away opens the one that took its place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use switchboard_config::private_file::{FileLock, create_private_folder};

use crate::logs::{ends_in_line, rotate_files};

/// The file written to.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    most_bytes: u64,
    open: Option<File>,
    /// Its last line has no end, so that the next one must not begin there.
    is_torn: bool,
}

/// A write that did not come to its end.
#[derive(Debug)]
pub(super) struct PartialWrite {
    /// How many lines were written whole.
    pub(super) lines: usize,
    pub(super) why: io::Error,
}

// === impl AuditFile ===

impl AuditFile {
    pub(super) fn new(path: PathBuf, most_bytes: u64) -> Self {
        Self { path, most_bytes, open: None, is_torn: false }
    }

    /// Adds lines.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), PartialWrite> {
        let mut done = 0;
        let Err(why) = self.write(lines, &mut done) else {
            return Ok(());
        };
        // Whatever became of it, the next write finds out afresh.
        self.open = None;
        Err(PartialWrite { lines: memchr::memchr_iter(b'\n', &lines[..done]).count(), why })
    }

    fn write(&mut self, lines: &[u8], done: &mut usize) -> io::Result<()> {
        self.find()?;
        let is_torn = std::mem::take(&mut self.is_torn);
        let mut file = self.open.as_ref().ok_or(io::ErrorKind::NotFound)?;
        if is_torn {
            file.write_all(b"\n")?;
        }
        while *done < lines.len() {
            match file.write(&lines[*done..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => *done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Finds the file that is written to now.
    fn find(&mut self) -> io::Result<()> {
        let is_current = self.open.as_ref().is_some_and(|file| is_same_file(file, &self.path));
        if !is_current {
            self.reopen()?;
        }
        let is_full = |file: &File| file.metadata().is_ok_and(|f| f.len() >= self.most_bytes);
        if self.open.as_ref().is_some_and(is_full) {
            self.rotate()?;
        }
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            create_private_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).mode(0o600).open(&self.path)?;
        self.is_torn = ends_in_line(&mut file)?;
        self.open = Some(file);
        Ok(())
    }

    /// Puts the file away, unless somebody else does so at this moment.
    fn rotate(&mut self) -> io::Result<()> {
        let Some(_lock) = FileLock::try_acquire(&self.path.with_extension("lock"))? else {
            return Ok(());
        };
        // Whoever had the lock before may have done it.
        if self.open.as_ref().is_some_and(|file| is_same_file(file, &self.path)) {
            rotate_files(&self.path)?;
        }
        self.reopen()
    }
}

/// Whether an open file is the one of this name.
fn is_same_file(file: &File, path: &Path) -> bool {
    let inode = |facts: fs::Metadata| (facts.dev(), facts.ino());
    let ours = file.metadata().map(inode);
    matches!((ours, fs::metadata(path).map(inode)), (Ok(ours), Ok(named)) if ours == named)
}
