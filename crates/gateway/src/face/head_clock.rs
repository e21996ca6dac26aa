//! The timeout for the head of a request.
//!
//! Used by `stall`, which reads the connection, and by `accept`. hyper has one timeout for the head of the next
//! request and for the pause before it, and clients may keep a connection idle for minutes. This clock runs from the
//! start of the connection, later from the first byte of a head, and stops when the request is complete. Bodies and
//! answers have other timeouts.

use std::{
    future::Future as _,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::Context,
    time::Duration,
};

use tokio::time::{Instant, Sleep};

/// Counts the begins and ends of requests: odd while a request is being answered. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestGauge(Arc<AtomicUsize>);

/// The clock of one connection.
#[derive(Debug)]
pub(super) struct HeadClock {
    gauge: RequestGauge,
    /// The gauge's value at the last check.
    seen: usize,
    timeout: Duration,
    /// When the wait for the rest of a head began.
    began: Option<Instant>,
    /// Created when a head does not arrive in one piece, which is rare.
    timer: Option<Pin<Box<Sleep>>>,
}

// === impl RequestGauge ===

impl RequestGauge {
    /// The head of a request is complete.
    pub(super) fn begin(&self) {
        self.0.fetch_or(1, Relaxed);
    }

    /// The next bytes belong to another request.
    pub(super) fn end(&self) {
        let odd = self.0.load(Relaxed) | 1;
        self.0.store(odd.wrapping_add(1), Relaxed);
    }
}

// === impl HeadClock ===

impl HeadClock {
    /// A running clock: it waits for the first head.
    pub(super) fn new(gauge: RequestGauge, timeout: Duration) -> Self {
        Self { gauge, seen: 0, timeout, began: Some(Instant::now()), timer: None }
    }

    /// Whether the head took too long. Called after every read; `has_read` says whether bytes came.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>, has_read: bool) -> bool {
        let gauged = self.gauge.0.load(Relaxed);
        if gauged != self.seen {
            // A head arrived since the last check, and its request may be answered already.
            (self.seen, self.began, self.timer) = (gauged, None, None);
        }
        if gauged % 2 == 1 {
            return false;
        }
        let Some(began) = self.began else {
            self.began = has_read.then(Instant::now);
            return false;
        };
        let deadline = began + self.timeout;
        if has_read {
            return Instant::now() >= deadline;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        timer.as_mut().poll(cx).is_ready()
    }
}
