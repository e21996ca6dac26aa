//! The errors of starting a program, with one variant for each cause that a user fixes differently.
//!
//! Used by every crate that calls `spawn`; `cli::hint` turns them into advice.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program was not found.
    #[error("command `{}` was not found{}", program.display(), path_suffix(searched.as_ref()))]
    NotFound {
        /// The program as the command names it.
        program: OsString,
        /// The `PATH` that was searched, unless the program is a path itself.
        searched: Option<OsString>,
    },
    /// The path names a directory.
    #[error("command `{}` is a directory", path.display())]
    IsDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The file is there but may not be executed.
    #[error("command `{}` is not executable", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// The working directory does not exist or is no directory.
    #[error("working directory `{}` is not a directory that can be entered", path.display())]
    BadWorkingDirectory {
        /// The requested directory.
        path: PathBuf,
    },
    /// The system refused to execute the file.
    #[error("cannot execute `{}`{}", path.display(), refusal(source))]
    Exec {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The guard failed.
    #[error("the process guard failed while {doing}")]
    Guard {
        /// The failed step.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Pipes, descriptors or the runtime failed.
    #[error("failed while {doing}")]
    Io {
        /// The failed step.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

fn path_suffix(path: Option<&OsString>) -> String {
    path.map(|path| format!(" in PATH `{}`", path.display())).unwrap_or_default()
}

/// Names the cause. The file existed a moment ago, so "not found" is about the interpreter or loader that it
/// names.
fn refusal(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => ": the interpreter or loader it names was not found",
        _ => "",
    }
}
