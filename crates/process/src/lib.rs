//! Child processes that never outlive us.
//!
//! Used by `wire`, `core`, `auth`, `sources`, `plugin` and `cli`, which start programs. [`spawn`] starts a
//! program and returns its pipes and a [`Process`]: a handle that tells how the program ended, keeps the tail
//! of its standard error, and stops it together with all its descendants. Under a [`ProcessGuard`] that holds
//! even when this process is killed.
//!
//! This crate does not know the protocol in the pipes, the meaning of a server, or the origin of a command:
//! environment and working directory are exactly those of the caller.

#![cfg(unix)]

mod child;
mod command;
mod descriptors;
mod direct_child;
mod error;
mod exit;
pub mod guard;
#[cfg(target_os = "linux")]
mod guarded_child;
mod handle;
mod launch;
mod lifecycle;
#[cfg(target_os = "linux")]
mod orphans;
mod process_tree;
mod resolve;
mod stderr;
mod stdout;

pub use command::{ProcessCommand, StopTimeouts};
pub use descriptors::raise_descriptor_limit;
pub use error::SpawnError;
pub use exit::ProcessExit;
pub use guard::ProcessGuard;
pub use handle::Process;
pub use process_tree::ProcessInfo;
pub use stderr::{StderrOptions, StderrRedaction, StderrSink};

pub use stdout::StdoutPipe;

use tokio::net::unix::pipe;

/// A started program.
#[derive(Debug)]
pub struct SpawnedProcess {
    /// The program's standard input. Dropping it tells the program that no more input comes; drop it before
    /// [`Process::stop`], which cannot close a pipe that the caller owns.
    pub stdin: pipe::Sender,
    /// The program's standard output.
    pub stdout: pipe::Receiver,
    /// The handle on the process.
    pub process: Process,
}

/// Starts `command`.
///
/// Returns when the program's image is running; a program that exits right after is no error here but an end
/// of file on `stdout` and a [`Process::wait_exit`]. Dropping the future at any point leaves nothing running.
/// Needs a tokio runtime with I/O and time.
pub async fn spawn(
    command: ProcessCommand,
    guard: &ProcessGuard,
    stderr: StderrOptions,
) -> Result<SpawnedProcess, SpawnError> {
    let guard = guard.clone();
    // Looking up the program reads file systems that may be slow, and a fork copies page tables.
    tokio::task::spawn_blocking(move || launch::launch(command, &guard, stderr))
        .await
        .map_err(|error| SpawnError::Io { doing: "starting a process", source: error.into() })??
        .wait_started()
        .await
}
