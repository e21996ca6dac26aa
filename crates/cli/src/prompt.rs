//! Asking the person at the terminal, where there is one.

use std::io::{BufRead, IsTerminal};

use crate::printer::{BOLD, Printer};

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum YesNo {
    Yes,
    No,
    /// No, and no to whatever else would be asked.
    Stop,
}

/// Whether there is somebody to ask.
pub(crate) fn is_possible(printer: &Printer) -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !printer.is_json()
}

/// Asks until the answer can be understood; the end of input is a stop. `default` is what nothing means.
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
