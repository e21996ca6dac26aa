//! Starts a hub process that outlives this one, and reads the end of its log if it fails.
//!
//! Used by `connect` (the module) when no hub listens. It does not wait for the hub to answer and does not detach it:
//! the hub calls `socket::detach` itself.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
    process::{ExitStatus, Stdio},
};

use switchboard_config::private_file::{FileLock, create_private_folder};
use switchboard_core::logs::rotate_files;
use switchboard_wire::sanitize;
use tokio::process::{Child, Command};

use super::{HubAttachError, HubLaunchOptions};
use crate::socket;

/// The part of a log that an error message shows.
const MAX_LOG_TAIL_BYTES: u64 = 4 << 10;

/// A log larger than this is rotated when the next hub starts.
const MAX_LOG_BYTES: u64 = 8 << 20;

/// A hub that was started and may not answer yet. Its lock keeps other clients from starting one.
pub(super) struct StartingHub {
    child: Child,
    log: File,
    /// The length of the log before this hub started.
    from: u64,
    _lock: FileLock,
}

// === impl StartingHub ===

impl StartingHub {
    pub(super) fn begin(what: &HubLaunchOptions, lock: FileLock) -> Result<Self, HubAttachError> {
        let log = open_log(&what.log).or_else(|_| temporary_log());
        let log = log.map_err(socket::SocketError::io("open", &what.log))?;
        let from = log.metadata().map_or(0, |log| log.len());
        let child = spawn(what, &log)
            .map_err(|source| HubAttachError::Start { program: what.program.clone(), source })?;
        Ok(Self { child, log, from, _lock: lock })
    }

    /// The exit status, if the hub has ended.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The end of the hub's own log output.
    pub(super) fn log_tail(&self) -> String {
        let tail = tail(&self.log, self.from).unwrap_or_default();
        sanitize::sanitize_block(&String::from_utf8_lossy(&tail)).into_owned()
    }
}

/// Spawns the hub. It is not killed on drop: it must outlive this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the hub outlives the client that starts it, so it has no guard"
)]
fn spawn(what: &HubLaunchOptions, log: &File) -> io::Result<Child> {
    Command::new(&what.program)
        .args(&what.args)
        .env_clear()
        .envs(what.env.iter().cloned())
        .current_dir(&what.cwd)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .kill_on_drop(false)
        .spawn()
}

/// A temporary log for a hub that cannot write its own: enough to say why the hub did not start.
fn temporary_log() -> io::Result<File> {
    tempfile::tempfile().or_else(|_| OpenOptions::new().read(true).write(true).open("/dev/null"))
}

fn open_log(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    if fs::metadata(path).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        rotate_files(path)?;
    }
    OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)
}

/// Reads the end of a log without moving the hub's write position.
fn tail(log: &File, from: u64) -> io::Result<Vec<u8>> {
    let end = log.metadata()?.len();
    let mut at = from.max(end.saturating_sub(MAX_LOG_TAIL_BYTES));
    let mut text = vec![0; usize::try_from(end.saturating_sub(at)).unwrap_or_default()];
    let mut read = 0;
    while read < text.len() {
        match log.read_at(&mut text[read..], at)? {
            0 => break,
            bytes => {
                read += bytes;
                at += bytes as u64;
            }
        }
    }
    text.truncate(read);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn the_end_of_a_log_is_what_the_last_hub_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/hub.log");
        open_log(&path).unwrap().write_all(b"before\n").unwrap();
        let mut log = open_log(&path).unwrap();
        let from = log.metadata().unwrap().len();
        log.write_all(b"after\n").unwrap();
        assert_eq!(tail(&log, from).unwrap(), b"after\n");
        log.write_all(&[b'x'; 10_000]).unwrap();
        assert_eq!(tail(&log, from).unwrap(), [b'x'; 4_096]);
    }

    #[test]
    fn a_log_that_is_not_kept_says_what_the_hub_said() {
        let mut log = temporary_log().unwrap();
        log.write_all(b"why\n").unwrap();
        assert_eq!(tail(&log, 0).unwrap(), b"why\n");
    }

    #[test]
    fn a_large_log_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.log");
        open_log(&path).unwrap().set_len(MAX_LOG_BYTES + 1).unwrap();
        assert_eq!(open_log(&path).unwrap().metadata().unwrap().len(), 0);
        assert!(folder.path().join("hub.log.1").exists());
    }
}
