//! Test helper: a client that started `connect`, and the hubs behind it. Used by the tests of `attach`.

use std::{path::Path, process::ExitStatus, process::Stdio, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use switchboard_hub::attach;
use switchboard_testkit::{
    processes::{Identity, wait_until},
    programs::hub_program,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::socket::{Room, room::INITIALIZE, room::INITIALIZED};
use switchboard_testkit::deadline::soon;

/// One client's `connect`, in a process of its own.
pub(crate) struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

// === impl Peer ===

impl Peer {
    /// Launches it; a hub it has to start gets `hub_args`.
    pub(crate) fn launch(room: &Room, hub_args: &[&str]) -> Self {
        Self::launch_with(room, hub_args, &[])
    }

    pub(crate) fn launch_with(room: &Room, hub_args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(hub_program("attach-for-tests"));
        command.arg(room.path()).arg(hub_program("hub-for-tests")).args(hub_args);
        command.env_clear().envs(env.iter().copied()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { stdin: child.stdin.take(), stdout, child }
    }

    pub(crate) async fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        soon(stdin.write_all(format!("{line}\n").as_bytes())).await.unwrap();
    }

    /// The next line; empty at the end.
    pub(crate) async fn hear(&mut self) -> String {
        let mut line = String::new();
        soon(self.stdout.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) async fn ask(&mut self, line: &str) -> String {
        self.say(line).await;
        self.hear().await
    }

    /// The next line that holds `what`, and those before it.
    pub(crate) async fn hear_until(&mut self, what: &str) -> (Vec<String>, String) {
        let mut before = Vec::new();
        loop {
            let line = self.hear().await;
            assert!(!line.is_empty(), "the end, after {before:?}");
            if line.contains(what) {
                return (before, line);
            }
            before.push(line);
        }
    }

    /// As a legacy client does.
    pub(crate) async fn greet(&mut self) {
        assert!(self.ask(INITIALIZE).await.contains("protocolVersion"));
        self.say(INITIALIZED).await;
    }

    /// Closes its standard input.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// How it ended, and what it said to a person.
    pub(crate) async fn ended(&mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        soon(self.child.stderr.as_mut().unwrap().read_to_string(&mut said)).await.unwrap();
        (soon(self.child.wait()).await.unwrap(), said)
    }
}

// === impl Room ===

impl Room {
    /// Every hub that was ever started here.
    pub(crate) fn hubs(&self) -> Vec<u32> {
        let noted = std::fs::read_to_string(self.file("hubs")).unwrap_or_default();
        noted.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// The hub that answers now.
    pub(crate) async fn hub(&self) -> Option<Identity> {
        let status = attach::request_status(&self.place(), "0.1.0").await.unwrap()?;
        Identity::of(status.pid)
    }

    /// `kill -9`, and waits until nothing is left of it: the client that started it has to notice, and a process whose
    /// first thread is dead may still have sockets open.
    pub(crate) async fn kill_hub(&self) {
        let hub = self.hub().await.unwrap();
        end(hub.pid, self.path());
        assert!(wait_until(Duration::from_secs(10), || !hub.is_known()).is_some());
    }
}

/// Hubs are detached, so a test has to end its own.
impl Drop for Room {
    fn drop(&mut self) {
        for hub in self.hubs() {
            end(hub, self.path());
        }
    }
}

/// Kills a process if it is a hub of this folder: an id alone may be somebody else's by now.
fn end(pid: u32, folder: &Path) {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let folder = folder.as_os_str().as_encoded_bytes();
    if command.split(|byte| *byte == 0).any(|argument| argument == folder) {
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    }
}
