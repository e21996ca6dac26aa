//! Lines from standard input, read on a thread of their own, so that the runtime is not blocked.
//!
//! Used by all questions of `ask`, and by `commands::login`. It does not read single keys (`ui::terminal` does).

use std::io::BufRead as _;

use tokio::sync::{Mutex, mpsc};

use crate::printer::{BOLD, Printer};

/// The keyboard. The reading thread starts with the first question.
#[derive(Debug, Default)]
pub(crate) struct Keyboard {
    lines: Mutex<Option<mpsc::Receiver<String>>>,
}

// === impl Keyboard ===

impl Keyboard {
    /// The next line, without its line break; `None` at the end of input.
    pub(crate) async fn line(&self) -> Option<String> {
        let mut lines = self.lines.lock().await;
        lines.get_or_insert_with(listen).recv().await
    }

    /// Asks until one of `choices` is typed; an empty line means `default`.
    pub(super) async fn choose(
        &self,
        printer: &Printer,
        question: &str,
        choices: &[&str],
        default: &str,
    ) -> Option<String> {
        let shown: Vec<_> = choices
            .iter()
            .map(
                |choice| {
                    if *choice == default { choice.to_uppercase() } else { (*choice).to_owned() }
                },
            )
            .collect();
        loop {
            printer.raw(format_args!("{BOLD}{question}{BOLD:#} [{}] ", shown.join("/")));
            let line = self.line().await?.trim().to_ascii_lowercase();
            let typed = if line.is_empty() { default } else { &line };
            // A word counts as its first letters: yes, no, quit.
            let chosen = choices.iter().find(|choice| typed.starts_with(**choice));
            match chosen {
                Some(choice) => return Some((*choice).to_owned()),
                None => printer.raw(format_args!("Please answer {}.\n", choices.join(", "))),
            }
        }
    }
}

/// Reads on a thread that ends with the program, because a blocking read of a terminal cannot be cancelled.
fn listen() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    let read = move || {
        loop {
            let mut line = String::new();
            match std::io::stdin().lock().read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = line.trim_end_matches(['\n', '\r']).to_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // If no thread can be started, the sender is dropped, which reads as the end of input.
    let _ = std::thread::Builder::new().name("keyboard".to_owned()).spawn(read);
    lines
}
