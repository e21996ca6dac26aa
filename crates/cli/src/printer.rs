//! The printer, the only module that writes to standard output and standard error.
//!
//! Data goes to standard output, everything else to standard error. Used by all commands, `ask` and `wait`. It does not
//! draw the terminal UI (`ui::terminal` does).

#![allow(clippy::print_stdout, clippy::print_stderr)] // This is the printer.

use std::{
    ffi::OsString,
    io::{IsTerminal, Write},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use switchboard_config::ProblemSeverity;
use switchboard_wire::sanitize;

use crate::args::Global;
use crate::command_engine::ResultLimit;
use crate::notice::Notice;
use crate::path_display::PathDisplay;
use crate::report::{Failure, FailureKind};

/// The output streams, and the amount and form of output.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    amount: Amount,
    pub(crate) places: PathDisplay,
    out: std::io::Stdout,
    /// Whether something was printed to standard error before, so that an error is set off by an empty line.
    said: AtomicBool,
    /// Whether an error was printed, so that the command does not exit with 0.
    has_error: AtomicBool,
    /// Notices that wait for the next output: a failure that ends the command is printed before them.
    held: Mutex<Vec<Notice>>,
    /// Whether the command relays messages until its client ends. It goes on despite errors, so they are warnings,
    /// and nothing is held back.
    is_relay: bool,
}

/// The amount of output: `--quiet`, normal, `--verbose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Quiet,
    Usual,
    Verbose,
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default().bold();

// === impl Printer ===

impl Printer {
    pub(crate) fn new(global: &Global, places: PathDisplay, is_relay: bool) -> Self {
        match global.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        let amount = match (global.quiet, global.verbose) {
            (true, _) => Amount::Quiet,
            (_, true) => Amount::Verbose,
            _ => Amount::Usual,
        };
        Self {
            json: global.json,
            amount,
            places,
            out: std::io::stdout(),
            said: AtomicBool::new(false),
            has_error: AtomicBool::new(false),
            held: Mutex::default(),
            is_relay,
        }
    }

    /// The exit code of a command that did its work: 1 if an error was printed beside the result.
    pub(crate) fn finish(&self) -> ExitCode {
        self.print_held();
        if self.has_error.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Whether the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether `--verbose` is set.
    pub(crate) fn is_verbose(&self) -> bool {
        self.amount == Amount::Verbose
    }

    /// Whether standard error is a terminal that may show progress.
    pub(crate) fn is_watched(&self) -> bool {
        std::io::stderr().is_terminal() && !self.json && self.amount != Amount::Quiet
    }

    /// Whether standard output is a terminal.
    pub(crate) fn is_screen(&self) -> bool {
        self.out.is_terminal() && !self.json
    }

    /// The limit on the size of a printed result.
    pub(crate) fn result_limit(&self) -> ResultLimit {
        if self.is_screen() { ResultLimit::Screen } else { ResultLimit::Pipe }
    }

    /// Writes bytes to standard output unchanged.
    pub(crate) fn data(&self, bytes: &[u8]) {
        self.print_held();
        let mut out = self.out.lock();
        // A closed pipe is no error: the reader has seen enough.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    /// Writes text to standard output unchanged, and ends the line.
    pub(crate) fn text(&self, text: &str) {
        self.data(text.as_bytes());
        if !text.ends_with('\n') {
            self.data(b"\n");
        }
    }

    /// Writes a line to standard output, with colours if it is a terminal.
    pub(crate) fn line(&self, text: impl std::fmt::Display) {
        self.print_held();
        // A closed pipe is no error: the reader has seen enough.
        let _ = writeln!(anstream::AutoStream::auto(self.out.lock()), "{text}");
    }

    /// Writes a value as JSON to standard output.
    pub(crate) fn json<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::new("cannot write JSON", error))?;
        self.line(escaped(&text));
        Ok(())
    }

    /// Reports a completed action to people.
    pub(crate) fn done(&self, text: impl std::fmt::Display) {
        self.print_held();
        if !self.json && self.amount != Amount::Quiet {
            self.said.store(true, Ordering::Relaxed);
            let _ = writeln!(anstream::stderr(), "{text}");
        }
    }

    /// Writes text to standard error unchanged, without a line break.
    pub(crate) fn raw(&self, text: impl std::fmt::Display) {
        self.print_held();
        let _ = write!(anstream::stderr(), "{text}");
    }

