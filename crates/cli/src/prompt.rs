//! Questions of a command to the person at the terminal: yes or no, and a line that is not shown.
//!
//! Used by `approve`, `secret`, `add`, `import`, `install`, `edit` and `ask`. Without a terminal, callers do not ask. Questions of
//! servers are in `ask`.

use std::io::{BufRead, IsTerminal};

use nix::sys::termios::{self, LocalFlags, SetArg, Termios};

use crate::printer::{BOLD, Printer};

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum YesNo {
    Yes,
    No,
    /// No to this and to all further questions.
    Stop,
}

/// Whether standard input and standard error are terminals, and the output is not JSON.
pub(crate) fn is_possible(printer: &Printer) -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !printer.is_json()
}

/// Reads a line that the terminal does not show.
pub(crate) fn read_hidden_line(printer: &Printer, question: &str) -> std::io::Result<String> {
    printer.raw(format_args!("{BOLD}{question}{BOLD:#} "));
    let hidden = HiddenInput::start()?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    drop(hidden);
    printer.raw("\n");
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal without echo, until this is dropped.
struct HiddenInput {
    before: Termios,
}

// === impl HiddenInput ===

impl HiddenInput {
    fn start() -> std::io::Result<Self> {
        let before = termios::tcgetattr(std::io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        termios::tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &hidden)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        let _ = termios::tcsetattr(std::io::stdin(), SetArg::TCSANOW, &self.before);
    }
}

/// Asks until the answer is valid; the end of input means stop. An empty line means `default`.
pub(crate) fn ask(printer: &Printer, question: &str, default: YesNo) -> YesNo {
    let choices = if default == YesNo::Yes { "Y/n" } else { "y/N" };
    loop {
        printer.raw(format_args!("{BOLD}{question}{BOLD:#} [{choices}] "));
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => {
                printer.raw("\n");
                return YesNo::Stop;
            }
            Ok(_) => {}
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "" => return default,
            "y" | "yes" => return YesNo::Yes,
            "n" | "no" => return YesNo::No,
            "q" | "quit" => return YesNo::Stop,
            _ => printer.raw("Please answer y, n, or q to stop asking.\n"),
        }
    }
}
