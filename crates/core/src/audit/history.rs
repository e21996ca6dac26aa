//! Reading and following the audit log, with a filter.
//!
//! Used by `switchboard audit` and the hub's admin page (`hub::admin::activity`). It does not write the log
//! (`audit::log`).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::SystemTime;

use super::line::is_written_as_is;
use super::{AuditEntry, AuditLog};
use crate::logs::{FILES_PER_LOG, LogFollower, format_timestamp, off_the_runtime, rotated_path};

/// Selects entries of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Only calls to this server.
    server: Option<String>,
    /// Only calls for this principal.
    principal: Option<PrincipalFilter>,
    /// Only entries from this timestamp on, in the form that the log uses.
    since: Option<String>,
}

/// Which lines are of one principal.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PrincipalFilter {
    /// Those with this id.
    Id(String),
    /// None can be told: the log writes the id in a way in which it may write the id of another.
    Unclear,
}

/// The entries that a read of the audit log found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditHistory {
    /// The last entries that match the filter, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number of lines that could not be parsed.
    pub unreadable: usize,
}

/// Follows the audit log as it grows.
#[derive(Debug)]
pub struct AuditFollower {
    lines: LogFollower,
    filter: AuditFilter,
}

/// Reads the last `most` matching entries of the audit log in the log folder `dir`.
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
                    LineMatch::Matching(entry) => found.push_back(entry),
                    LineMatch::Other => {}
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

/// Follows the audit log in the log folder `dir` from its end on.
pub async fn follow_audit_log(dir: &Path, filter: AuditFilter) -> io::Result<AuditFollower> {
    Ok(AuditFollower { lines: LogFollower::open(AuditLog::path(dir)).await?, filter })
}

// === impl AuditFollower ===

impl AuditFollower {
    /// Waits for new entries and returns those that match, which may be none. Cancel-safe.
    pub async fn next(&mut self) -> io::Result<Vec<AuditEntry>> {
        let lines = self.lines.next_lines().await?;
        let read = lines.iter().map(|line| self.filter.read(line.as_bytes()));
        let wanted = |read| if let LineMatch::Matching(entry) = read { Some(entry) } else { None };
        Ok(read.filter_map(wanted).collect())
    }
}

/// How a line of the log relates to a filter.
enum LineMatch {
    Matching(AuditEntry),
    Other,
    Unreadable,
}

// === impl AuditFilter ===

impl AuditFilter {
    /// Selects only calls to this server.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Selects only calls for the principal with this id, and no gaps. Nothing is selected for an id that the log
    /// shortens or redacts.
    #[must_use]
    pub fn of_principal(mut self, id: &str) -> Self {
        let is_clear = is_written_as_is(id);
        let id = || PrincipalFilter::Id(id.to_owned());
        self.principal = Some(if is_clear { id() } else { PrincipalFilter::Unclear });
        self
    }

    /// Selects only calls that began at `since` or later.
    #[must_use]
    pub fn since(mut self, since: SystemTime) -> Self {
        self.since = Some(format_timestamp(since));
        self
    }

    fn read(&self, line: &[u8]) -> LineMatch {
        if line.is_empty() {
            return LineMatch::Other;
        }
        match serde_json::from_slice(line) {
            Ok(entry) if self.wants(&entry) => LineMatch::Matching(entry),
            Ok(_) => LineMatch::Other,
            Err(_) => LineMatch::Unreadable,
        }
    }

    /// A gap matches every filter of servers: the missing calls may have been to any server.
    fn wants(&self, entry: &AuditEntry) -> bool {
        let is_of_principal = match (&self.principal, entry) {
            (None, _) => true,
            (Some(PrincipalFilter::Id(id)), AuditEntry::Call(line)) => line.principal == *id,
            (Some(_), _) => false,
        };
        let (time, server) = match entry {
            AuditEntry::Call(line) => (&line.time, Some(&line.server)),
            AuditEntry::Lost(lost) => (&lost.time, None),
        };
        // Timestamps of one format sort as text.
        let is_in_time = self.since.as_ref().is_none_or(|since| time >= since);
        let is_of_server = match (&self.server, server) {
            (Some(wanted), Some(server)) => wanted == server,
            _ => true,
        };
        is_of_principal && is_in_time && is_of_server
    }
}
