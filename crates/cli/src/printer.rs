//! The only place that prints. Data goes to standard output, everything else to standard error.

#![allow(clippy::print_stdout, clippy::print_stderr)] // This is the printer.

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use serde::Serialize;

use crate::report::Failure;

/// Where output goes and what it looks like.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    out: std::io::Stdout,
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

// === impl Printer ===

impl Printer {
    pub(crate) fn new(json: bool, color: ColorChoice) -> Self {
        match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        Self {
            json,
            out: std::io::stdout(),
        }
    }

    /// Whether output is for machines.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A line of data.
    pub(crate) fn line(&self, text: impl std::fmt::Display) {
        // A reader that closed its end has seen enough.
        let _ = writeln!(anstream::AutoStream::auto(self.out.lock()), "{text}");
    }

    /// Data for machines.
    pub(crate) fn json<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::new("cannot write JSON", error))?;
        self.line(text);
        Ok(())
    }

    /// Something to read while waiting; only where somebody does. Returns what clears it.
    pub(crate) fn waiting(&self, text: &str) -> Option<Waiting> {
        let shown = std::io::stderr().is_terminal() && !self.json;
        shown.then(|| {
            let _ = write!(anstream::stderr(), "\r\x1b[2K{DIM}{text}{DIM:#}");
            Waiting
        })
    }

    /// What went wrong, why, and what to do.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut out = anstream::stderr();
        if self.json {
            let _ = writeln!(out, "{:#}", failure.to_json());
            return;
        }
        let _ = writeln!(out, "{RED}error{RED:#}: {}", failure.message());
        for cause in failure.causes() {
            let _ = writeln!(out, "  caused by: {}", cause.replace('\n', "\n    "));
        }
        if let Some(hint) = failure.hint() {
            let _ = writeln!(out, "\n{CYAN}hint{CYAN:#}: {hint}");
        }
    }
}

/// A line of waiting on the terminal, cleared when it is dropped.
pub(crate) struct Waiting;

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = write!(anstream::stderr(), "\r\x1b[2K");
    }
}

/// Help, the version, or what is wrong with the command line.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
