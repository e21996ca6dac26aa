//! `switchboard plugin serve` on standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Requests that are under way at once.
const WINDOW: u32 = 64;

pub(crate) struct Served {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
    _home: tempfile::TempDir,
}

impl Served {
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = program(home.path())
            .args(["plugin", "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take();
        let mut served = Self { child, input, output, line: String::new(), _home: home };
        served.send(super::GREETING);
        served.hear();
        // The worker is started by the first call.
        served.send(&super::call(1));
        served.hear();
        served
    }

    fn send(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn hear(&mut self) {
        self.line.clear();
        self.output.read_line(&mut self.line).unwrap();
        assert!(self.line.contains("\"result\""), "{}", self.line);
    }

    pub(crate) fn one_by_one(&mut self, rounds: u32, request: fn(u32) -> String) -> Duration {
        let begun = Instant::now();
        for id in 1..=rounds {
            self.send(&request(id));
            self.hear();
        }
        begun.elapsed()
    }

    pub(crate) fn pipelined(&mut self, rounds: u32, request: fn(u32) -> String) -> Duration {
        let begun = Instant::now();
        let mut sent = 0;
        for heard in 0..rounds {
            // Half a window at a time, as a client with a buffer would.
            if sent - heard <= WINDOW / 2 && sent < rounds {
                let more = (WINDOW / 2).min(rounds - sent);
                let text: String = (1..=more).map(|next| request(sent + next) + "\n").collect();
                self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
                sent += more;
            }
            self.hear();
        }
        begun.elapsed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

/// The program, or the one that is to be looked at in its place, in a home with nothing in it.
pub(crate) fn program(home: &std::path::Path) -> Command {
    let other = std::env::var_os("SWITCHBOARD_BENCH_PROGRAM");
    let mut command =
        Command::new(other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_switchboard").as_ref()));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
    command
}
