//! Waiting: a status line after one second, progress bars, and Ctrl-C or SIGTERM.
//!
//! Used by the commands that wait for servers, by `connect`, `serve` and the hub for signals, and by `ui`. It does not
//! write to the terminal itself (`printer` does).

use std::time::{Duration, Instant};

use switchboard_wire::{json::Raw, sanitize};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

use crate::printer::Printer;

/// How long a command waits before it says why.
const SILENT_WAIT: Duration = Duration::from_secs(1);
/// The width of a progress bar.
const BAR_COLUMNS: usize = 20;

/// A listener for Ctrl-C and SIGTERM. Signals between two waits are not lost.
pub(crate) struct EndSignals(Option<(Signal, Signal)>);

/// Waits for `work`, and shows a text once it takes longer than a second.
pub(crate) async fn wait_with_text<T>(
    printer: &Printer,
    text: &str,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    let started = Instant::now();
    let mut waiting = None;
    loop {
        match tokio::time::timeout(SILENT_WAIT, &mut work).await {
            Ok(done) => return done,
            Err(_) => {
                drop(waiting.take());
                waiting = printer.waiting(&format!("{text} … {} s", started.elapsed().as_secs()));
            }
        }
    }
}

/// Runs long-lived work in a task of its own. The future passed to `block_on` is polled only after the I/O driver,
/// which would cost one more system call before each answer.
pub(crate) async fn at_work<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    match AbortOnDropHandle::new(tokio::spawn(work)).await {
        Ok(done) => done,
        // The task is never aborted while it is awaited, so it panicked.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Progress on one line, with a bar if the total is known.
pub(crate) fn progress_line(what: &str, params: &Raw) -> String {
    let number = |key| params.get(key).ok().flatten().and_then(|raw| raw.decode::<f64>().ok());
    let text = |key| params.get(key).ok().flatten().map(|raw| raw.to_string()).unwrap_or_default();
    let message = params.get("message").ok().flatten().and_then(|raw| raw.to_text());
    let message = message.map(|text| format!(" {text}")).unwrap_or_default();
    let at = match (number("progress"), number("total").filter(|total| *total > 0.0)) {
        (Some(progress), Some(total)) => {
            format!("{} {} of {}", bar(progress / total), text("progress"), text("total"))
        }
        _ => text("progress"),
    };
    sanitize::sanitize_line(&format!("{what}: {at}{message}")).into_owned()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "it is between nothing and the length of the bar"
)]
fn bar(part: f64) -> String {
    let full = (part.clamp(0.0, 1.0) * BAR_COLUMNS as f64) as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(BAR_COLUMNS - full))
}

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

// === impl EndSignals ===

impl EndSignals {
    /// Installs the signal handlers. If that fails, `wait_for_end` never returns.
    pub(crate) fn listen() -> Self {
        let hear = |kind| signal(kind).ok();
        Self(hear(SignalKind::interrupt()).zip(hear(SignalKind::terminate())))
    }

    /// Waits for the next signal.
    pub(crate) async fn wait_for_end(&mut self) {
        let Some((interrupted, terminated)) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_bar_where_the_end_is_known() {
        for (params, line) in [
            (r#"{"progress":1,"total":4}"#, "x: █████░░░░░░░░░░░░░░░ 1 of 4"),
            (r#"{"progress":9,"total":4}"#, "x: ████████████████████ 9 of 4"),
            (r#"{"progress":1,"total":0}"#, "x: 1"),
            (r#"{"progress":1.5,"message":"half\u001b[2J"}"#, "x: 1.5 half[2J"),
            ("{}", "x: "),
        ] {
            assert_eq!(progress_line("x", &Raw::parse(params).unwrap()), line);
        }
    }
}
