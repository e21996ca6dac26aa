//! The audit log, read again.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::SystemTime;

use super::{AuditEntry, AuditLog};
use crate::logs::{FILES_PER_LOG, LogFollower, format_timestamp, off_the_runtime, rotated_path};

/// Which calls are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Those of this server.
    server: Option<String>,
    /// Those from then on, as a log writes it.
    since: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditHistory {
    /// The last entries that were wanted, oldest first.
    pub entries: Vec<AuditEntry>,
    /// Lines that nobody understands.
    pub unreadable: usize,
}

/// The log as it grows.
#[derive(Debug)]
pub struct AuditFollower {
    lines: LogFollower,
    filter: AuditFilter,
}

/// The last `most` entries of the log in a folder of logs.
pub async fn read_audit_log(
    dir: &Path,
    filter: AuditFilter,
    most: usize,
) -> io::Result<AuditHistory> {
    let path = AuditLog::path(dir);
    off_the_runtime(move || {
        let mut found = VecDeque::new();
        let mut unreadable = 0;
        for age in (0..FILES_PER_LOG).rev() {
            let file = match File::open(rotated_path(&path, age)) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for line in BufReader::new(file).split(b'\n') {
                match filter.read(&line?) {
                    LineMatch::Wanted(entry) => found.push_back(entry),
                    LineMatch::Unwanted => {}
                    LineMatch::Unreadable => unreadable += 1,
                }
                if found.len() > most {
                    found.pop_front();
                }
            }
        }
        Ok(AuditHistory { entries: found.into(), unreadable })
    })
    .await
}

/// Follows the log in a folder of logs from its end on.
pub async fn follow_audit_log(dir: &Path, filter: AuditFilter) -> io::Result<AuditFollower> {
    Ok(AuditFollower { lines: LogFollower::open(AuditLog::path(dir)).await?, filter })
}

// === impl AuditFollower ===

impl AuditFollower {
    /// Waits for entries that are wanted; may be none of those that came. May be dropped while it waits.
    pub async fn next(&mut self) -> io::Result<Vec<AuditEntry>> {
        let lines = self.lines.next_lines().await?;
        let read = lines.iter().map(|line| self.filter.read(line.as_bytes()));
        let wanted = |read| if let LineMatch::Wanted(entry) = read { Some(entry) } else { None };
        Ok(read.filter_map(wanted).collect())
    }
}

/// What a line is.
enum LineMatch {
    Wanted(AuditEntry),
    Unwanted,
    Unreadable,
}

// === impl AuditFilter ===

impl AuditFilter {
    /// Only calls of this server.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Only what began at `since` or later.
    #[must_use]
    pub fn since(mut self, since: SystemTime) -> Self {
        self.since = Some(format_timestamp(since));
        self
    }

    fn read(&self, line: &[u8]) -> LineMatch {
        if line.is_empty() {
            return LineMatch::Unwanted;
        }
        match serde_json::from_slice(line) {
            Ok(entry) if self.wants(&entry) => LineMatch::Wanted(entry),
            Ok(_) => LineMatch::Unwanted,
            Err(_) => LineMatch::Unreadable,
        }
    }

    /// What is missing may have been anything, and is told to everybody.
    fn wants(&self, entry: &AuditEntry) -> bool {
        let (time, server) = match entry {
            AuditEntry::Call(line) => (&line.time, Some(&line.server)),
            AuditEntry::Lost(lost) => (&lost.time, None),
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
