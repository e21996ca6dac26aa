//! The audit log, read again.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::SystemTime;

use super::{AuditLog, Entry};
use crate::logs::{FILES, Follow, aged, off_the_runtime, stamp};

/// Which calls are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Those of this server.
    server: Option<String>,
    /// Those from then on, as a log writes it.
    since: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The last entries that were wanted, oldest first.
    pub entries: Vec<Entry>,
    /// Lines that nobody understands.
    pub unreadable: usize,
}

/// The log as it grows.
#[derive(Debug)]
pub struct Following {
    lines: Follow,
    filter: Filter,
}

/// The last `most` entries of the log in a folder of logs.
pub async fn history(dir: &Path, filter: Filter, most: usize) -> io::Result<History> {
    let path = AuditLog::path(dir);
    off_the_runtime(move || {
        let mut found = VecDeque::new();
        let mut unreadable = 0;
        for age in (0..FILES).rev() {
            let file = match File::open(aged(&path, age)) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for line in BufReader::new(file).split(b'\n') {
                match filter.read(&line?) {
                    Read::Wanted(entry) => found.push_back(entry),
                    Read::Unwanted => {}
                    Read::Unreadable => unreadable += 1,
                }
                if found.len() > most {
                    found.pop_front();
                }
            }
        }
        Ok(History { entries: found.into(), unreadable })
    })
    .await
}

/// Follows the log in a folder of logs from its end on.
pub async fn follow(dir: &Path, filter: Filter) -> io::Result<Following> {
    Ok(Following { lines: Follow::open(AuditLog::path(dir)).await?, filter })
}

// === impl Following ===

impl Following {
    /// Waits for entries that are wanted; may be none of those that came. May be dropped while it waits.
    pub async fn next(&mut self) -> io::Result<Vec<Entry>> {
        let lines = self.lines.next_lines().await?;
        let read = lines.iter().map(|line| self.filter.read(line.as_bytes()));
        let wanted = |read| if let Read::Wanted(entry) = read { Some(entry) } else { None };
        Ok(read.filter_map(wanted).collect())
    }
}

/// What a line is.
enum Read {
    Wanted(Entry),
    Unwanted,
    Unreadable,
}

// === impl Filter ===

impl Filter {
    /// Only calls of this server.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Only what began at `since` or later.
    #[must_use]
    pub fn since(mut self, since: SystemTime) -> Self {
        self.since = Some(stamp(since));
        self
    }

    fn read(&self, line: &[u8]) -> Read {
        if line.is_empty() {
            return Read::Unwanted;
        }
        match serde_json::from_slice(line) {
            Ok(entry) if self.wants(&entry) => Read::Wanted(entry),
            Ok(_) => Read::Unwanted,
            Err(_) => Read::Unreadable,
        }
    }

    /// What is missing may have been anything, and is told to everybody.
    fn wants(&self, entry: &Entry) -> bool {
        let (time, server) = match entry {
            Entry::Call(line) => (&line.time, Some(&line.server)),
            Entry::Lost(lost) => (&lost.time, None),
        };
        // Times of one form are in the order of their text.
        let is_in_time = self.since.as_ref().is_none_or(|since| time >= since);
        let is_of_server = match (&self.server, server) {
            (Some(wanted), Some(server)) => wanted == server,
            _ => true,
        };
        is_in_time && is_of_server
    }
}
