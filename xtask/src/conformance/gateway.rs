//! The gateway as a process, with the fixture server behind it under its own tool names.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::case::Behind;
use super::group::Group;
use super::subject::Programs;
use super::suite::ended_within;
use crate::command::succeeds;
use crate::failure::{AboutFile, Failure, Result};

const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway that runs until it is stopped or dropped.
pub(super) struct Gateway {
    child: Child,
    url: String,
    /// Itself, and whatever it left in its group.
    group: Option<Group>,
}

// === impl Gateway ===

impl Gateway {
    /// Starts one and waits until it listens. `folder` becomes its home.
    pub(super) fn start(programs: &Programs, behind: Behind, folder: &Path) -> Result<Self> {
        let config = folder.join("mcp.json");
        let server = json!({ "command": programs.server, "args": ["--era", behind.name()] });
        let servers = json!({ "mcpServers": { "subject": server } });
        fs::write(&config, servers.to_string()).about("write", &config)?;
        let mut command = Command::new(&programs.gateway);
        command
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--names", "bare"])
            // Everything at once, and no tool of the gateway's own to read on with.
            .args(["--result-limit", "0", "--mcp-config"])
            .arg(&config);
        Self::spawn(command, folder)
    }

    /// The same for plugins that are served alone.
    pub(super) fn start_plugins(programs: &Programs, folder: &Path) -> Result<Self> {
        let mut command = Command::new(&programs.gateway);
        command.args(["plugin", "serve", "--json", "--httpstream", "--port", "0", "--plugins"]);
        command.arg(&programs.plugin);
        Self::spawn(command, folder)
    }

    fn spawn(mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join("gateway.log");
        let stdout = File::create(&log).about("write", &log)?;
        let stderr = stdout.try_clone().about("write", &log)?;
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", folder)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let failed = || {
            Failure::new("cannot start the gateway").hint(format!("its log is {}", log.display()))
        };
        let group = Group::open().map_err(|why| failed().because(why))?;
        let child = group.spawn(&mut command).map_err(|why| failed().because(why))?;
        let mut gateway = Self { child, url: String::new(), group: Some(group) };
        gateway.url = gateway.listening(&log).ok_or_else(failed)?;
        Ok(gateway)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Asks it to end; its exit status, if it does.
    pub(super) fn stop(mut self) -> Result<Option<i32>> {
        succeeds(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
        let ended = ended_within(&mut self.child, PATIENCE)
            .map_err(|why| Failure::new("cannot wait for the gateway").because(why))?;
        Ok(ended.and_then(|status| status.code()))
    }

    /// Where it listens, once it says so.
    fn listening(&mut self, log: &PathBuf) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            let said = fs::read_to_string(log).unwrap_or_default();
            let mut whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some(line) = whole.find(|line| line.starts_with('{')) {
                let ready: Value = serde_json::from_str(line).ok()?;
                return ready["url"].as_str().map(str::to_owned);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.group.take());
        // Already collected where it ended by itself; that error says nothing new.
        let _ = self.child.wait();
    }
}
