//! What a person sees while something takes its time.

use std::time::{Duration, Instant};

use switchboard_wire::{json::Raw, sanitize};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

use crate::printer::Printer;

/// How long a person waits without being told what for.
const SILENT_WAIT: Duration = Duration::from_secs(1);
/// How long a bar of progress is.
const BAR_COLUMNS: usize = 20;

/// Hears that somebody wants this to end: Ctrl-C, or a polite signal. Nothing is lost between two waits.
pub(crate) struct EndSignals(Option<(Signal, Signal)>);

/// Waits for `work`, saying so once it takes longer than a person expects.
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

/// Does what goes on and on in a task of its own, as long as it is waited for. The future that a runtime was started with
/// is polled only after a look for news, which is one more word with the system before each answer.
pub(crate) async fn at_work<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    match AbortOnDropHandle::new(tokio::spawn(work)).await {
        Ok(done) => done,
        // It is not given up while it is waited for.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// How far something is, on one line: a bar where the end is known.
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

/// A time in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

// === impl EndSignals ===

impl EndSignals {
    /// From here on it is heard. Where that cannot be arranged for, it takes an impolite signal.
    pub(crate) fn listen() -> Self {
        let hear = |kind| signal(kind).ok();
        Self(hear(SignalKind::interrupt()).zip(hear(SignalKind::terminate())))
    }

    /// Waits until it is wanted, or wanted again.
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
