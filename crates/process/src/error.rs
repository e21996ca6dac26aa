//! Why a program could not be started. Each cause that a person fixes differently is a variant.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such program.
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
    /// The working directory is missing, or is none.
    #[error("working directory `{}` is not a directory that can be entered", path.display())]
    BadWorkingDirectory {
        /// The directory asked for.
        path: PathBuf,
    },
    /// The system refused to execute the file.
    #[error("cannot execute `{}`{}", path.display(), refusal(source))]
    Exec {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The guard itself could not do its work.
    #[error("the process guard failed while {doing}")]
    Guard {
        /// What was under way.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Something around the process failed: pipes, descriptors, the runtime.
    #[error("failed while {doing}")]
    Io {
        /// What was under way.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

fn path_suffix(path: Option<&OsString>) -> String {
    path.map(|path| format!(" in PATH `{}`", path.display())).unwrap_or_default()
}

/// The file was seen a moment ago, so a "not found" is about what the file asks for.
fn refusal(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => ": the interpreter or loader it names was not found",
        _ => "",
    }
}
