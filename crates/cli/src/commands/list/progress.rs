//! Progress lines on a terminal, one for each server that `list` waits for.
//!
//! Used by `commands::list::check`. It prints nothing if standard error is no terminal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::printer::{DIM, Printer};
use crate::show;

/// The most lines.
const MAX_LINES: usize = 12;
/// How often the seconds are updated.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// The servers that are waited for.
pub(super) struct Progress<'a> {
    printer: &'a Printer,
    waiting: BTreeMap<usize, String>,
    began: Instant,
    drawn: usize,
}

impl<'a> Progress<'a> {
    pub(super) fn new(printer: &'a Printer) -> Self {
        Self { printer, waiting: BTreeMap::new(), began: Instant::now(), drawn: 0 }
    }

    pub(super) fn begin(&mut self, index: usize, name: &str) {
        self.waiting.insert(index, show::shorten(&show::word(name), 40));
    }

    pub(super) fn end(&mut self, index: usize) {
        self.waiting.remove(&index);
    }

    pub(super) fn waits_for(&self, index: usize) -> bool {
        self.waiting.contains_key(&index)
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Waits for `next`, and shows the servers meanwhile. The lines are cleared afterwards.
    pub(super) async fn until<T>(&mut self, next: impl Future<Output = T>) -> T {
        if !self.printer.is_watched() {
            return next.await;
        }
        let mut next = std::pin::pin!(next);
        loop {
            self.draw();
            let waited = tokio::time::timeout(TICK_INTERVAL, &mut next).await;
            self.clear();
            if let Ok(done) = waited {
                return done;
            }
        }
    }

    fn draw(&mut self) {
        let seconds = self.began.elapsed().as_secs();
        let names = self.waiting.values().take(MAX_LINES);
        let mut lines: Vec<_> =
            names.map(|name| format!("… {name}  connecting, {seconds} s")).collect();
        if let Some(more @ 1..) = self.waiting.len().checked_sub(MAX_LINES) {
            lines.push(format!("… and {more} more"));
        }
        for line in &lines {
            self.printer.raw(format_args!("{DIM}{line}{DIM:#}\n"));
        }
        self.drawn = lines.len();
    }

    fn clear(&mut self) {
        if self.drawn > 0 {
            self.printer.raw(format_args!("\x1b[{}A\x1b[J", self.drawn));
        }
        self.drawn = 0;
    }
}

/// Clears the lines, also when the wait is cancelled.
impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
