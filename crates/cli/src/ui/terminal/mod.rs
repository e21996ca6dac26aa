//! The terminal: raw mode and alternate screen, drawing, reading of keys; restored on exit, suspend and panic.
//!
//! Draws the difference between two screens, and reads events on a thread of its own. Used by `ui`. It does not know
//! the content of the screen (`view` does).

mod cells;

use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::sync::Once;
use std::time::Duration;

use base64::Engine as _;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use nix::sys::signal::{Signal, raise};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use tokio::sync::mpsc;

use super::app::Event;

/// How long the reading thread waits for a key before it checks whether the program has ended.
const KEY_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The terminal in raw mode, restored on drop.
pub(super) struct Terminal {
    out: Stdout,
    palette: Palette,
    shown: Buffer,
}

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Palette {
    Colours,
    /// Only bold, faint and reversed.
    Plain,
}

/// Whether standard streams are a terminal.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

// === impl Terminal ===

impl Terminal {
    pub(super) fn take(palette: Palette) -> io::Result<Self> {
        restore_on_panic();
        let mut terminal = Self { out: io::stdout(), palette, shown: Buffer::default() };
        terminal.enter()?;
        Ok(terminal)
    }

    fn enter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        execute!(self.out, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, Hide)?;
        self.forget()
    }

    /// Columns and rows.
    pub(super) fn size() -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    /// Clears the screen, so that everything is drawn again.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        self.shown = Buffer::default();
        execute!(self.out, Clear(ClearType::All))
    }

    /// Shows the screen that `draw` draws; `draw` returns the cursor position.
    pub(super) fn show(
        &mut self,
        (columns, rows): (u16, u16),
        draw: impl FnOnce(&mut Buffer) -> Option<Position>,
    ) -> io::Result<()> {
        let area = Rect::new(0, 0, columns, rows);
        if self.shown.area != area {
            self.forget()?;
            self.shown = Buffer::empty(area);
        }
        let mut next = Buffer::empty(area);
        let cursor = draw(&mut next);
        queue!(self.out, BeginSynchronizedUpdate, Hide)?;
        cells::write(&mut self.out, self.shown.diff(&next), self.palette)?;
        if let Some(Position { x, y }) = cursor {
            queue!(self.out, MoveTo(x, y), Show)?;
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.shown = next;
        self.out.flush()
    }

    /// Raises a desktop notification. The text is one sanitized line.
    pub(super) fn notify(&mut self, text: &str) -> io::Result<()> {
        let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
        execute!(self.out, Print(format!("\u{1b}]9;{text}\u{7}\u{7}")))
    }

    /// Copies a text to the clipboard with OSC 52, which also works over SSH. Terminals without it ignore the text.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        execute!(self.out, Print(format!("\u{1b}]52;c;{encoded}\u{7}")))
    }

    /// Restores the terminal, stops the process like Ctrl-Z, and takes the terminal again afterwards.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        // SIGSTOP, because this process handles SIGTSTP itself.
        raise(Signal::SIGSTOP)?;
        self.enter()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal. Errors cannot be shown here.
fn give_back() {
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

/// Restores the terminal before a panic message is printed.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            usual(panic);
        }));
    });
}

/// Reads terminal events until the receiver is dropped. Reading blocks, hence a thread.
pub(super) fn read(events: mpsc::Sender<Event>) -> io::Result<()> {
    let reading = move || {
        while !events.is_closed() {
            match event::poll(KEY_POLL_INTERVAL) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => break,
            }
            let Ok(read) = event::read() else { break };
            if let Some(event) = to_ui_event(read)
                && events.blocking_send(event).is_err()
            {
                return;
            }
        }
        // A terminal that cannot be read is gone, so the program ends.
        let _ = events.blocking_send(Event::End);
    };
    std::thread::Builder::new().name("keyboard".to_owned()).spawn(reading).map(drop)
}

fn to_ui_event(event: event::Event) -> Option<Event> {
    match event {
        event::Event::Key(key) => Some(Event::Key(key)),
        event::Event::Mouse(mouse) => Some(Event::Mouse(mouse)),
        event::Event::Paste(text) => Some(Event::Paste(text)),
        event::Event::Resize(columns, rows) => Some(Event::Resize(columns, rows)),
        event::Event::FocusGained | event::Event::FocusLost => None,
    }
}
