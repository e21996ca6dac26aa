//! A log read as it grows, over rotations.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::task::JoinHandle;

use super::{PATIENCE, aged, file::FILES, off_the_runtime};

/// How often a file is looked at that does not grow.
const EVERY: Duration = Duration::from_millis(200);
/// The most that is read at once.
const BLOCK: u64 = 256 * 1024;
/// A line that is longer is handed out in parts.
const LONGEST_LINE: usize = 64 * 1024;

/// A reader that waits for more.
#[derive(Debug)]
pub struct Follow {
    state: State,
}

/// Whoever drops a wait and waits again finds the read where it was.
#[derive(Debug)]
enum State {
    Resting(Reader),
    Reading(JoinHandle<(Reader, io::Result<Vec<String>>)>),
    Lost,
}

#[derive(Debug)]
struct Reader {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end has not been written.
    rest: Vec<u8>,
}

// === impl Follow ===

impl Follow {
    /// Follows the log at `path` from its end on. It need not be there yet.
    pub(crate) async fn open(path: PathBuf) -> io::Result<Self> {
        let reader = off_the_runtime(move || {
            let mut file = opened(&path)?;
            if let Some(file) = &mut file {
                file.seek(SeekFrom::End(0))?;
            }
            Ok(Reader { path, file, rest: Vec::new() })
        });
        Ok(Self { state: State::Resting(reader.await?) })
    }

    /// Waits for lines and returns them, at least one. May be dropped while it waits.
    pub async fn next_lines(&mut self) -> io::Result<Vec<String>> {
        loop {
            let lines = self.read().await?;
            if !lines.is_empty() {
                return Ok(lines);
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn read(&mut self) -> io::Result<Vec<String>> {
        self.state = match std::mem::replace(&mut self.state, State::Lost) {
            State::Resting(mut reader) => State::Reading(tokio::task::spawn_blocking(move || {
                let lines = reader.read();
                (reader, lines)
            })),
            other => other,
        };
        let State::Reading(reading) = &mut self.state else {
            return Err(io::Error::other("the log can no longer be followed"));
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        match read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))? {
            Ok((reader, lines)) => {
                self.state = State::Resting(reader);
                lines
            }
            Err(error) => {
                self.state = State::Lost;
                Err(io::Error::other(error))
            }
        }
    }
}

// === impl Reader ===

impl Reader {
    /// The lines that are there now.
    fn read(&mut self) -> io::Result<Vec<String>> {
        if self.file.is_none() {
            self.file = opened(&self.path)?;
        }
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        let read = file.by_ref().take(BLOCK).read_to_end(&mut self.rest)?;
        if read == 0 {
            self.turn_over()?;
        }
        Ok(self.lines())
    }

    /// At a file's end: goes on with the one that came after it, if one did.
    fn turn_over(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let ours = file.metadata()?;
        if file.stream_position()? > ours.len() {
            file.seek(SeekFrom::Start(0))?;
        }
        let age = (0..FILES).find(|age| is(&aged(&self.path, *age), ours.ino()));
        match age {
            Some(0) => {}
            Some(age) => self.file = opened(&aged(&self.path, age - 1))?,
            // It is gone altogether; the oldest that is left comes next.
            None => {
                let oldest = (0..FILES).rev().map(|age| aged(&self.path, age)).find(|p| p.exists());
                self.file = opened(oldest.as_deref().unwrap_or(&self.path))?;
            }
        }
        Ok(())
    }

    /// Takes the whole lines out of what was read.
    fn lines(&mut self) -> Vec<String> {
        let whole = match memchr::memrchr(b'\n', &self.rest) {
            Some(end) => end + 1,
            None if self.rest.len() > LONGEST_LINE => self.rest.len(),
            None => return Vec::new(),
        };
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect()
    }
}

fn opened(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is(path: &Path, inode: u64) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.ino() == inode)
}
