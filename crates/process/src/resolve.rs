//! Which file a command names: the lookup that `execvp` would do in the child, done before the fork, so that
//! each failure has its own error.
//!
//! Used by `launch` and `ProcessCommand::resolve`. It does not look at our own environment.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::{ProcessCommand, SpawnError};

/// The `PATH` for a command without one, as in the C library.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file to execute, as an absolute path.
pub(super) fn resolve(command: &ProcessCommand) -> Result<PathBuf, SpawnError> {
    let cwd = working_directory(command)?;
    if command.program.as_bytes().contains(&b'/') {
        explicit(command, &cwd)
    } else {
        search(command)
    }
}

fn working_directory(command: &ProcessCommand) -> Result<PathBuf, SpawnError> {
    let Some(path) = &command.cwd else {
        return std::env::current_dir()
            .map_err(|source| SpawnError::Io { doing: "reading the working directory", source });
    };
    if path.is_dir() && access(path, AccessFlags::X_OK).is_ok() {
        std::path::absolute(path)
            .map_err(|source| SpawnError::Io { doing: "reading the working directory", source })
    } else {
        Err(SpawnError::BadWorkingDirectory { path: path.clone() })
    }
}

fn explicit(command: &ProcessCommand, cwd: &Path) -> Result<PathBuf, SpawnError> {
    let path = cwd.join(&command.program);
    match inspect(&path) {
        Ok(Candidate::Executable) => Ok(path),
        Ok(Candidate::Plain) => Err(SpawnError::NotExecutable { path }),
        Ok(Candidate::Directory) => Err(SpawnError::IsDirectory { path }),
        Ok(Candidate::Missing) => {
            Err(SpawnError::NotFound { program: command.program.clone(), searched: None })
        }
        Err(source) => Err(SpawnError::Exec { path, source }),
    }
}

/// The first executable file wins; a file that is not executable is remembered for the error. Relative
/// folders of `PATH` are skipped: which program a name means must not depend on the working directory.
fn search(command: &ProcessCommand) -> Result<PathBuf, SpawnError> {
    let searched = command.variable("PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut unusable = None;
    let folders = std::env::split_paths(searched).filter(|folder| folder.is_absolute());
    // An empty name would make every folder of `PATH` a candidate.
    for folder in folders.filter(|_| !command.program.is_empty()) {
        let path = folder.join(&command.program);
        match inspect(&path) {
            Ok(Candidate::Executable) => return Ok(path),
            Ok(Candidate::Plain) => unusable = unusable.or(Some(path)),
            Ok(Candidate::Directory | Candidate::Missing) | Err(_) => {}
        }
    }
    Err(match unusable {
        Some(path) => SpawnError::NotExecutable { path },
        None => SpawnError::NotFound {
            program: command.program.clone(),
            searched: Some(searched.to_owned()),
        },
    })
}

enum Candidate {
    Executable,
    Plain,
    Directory,
    Missing,
}

fn inspect(path: &Path) -> io::Result<Candidate> {
    match path.metadata() {
        Ok(file) if file.is_dir() => Ok(Candidate::Directory),
        Ok(_) if access(path, AccessFlags::X_OK).is_ok() => Ok(Candidate::Executable),
        Ok(_) => Ok(Candidate::Plain),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Candidate::Missing),
            _ => Err(error),
        },
    }
}
