//! A listening program that prints its URL: the gateway, or a server on an SDK.
//!
//! Used by `gateway` and `sweep`. It runs until it is stopped or dropped, and its descendants end with it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::group::Group;
use super::suite::ended_within;
use crate::command::succeeds;
use crate::failure::{AboutFile, Failure, Result};

const PATIENCE: Duration = Duration::from_secs(30);

/// A running program with its URL.
pub(super) struct Listener {
    name: &'static str,
    child: Child,
    url: String,
    /// The program and its descendants.
    group: Option<Group>,
}

/// A program with no variable of our environment but `PATH`. `home` is its home and working directory.
pub(super) fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .current_dir(home);
    command
}

// === impl Listener ===

impl Listener {
    /// Starts `command` and waits for the first line in which `find_url` finds a URL. Its output goes to `<name>.log`
    /// in `folder`.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        folder: &Path,
        find_url: fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let log = folder.join(name).with_extension("log");
        let stdout = File::create(&log).about("write", &log)?;
        let stderr = stdout.try_clone().about("write", &log)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let failed = || {
            Failure::new(format!("cannot start the {name}"))
                .hint(format!("its log is {}", log.display()))
        };
        let group = Group::open().map_err(|why| failed().because(why))?;
        let child = group.spawn(&mut command).map_err(|why| failed().because(why))?;
        let mut listener = Self { name, child, url: String::new(), group: Some(group) };
        listener.url = listener.wait_for_url(&log, find_url).ok_or_else(failed)?;
        Ok(listener)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Asks the program to end. Returns its exit status, if it ends in time.
    pub(super) fn stop(mut self) -> Result<Option<i32>> {
        succeeds(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
        let ended = ended_within(&mut self.child, PATIENCE).map_err(|why| {
            Failure::new(format!("cannot wait for the {}", self.name)).because(why)
        })?;
        Ok(ended.and_then(|status| status.code()))
    }

    fn wait_for_url(&mut self, log: &Path, find_url: fn(&str) -> Option<String>) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            let said = fs::read_to_string(log).unwrap_or_default();
            let mut whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some(url) = whole.find_map(find_url) {
                return Some(url);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.group.take());
        // If the program has ended, it is collected already, and the error adds nothing.
        let _ = self.child.wait();
    }
}
