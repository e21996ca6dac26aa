//! One log file: writes lines with their time, and rotates the file when it is full.
//!
//! Used by `logs::writer`. The queue before it is in `logs::queue`; reading is in `logs::tail` and `logs::follow`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    queue::{LogBatch, LogEntry},
    rotated_path,
    timestamp::format_timestamp,
};

/// The size at which a file is rotated.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// How many files a log has, the current one included.
pub(crate) const FILES_PER_LOG: usize = 4;

/// The current file of one log.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: u64,
    /// The last line has no line break yet.
    in_line: bool,
}

// === impl LogFile ===

impl LogFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let bytes = file.metadata()?.len();
        let in_line = bytes > 0 && !ends_with_break(&mut file)?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file), bytes, in_line })
    }

    /// Writes a batch. All of its entries are in the file when this returns.
    pub(super) fn write(&mut self, batch: &LogBatch) -> io::Result<()> {
        let stamp = format_timestamp(SystemTime::now());
        for entry in &batch.entries {
            match entry {
                LogEntry::Output(bytes) => self.output(&stamp, bytes)?,
                LogEntry::Note(text) => self.own_line(&stamp, text)?,
                LogEntry::Dropped(count) => {
                    self.own_line(
                        &stamp,
                        &format!("{count} bytes came too fast and were dropped"),
                    )?;
                }
            }
        }
        self.out.flush()
    }

    fn output(&mut self, stamp: &str, bytes: &[u8]) -> io::Result<()> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.in_line {
                self.begin(stamp)?;
            }
            self.put(line)?;
            self.in_line = line.last() != Some(&b'\n');
            // A line without end must not make a file without end.
            if self.in_line && self.bytes > MAX_FILE_BYTES {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn own_line(&mut self, stamp: &str, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.begin(stamp)?;
        self.put(format!("[switchboard] {text}\n").as_bytes())
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.in_line {
            self.in_line = false;
            self.put(b"\n")?;
        }
        Ok(())
    }

    /// Begins a line with its time. Rotates only between lines, so that each file can be read alone.
    fn begin(&mut self, stamp: &str) -> io::Result<()> {
        if self.bytes >= MAX_FILE_BYTES {
            self.rotate()?;
        }
        self.put(stamp.as_bytes())?;
        self.put(b" ")
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        for age in (1..FILES_PER_LOG).rev() {
            match fs::rename(rotated_path(&self.path, age - 1), rotated_path(&self.path, age)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

fn ends_with_break(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
