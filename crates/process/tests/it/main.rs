//! Tests of child processes: their environment, their end, and that none is left.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod command;
mod errors;
mod guard_death;
mod leftovers;
mod parent_death;
mod pipes;
mod stop;

use std::ffi::OsString;
use std::time::Duration;

use switchboard_process::{
    Process, ProcessCommand, ProcessGuard, SpawnedProcess, StderrOptions, spawn,
};
use switchboard_testkit::processes::{Identity, wait_until};
use switchboard_testkit::programs::program;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe;

/// The timeout of every test.
const BOUND: Duration = Duration::from_secs(30);

/// Runs a test on a runtime of its own, with a timeout.
fn bounded(test: impl Future<Output = ()>) {
    // The guard program may have to be built first, outside the timeout.
    program("guard");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(BOUND, test).await });
    ended.expect("the test hangs");
}

fn guard() -> ProcessGuard {
    ProcessGuard::at(program("guard")).unwrap()
}

/// With a guard and without, for promises that hold for both.
fn both() -> [ProcessGuard; 2] {
    [guard(), ProcessGuard::none()]
}

fn command<const N: usize>(program: impl Into<OsString>, args: [&str; N]) -> ProcessCommand {
    ProcessCommand { args: args.map(Into::into).to_vec(), ..ProcessCommand::new(program) }
}

fn sh(script: &str) -> ProcessCommand {
    command("/bin/sh", ["-c", script])
}

fn stubborn<const N: usize>(args: [&str; N]) -> ProcessCommand {
    command(program("stubborn"), args)
}

async fn start(command: ProcessCommand, guard: &ProcessGuard) -> SpawnedProcess {
    spawn(command, guard, StderrOptions::default()).await.unwrap()
}

/// The output of a command with empty standard input.
async fn output(command: ProcessCommand, guard: &ProcessGuard) -> Vec<u8> {
    let SpawnedProcess { stdin, mut stdout, process } = start(command, guard).await;
    drop(stdin);
    let mut bytes = Vec::new();
    stdout.read_to_end(&mut bytes).await.unwrap();
    process.wait_exit().await;
    bytes
}

/// A root and its descendants, none of which ends when asked to.
struct Tree {
    process: Process,
    guard: Identity,
    members: Vec<Identity>,
    stdin: pipe::Sender,
    _stdout: Lines<BufReader<pipe::Receiver>>,
}

impl Tree {
    async fn start(guard: &ProcessGuard) -> Self {
        let SpawnedProcess { stdin, stdout, process } = start(stubborn(["tree"]), guard).await;
        let mut lines = BufReader::new(stdout).lines();
        let mut members = Vec::new();
        for _ in 0..4 {
            let line = lines.next_line().await.unwrap().expect("the tree said too little");
            members.push(member(&line));
        }
        let parent = Identity::of(process.pid()).unwrap().parent().unwrap();
        Self { process, guard: parent, members, stdin, _stdout: lines }
    }

    fn nobody_is_left(&self) -> bool {
        !self.members.iter().any(|member| member.is_alive()) && !self.guard.is_alive()
    }
}

/// Parses a line such as `orphan 4711`.
fn member(line: &str) -> Identity {
    let pid = line.split(' ').nth(1).unwrap().parse().unwrap();
    Identity::of(pid).expect("a member of the tree is gone already")
}

/// Waits without blocking the runtime.
async fn eventually(
    deadline: Duration,
    so: impl Fn() -> bool + Send + 'static,
) -> Option<Duration> {
    tokio::task::spawn_blocking(move || wait_until(deadline, so)).await.unwrap()
}
