//! The program as a person meets it: what was typed, what was printed, how it ended.

mod probe;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

/// A home with nothing in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program in this home with the environment of a bare login.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Everything a run shows, with what differs from run to run made the same.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.shown(&self.command(args).output().unwrap())
    }

    fn shown(&self, output: &Output) -> String {
        let text = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output.status.code().unwrap_or(-1),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        steady(&text.replace(&self.path().display().to_string(), "~"))
    }
}

/// Times and ports differ; everything else does not.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = replace_number(line, "connected in ", " ms");
        let line = replace_number(&line, "answered in ", " ms");
        let line = replace_number(&line, "\"connectMillis\": ", ",");
        let line = replace_number(&line, "\"millis\": ", ",");
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// `…before 12after…` becomes `…before Nafter…`.
fn replace_number(line: &str, before: &str, after: &str) -> String {
    let Some(start) = line.find(before).map(|at| at + before.len()) else {
        return line.into();
    };
    let digits = line[start..]
        .chars()
        .take_while(char::is_ascii_digit)
        .count();
    if digits == 0 || !line[start + digits..].starts_with(after) {
        return line.into();
    }
    format!("{}N{}", &line[..start], &line[start + digits..])
}