    /// Shows a line while the command waits, if standard error is a terminal. Dropping the returned value clears the
    /// line.
    pub(crate) fn waiting(&self, text: &str) -> Option<Waiting> {
        self.is_watched().then(|| {
            self.raw(format_args!("\r\x1b[2K{DIM}{text}{DIM:#}"));
            Waiting
        })
    }

    /// Prints notices before the next output or at the end of the command, errors first; with `--json` they are part of
    /// the result instead. An error among them makes the command exit with 1.
    pub(crate) fn notices<'a>(&self, notices: impl IntoIterator<Item = &'a Notice>) {
        let mut notices: Vec<_> = notices.into_iter().cloned().collect();
        if self.is_relay {
            notices.iter_mut().for_each(Notice::weaken);
        }
        if notices.iter().any(|notice| notice.severity == ProblemSeverity::Error) {
            self.has_error.store(true, Ordering::Relaxed);
        }
        if self.json {
            return;
        }
        if self.amount == Amount::Quiet {
            notices.retain(|notice| notice.severity == ProblemSeverity::Error);
        }
        notices.sort_by_key(|notice| std::cmp::Reverse(notice.severity));
        self.held.lock().append(&mut notices);
        if self.is_relay {
            self.print_held();
        }
    }

    /// Prints the notices that were held back.
    pub(crate) fn print_held(&self) {
        for notice in std::mem::take(&mut *self.held.lock()) {
            let style = match notice.severity {
                ProblemSeverity::Error => RED,
                ProblemSeverity::Warning => YELLOW,
                ProblemSeverity::Note => CYAN,
            };
            let mut out = anstream::stderr();
            self.said.store(true, Ordering::Relaxed);
            let _ = writeln!(out, "\n{style}{}{style:#}: {}", notice.kind_word(), notice.message);
            if let Some(at) = &notice.at {
                let _ = writeln!(out, "  --> {}", self.places.location(at));
            }
            if let Some(hint) = &notice.hint {
                let _ = writeln!(out, "  {CYAN}hint{CYAN:#}: {hint}");
            }
        }
    }

    /// Prints a failure: message, causes, location, hint. It stands before the notices that were held back.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut out = anstream::stderr();
        self.has_error.store(true, Ordering::Relaxed);
        if self.json {
            let text = format!("{:#}", json!({ "error": failure.to_json() }));
            let _ = writeln!(out, "{}", escaped(&text));
            return;
        }
        if self.said.swap(true, Ordering::Relaxed) {
            let _ = writeln!(out);
        }
        let _ = writeln!(out, "{RED}error{RED:#}: {}", failure.message());
        let mark = if failure.is_list() { "-" } else { "caused by:" };
        for cause in failure.causes() {
            let _ = writeln!(out, "  {mark} {}", cause.replace('\n', "\n    "));
        }
        if let Some(at) = failure.at() {
            let _ = writeln!(out, "  --> {}", self.places.location(at));
        }
        if let Some(hint) = failure.hint() {
            let _ = writeln!(out, "\n{CYAN}hint{CYAN:#}: {hint}");
        }
        self.print_held();
    }
}

/// Escapes invisible characters in JSON; the parsed value stays equal.
pub(crate) fn escaped(json: &str) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        let is_seen = !sanitize::sanitize_line(c.encode_utf8(&mut [0; 4])).is_empty();
        if is_seen || c == '\n' {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// A line on the terminal while the command waits, cleared on drop.
pub(crate) struct Waiting;

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = write!(anstream::stderr(), "\r\x1b[2K");
    }
}

/// Prints help, the version, or an error of the command line.
pub(crate) fn usage(error: &clap::Error, typed: &[OsString]) -> ExitCode {
    let before = typed.iter().take_while(|word| *word != "--");
    if error.use_stderr() && before.into_iter().any(|word| word == "--json") {
        let text = error.render().to_string();
        let message = text.trim_start_matches("error: ").trim_end();
        let failure =
            Failure::plain(FailureKind::Usage, message.lines().next().unwrap_or_default());
        let failure = failure.with_causes(
            message
                .lines()
                .nth(1)
                .map(|line| line.trim().to_owned())
                .filter(|line| !line.is_empty()),
        );
        let _ = writeln!(anstream::stderr(), "{:#}", json!({ "error": failure.to_json() }));
    } else {
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
