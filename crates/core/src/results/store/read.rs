//! Reads and searches a spilled file as text, without loading it whole.
//!
//! Used by `results::store`, which checks the owner first.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use super::ResultStoreError;

/// How many bytes one read returns at most.
const MAX_SLICE_BYTES: usize = 1024 * 1024;
/// How many bytes of one line are searched and shown.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How many characters of a matching line are shown.
const MAX_SHOWN_CHARS: usize = 500;
/// How many lines one search returns at most.
const MAX_HITS: usize = 1_000;
/// How large a compiled pattern may be.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// A part of a spilled text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResultSlice {
    /// The text of the part.
    pub text: String,
    /// The first byte of the part.
    pub offset: u64,
    /// The offset of the next part; `None` at the end.
    pub next: Option<u64>,
    /// The length of the whole text in bytes.
    pub total: u64,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineHit {
    /// The line number, from 1.
    pub line: u64,
    /// The first byte of the line.
    pub offset: u64,
    /// The line, or the beginning of a long one.
    pub text: String,
}

/// A pattern to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPattern {
    /// This exact text.
    Text(String),
    /// A regular expression.
    Regex(String),
}

// === impl SearchPattern ===

impl SearchPattern {
    pub(super) fn compile(&self) -> Result<Regex, ResultStoreError> {
        let pattern = match self {
            Self::Text(text) => regex::escape(text),
            Self::Regex(regex) => regex.clone(),
        };
        let built = RegexBuilder::new(&pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES)
            .build();
        built.map_err(|error| ResultStoreError::Pattern(error.to_string()))
    }
}

pub(super) fn slice(path: &Path, offset: u64, length: usize) -> io::Result<ResultSlice> {
    let mut file = File::open(path)?;
    let total = file.metadata()?.len();
    let offset = offset.min(total);
    // Three more bytes on either side: the longest part of a character that a cut can leave.
    let from = offset.saturating_sub(3);
    file.seek(SeekFrom::Start(from))?;
    let wanted = length.min(MAX_SLICE_BYTES) as u64 + (offset - from) + 3;
    let mut bytes = Vec::new();
    file.take(wanted).read_to_end(&mut bytes)?;

    let start = boundary(&bytes, place(offset - from));
    let end = boundary(&bytes, place(offset - from).saturating_add(length.min(MAX_SLICE_BYTES)));
    let text = String::from_utf8_lossy(&bytes[start..end.max(start)]).into_owned();
    let next = from + end.max(start) as u64;
    Ok(ResultSlice {
        text,
        offset: from + start as u64,
        next: (next < total).then_some(next),
        total,
    })
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// The first byte of the character that contains `at`.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !inside(at)).unwrap_or(at)
}

pub(super) fn search(path: &Path, regex: &Regex, limit: usize) -> io::Result<Vec<LineHit>> {
    let mut reader = BufReader::with_capacity(MAX_LINE_BYTES, File::open(path)?);
    let mut hits = Vec::new();
    let (mut number, mut offset) = (1, 0);
    let mut line = Vec::new();
    while hits.len() < limit.min(MAX_HITS) {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let ended = line.last() == Some(&b'\n');
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if regex.is_match(text) {
            let text = text.chars().take(MAX_SHOWN_CHARS).collect();
            hits.push(LineHit { line: number, offset, text });
        }
        // The next part of a long line keeps its line number.
        number += u64::from(ended);
        offset += read as u64;
    }
    Ok(hits)
}
