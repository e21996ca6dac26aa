//! A parent process that ends badly, or that counts its leftovers.
//!
//! `hub-under-test GUARD STUBBORN WHAT`: starts a stubborn process tree under the guard, says so, and then does as
//! told: `wait` (to be killed), `exit`, `return`, `panic`, `abort`. Or it starts one tree after another, to be killed
//! meanwhile (`spawn`), starts many and cancels each halfway (`cancel`), or starts and stops a hundred (`cycles`).
//! Used by tests of `process`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for tests")]

use std::ffi::OsString;
use std::time::Duration;

use switchboard_process::{ProcessCommand, ProcessGuard, SpawnedProcess, StderrOptions, spawn};
use switchboard_testkit::processes;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::{sleep, timeout};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // A test waits for a line from here for a bounded time.
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_mins(1));
        std::process::abort();
    });
    let [guard, stubborn, what]: [OsString; 3] =
        std::env::args_os().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let hub = Hub { guard: ProcessGuard::at(guard).unwrap(), stubborn };
    match what.to_str().unwrap() {
        "spawn" => hub.spawn_without_end().await,
        "cancel" => hub.give_up_halfway().await,
        "cycles" => hub.count_what_is_left().await,
        end => hub.end(end).await,
    }
}

struct Hub {
    guard: ProcessGuard,
    stubborn: OsString,
}

impl Hub {
    async fn run(&self, behaviour: &str) -> SpawnedProcess {
        let command =
            ProcessCommand { args: vec![behaviour.into()], ..ProcessCommand::new(&self.stubborn) };
        spawn(command, &self.guard, StderrOptions::default()).await.unwrap()
    }

    async fn end(&self, how: &str) {
        let SpawnedProcess { stdout, process, stdin } = self.run("tree").await;
        let mut lines = BufReader::new(stdout).lines();
        for _ in 0..4 {
            println!("{}", lines.next_line().await.unwrap().unwrap());
        }
        println!("ready");
        match how {
            "wait" => drop(process.wait_exit().await),
            "exit" => std::process::exit(0),
            "panic" => panic!("as told"),
            "abort" => std::process::abort(),
            _ => drop(stdin),
        }
    }

    async fn spawn_without_end(&self) {
        println!("ready");
        let mut kept = Vec::new();
        loop {
            kept.push(self.run("tree").await);
        }
    }

    async fn give_up_halfway(&self) {
        for turn in 0..40 {
            let _ = timeout(Duration::from_micros(turn * 150), self.run("tree")).await;
        }
        println!("ready");
        std::future::pending::<()>().await;
    }

    /// The first cycle opens the descriptors that a runtime keeps open.
    async fn count_what_is_left(&self) {
        self.cycle().await;
        let before = settled().await;
        for _ in 0..100 {
            self.cycle().await;
        }
        println!("{before:?}\n{:?}", settled().await);
    }

    async fn cycle(&self) {
        let SpawnedProcess { stdin, process, .. } = self.run("args").await;
        drop(stdin);
        process.stop().await;
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct Left {
    descriptors: usize,
    children: usize,
    tasks: usize,
}

/// Counts the leftovers once all tasks have ended, which is a moment after their last output.
async fn settled() -> Left {
    for _ in 0..2000 {
        if left().tasks == 0 {
            break;
        }
        sleep(Duration::from_millis(1)).await;
    }
    left()
}

fn left() -> Left {
    Left {
        descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        children: processes::children(std::process::id()).len(),
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
    }
}
