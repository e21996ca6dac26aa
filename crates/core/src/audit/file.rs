//! The audit log's file: appends whole lines and rotates the file when it is full.
//!
//! Used by the writer thread in `audit::log`. Several processes of one user append to the file at once: a hub, a
//! `serve`, a command. Each write is of whole lines and goes to the end of the file; a process that finds the file
//! rotated opens the new one. It does not know the content of lines.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::logs::{FILES_PER_LOG, rotated_path};

/// The audit file that is open for appending.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    most_bytes: u64,
    open: Option<File>,
    /// The last line of the file has no line break, so the next write begins with one.
    is_torn: bool,
}

/// A write that stopped before its end.
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

    /// Appends lines, each with its line break.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), PartialWrite> {
        let mut done = 0;
        let Err(why) = self.write(lines, &mut done) else {
            return Ok(());
        };
        // The next write opens the file anew, in whichever state this error left it.
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

    /// Opens the current file if it was rotated, and rotates it if it is full.
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
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).mode(0o600).open(&self.path)?;
        self.is_torn = ends_in_line(&mut file)?;
        self.open = Some(file);
        Ok(())
    }

    /// Rotates the file, unless another process does so at this moment.
    fn rotate(&mut self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = options.open(self.path.with_extension("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The process that held the lock before may have rotated the file already.
        if self.open.as_ref().is_some_and(|file| is_same_file(file, &self.path)) {
            for age in (1..FILES_PER_LOG).rev() {
                match fs::rename(rotated_path(&self.path, age - 1), rotated_path(&self.path, age)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        self.reopen()
    }
}

/// Whether `path` still names the open file.
fn is_same_file(file: &File, path: &Path) -> bool {
    let inode = |facts: fs::Metadata| (facts.dev(), facts.ino());
    let ours = file.metadata().map(inode);
    matches!((ours, fs::metadata(path).map(inode)), (Ok(ours), Ok(named)) if ours == named)
}

fn ends_in_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
