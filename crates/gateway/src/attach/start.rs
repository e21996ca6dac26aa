//! Starting a hub that outlives us.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use switchboard_wire::sanitize;
use tokio::process::{Child, Command};

use super::{Error, StartHub};
use crate::socket::{self, Lock};

/// How much of a log a person is shown.
const TAIL: u64 = 4 << 10;

/// A hub that has been started and may not answer yet. Nobody else starts one meanwhile.
pub(super) struct Starting {
    child: Child,
    log: PathBuf,
    /// Where the log ended before.
    from: u64,
    _lock: Lock,
}

// === impl Starting ===

impl Starting {
    pub(super) fn begin(what: &StartHub, lock: Lock) -> Result<Self, Error> {
        let log = open_log(&what.log).map_err(socket::Error::io("open", &what.log))?;
        let from = log.metadata().map_or(0, |log| log.len());
        let child = spawn(what, &log)
            .map_err(|source| Error::Start { program: what.program.clone(), source })?;
        Ok(Self { child, log: what.log.clone(), from, _lock: lock })
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The end of what it wrote.
    pub(super) fn said(&self) -> String {
        let tail = tail(&self.log, self.from).unwrap_or_default();
        sanitize::block(&String::from_utf8_lossy(&tail)).into_owned()
    }
}

/// It is not killed when dropped: it is nobody's child but in the system's book, which the runtime keeps.
fn spawn(what: &StartHub, log: &File) -> io::Result<Child> {
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

fn open_log(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn tail(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut log = File::open(path)?;
    let end = fs::metadata(path)?.len();
    log.seek(SeekFrom::Start(from.max(end.saturating_sub(TAIL))))?;
    let mut text = Vec::new();
    log.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}
