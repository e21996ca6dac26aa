//! How long a client may take over the head of a request.
//!
//! hyper has one timeout for the head of the next request and for the pause before it, and clients may keep a connection
//! idle for minutes. So the connection's stream keeps this clock as well: it runs from the beginning of the connection, and
//! later from the first byte of a head, and stops when the request is there. Bodies and answers have timeouts of their own.

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

/// How often a request has begun or ended: odd while one is being answered. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestGauge(Arc<AtomicUsize>);

/// The clock of one connection.
#[derive(Debug)]
pub(super) struct HeadClock {
    gauge: RequestGauge,
    /// What the gauge said when it was last looked at.
    seen: usize,
    timeout: Duration,
    /// Since when part of a head is missing.
    began: Option<Instant>,
    /// Made when a head does not come in one piece, which it usually does.
    timer: Option<Pin<Box<Sleep>>>,
}

// === impl RequestGauge ===

impl RequestGauge {
    /// The head of a request is there.
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
    /// A clock that runs: the first head is waited for from now on.
    pub(super) fn new(gauge: RequestGauge, timeout: Duration) -> Self {
        Self { gauge, seen: 0, timeout, began: Some(Instant::now()), timer: None }
    }

    /// Whether the head took too long; to be asked after every read, with whether it brought something.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>, has_read: bool) -> bool {
        let gauged = self.gauge.0.load(Relaxed);
        if gauged != self.seen {
            // A head has come since, and its request may be answered already.
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
