//! Child processes that behave badly, or well, on request.
//!
//! Used by tests of `process`, `plugin` and `wire`. Signals are blocked, not ignored: for the
//! sender there is no difference, and it needs no `unsafe`.

#![allow(clippy::disallowed_methods, reason = "a program for tests")]
#![allow(clippy::unwrap_used, reason = "a program for tests")]
#![allow(clippy::zombie_processes, reason = "leaving children behind is its business")]

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

fn main() {
    let mut args = std::env::args_os().skip(1);
    let what = args.next().unwrap_or_default();
    let mut next = || args.next().unwrap().into_string().unwrap();
    match what.to_str().unwrap() {
        "args" => show_args(args),
        "tree" => tree(),
        "leaf" => leaf(&next()),
        "session" => session(),
        "orphan" => drop(myself(&["leaf", "orphan"])),
        "record" => record(&next()),
        "polite" => polite(&next(), next().parse().unwrap()),
        "flood" => flood(next().parse().unwrap()),
        "relay" => relay(),
        other => panic!("no behaviour is called {other}"),
    }
}

/// A root that does not end, with a grandchild in its group, one in its own session, and an orphan.
/// Each prints its name.
fn tree() {
    refuse();
    myself(&["leaf", "plain"]);
    myself(&["session"]);
    myself(&["orphan"]).wait().unwrap();
    forever("root");
}

fn session() {
    nix::unistd::setsid().unwrap();
    leaf("session");
}

fn leaf(name: &str) {
    refuse();
    forever(name);
}

/// Sleeps longer than any test, but not forever: a failed test must leave no process running.
fn forever(name: &str) {
    say(&format!("{name} {}", std::process::id()));
    thread::sleep(Duration::from_mins(2));
}

/// Records each signal, and the end of standard input, in order.
fn record(file: &str) {
    refuse();
    let log = file.to_owned();
    thread::spawn(move || {
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        append(&log, "EOF");
    });
    say("ready");
    loop {
        append(file, stubborn_signals().wait().unwrap().as_str());
    }
}

fn append(file: &str, line: &str) {
    let mut log = OpenOptions::new().append(true).create(true).open(file).unwrap();
    log.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Finishes its work and exits some time after the end of standard input.
fn polite(file: &str, millis: u64) {
    refuse();
    say("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    thread::sleep(Duration::from_millis(millis));
    std::fs::write(file, "finished").unwrap();
}

fn flood(mut bytes: usize) {
    let chunk = [b'x'; 8192];
    while bytes > 0 {
        bytes -= std::io::stderr().write(&chunk[..bytes.min(chunk.len())]).unwrap();
    }
    say("done");
}

/// A chain of short-lived processes: each starts the next and exits. It stops after a while, so
/// that a failed test leaves no process running.
fn relay() {
    refuse();
    let runner: u32 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(0);
    if runner == 20 {
        say("running");
    }
    if runner < 5000 {
        myself(&["relay", &(runner + 1).to_string()]);
    }
    if runner == 0 {
        forever("root");
    }
}

fn show_args(args: impl Iterator<Item = std::ffi::OsString>) {
    let mut out = std::io::stdout();
    for arg in args {
        out.write_all(arg.as_bytes()).unwrap();
        out.write_all(b"\0").unwrap();
    }
}

fn myself(args: &[&str]) -> std::process::Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program).args(args).stdin(Stdio::null()).spawn().unwrap()
}

fn refuse() {
    stubborn_signals().thread_block().unwrap();
}

fn stubborn_signals() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect()
}

/// Prints a line in one write, so that lines of several processes do not mix.
fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}
