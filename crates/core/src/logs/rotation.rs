//! The generations of one log file: `a.log`, then `a.log.1` and so on, the oldest last.
//!
//! Used by the logs of servers (`logs::file`, `logs::tail`, `logs::follow`), by the audit log and by `hub::attach` for the hub's log. It does not decide
//! when a file is large enough to rotate, or which process may rotate it: its users do.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

/// How many files a log has, the one written to included.
pub(crate) const FILES_PER_LOG: usize = 4;

/// The file that is `age` rotations old; the one written to is 0.
pub(crate) fn rotated_path(path: &Path, age: usize) -> PathBuf {
    if age == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{age}"));
    name.into()
}

/// Gives every file of the log at `path` the next age; the oldest one is gone. The log has no file to write to then.
pub fn rotate_files(path: &Path) -> io::Result<()> {
    for age in (1..FILES_PER_LOG).rev() {
        match fs::rename(rotated_path(path, age - 1), rotated_path(path, age)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the last line of a file has no end yet.
pub(crate) fn ends_in_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_becomes_one_older_and_the_oldest_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let content = |age| fs::read_to_string(rotated_path(&path, age)).ok();
        for text in ["1", "2", "3", "4", "5"] {
            fs::write(&path, text).unwrap();
            rotate_files(&path).unwrap();
        }
        assert_eq!(content(0), None);
        let kept: Vec<_> = (1..=FILES_PER_LOG).map(content).collect();
        assert_eq!(kept, [Some("5".into()), Some("4".into()), Some("3".into()), None]);
    }
}
