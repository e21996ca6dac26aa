//! Follows a log file as it grows, across rotations.
//!
//! Used by `ServerLogs::follow`, by the audit log's follower and by the hub's admin page. It polls; it does not use
//! file events.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::task::JoinHandle;

use super::{READ_TIMEOUT, file::FILES_PER_LOG, off_the_runtime, rotated_path};

/// How often a file is polled that does not grow.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How many bytes one read takes at most.
const MAX_READ_BYTES: u64 = 256 * 1024;
/// A longer line is returned in parts.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Reads new lines of a log and waits for more.
#[derive(Debug)]
pub struct LogFollower {
    state: FollowState,
}

/// Kept between polls, so that a caller that drops `next_lines` and calls it again loses no lines.
#[derive(Debug)]
enum FollowState {
    Resting(LogReader),
    Reading(JoinHandle<(LogReader, io::Result<Vec<String>>)>),
    Lost,
}

#[derive(Debug)]
struct LogReader {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line that has no line break yet.
    rest: Vec<u8>,
}

// === impl LogFollower ===

impl LogFollower {
    /// Follows the log at `path` from its end on. The file need not exist yet.
    pub(crate) async fn open(path: PathBuf) -> io::Result<Self> {
        let reader = off_the_runtime(move || {
            let mut file = open_if_present(&path)?;
            if let Some(file) = &mut file {
                file.seek(SeekFrom::End(0))?;
            }
            Ok(LogReader { path, file, rest: Vec::new() })
        });
        Ok(Self { state: FollowState::Resting(reader.await?) })
    }

    /// Waits for lines and returns at least one. Cancel-safe.
    pub async fn next_lines(&mut self) -> io::Result<Vec<String>> {
        loop {
            let lines = self.read().await?;
            if !lines.is_empty() {
                return Ok(lines);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn read(&mut self) -> io::Result<Vec<String>> {
        self.state = match std::mem::replace(&mut self.state, FollowState::Lost) {
            FollowState::Resting(mut reader) => {
                FollowState::Reading(tokio::task::spawn_blocking(move || {
                    let lines = reader.read();
                    (reader, lines)
                }))
            }
            other => other,
        };
        let FollowState::Reading(reading) = &mut self.state else {
            return Err(io::Error::other("the log can no longer be followed"));
        };
        let read = tokio::time::timeout(READ_TIMEOUT, reading).await;
        match read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))? {
            Ok((reader, lines)) => {
                self.state = FollowState::Resting(reader);
                lines
            }
            Err(error) => {
                self.state = FollowState::Lost;
                Err(io::Error::other(error))
            }
        }
    }
}

// === impl LogReader ===

impl LogReader {
    /// Reads the lines that are in the file now.
    fn read(&mut self) -> io::Result<Vec<String>> {
        if self.file.is_none() {
            self.file = open_if_present(&self.path)?;
        }
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        let read = file.by_ref().take(MAX_READ_BYTES).read_to_end(&mut self.rest)?;
        if read == 0 {
            self.follow_rotation()?;
        }
        Ok(self.lines())
    }

    /// At the end of a rotated file, goes on with the file that came after it.
    fn follow_rotation(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let ours = file.metadata()?;
        if file.stream_position()? > ours.len() {
            file.seek(SeekFrom::Start(0))?;
        }
        let age = (0..FILES_PER_LOG)
            .find(|age| is_same_file(&rotated_path(&self.path, *age), ours.ino()));
        match age {
            Some(0) => {}
            Some(age) => self.file = open_if_present(&rotated_path(&self.path, age - 1))?,
            // The file was deleted by rotation; the oldest remaining file comes next.
            None => {
                let oldest = (0..FILES_PER_LOG)
                    .rev()
                    .map(|age| rotated_path(&self.path, age))
                    .find(|p| p.exists());
                self.file = open_if_present(oldest.as_deref().unwrap_or(&self.path))?;
            }
        }
        Ok(())
    }

    /// Takes the whole lines out of the bytes read.
    fn lines(&mut self) -> Vec<String> {
        let whole = match memchr::memrchr(b'\n', &self.rest) {
            Some(end) => end + 1,
            None if self.rest.len() > MAX_LINE_BYTES => self.rest.len(),
            None => return Vec::new(),
        };
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect()
    }
}

fn open_if_present(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_same_file(path: &Path, inode: u64) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.ino() == inode)
}
