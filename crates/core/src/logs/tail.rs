//! Reads the last lines of a log, backwards over its rotated files.
//!
//! Used by `ServerLogs::tail`, for `switchboard logs` and the hub. It does not follow the log (`logs::follow`).

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use super::{file::FILES_PER_LOG, rotated_path};

/// How many bytes are read at a time.
const BLOCK_BYTES: u64 = 64 * 1024;
/// How many bytes are read in all.
const MAX_TAIL_BYTES: usize = 8 * 1024 * 1024;

/// Returns the last `lines` lines of the log at `path`, oldest first.
pub(super) fn tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let mut bytes = Vec::new();
    for age in 0..FILES_PER_LOG {
        match File::open(rotated_path(path, age)) {
            Ok(file) => prepend(file, lines, &mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
        if enough(&bytes, lines) {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let from = all.len().saturating_sub(lines);
    Ok(all[from..].iter().map(|line| (*line).to_owned()).collect())
}

/// Puts the end of `file` before `bytes`, until there are enough lines.
fn prepend(mut file: File, lines: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut at = file.metadata()?.len();
    while at > 0 && !enough(bytes, lines) {
        let length = at.min(BLOCK_BYTES);
        at -= length;
        file.seek(SeekFrom::Start(at))?;
        let mut block = Vec::new();
        file.by_ref().take(length).read_to_end(&mut block)?;
        block.append(bytes);
        *bytes = block;
    }
    Ok(())
}

/// Whether there are enough lines. Needs one line break more than lines: the first line has to be whole.
fn enough(bytes: &[u8], lines: usize) -> bool {
    bytes.len() >= MAX_TAIL_BYTES || memchr::memchr_iter(b'\n', bytes).count() > lines
}
