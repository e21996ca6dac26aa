//! Flood protection: how much a worker may send unasked, and the alarm for a worker that sends more.
//!
//! Used by `launch`. A plugin in an endless loop of notifications or output shows signs of life for ever, so
//! the timeout of its call never ends. The host reads all of its output, which delays every other call. Each
//! worker has a [`FloodGauge`]: the task that reads the worker fills it, and stops the worker when it
//! overflows. Answers do not count.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use memchr::memchr_iter;
use switchboard_process::StderrSink;
use tokio::{
    io::{AsyncRead, ReadBuf},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// The limit for lines that are no answers: notifications, questions, and lines that are no messages.
pub(crate) const MESSAGES_PER_SECOND: u32 = 2_000;
const BURST_MESSAGES: u32 = 20_000;

/// The limit for bytes on both standard streams.
pub(crate) const BYTES_PER_SECOND: u32 = 4 << 20;
/// More than the largest answer (64 MiB), whose bytes count until it is complete.
const BURST_BYTES: u32 = 80 << 20;
const _: () = assert!(crate::launch::MAX_MESSAGE_BYTES < BURST_BYTES as usize);

/// The recent output of one worker.
pub(crate) struct FloodGauge {
    levels: Mutex<Levels>,
    alarm: CancellationToken,
}

struct Levels {
    messages: LeakyBucket,
    bytes: LeakyBucket,
}

/// A leaky bucket with a `capacity` that loses `leak_per_second`.
struct LeakyBucket {
    level: f64,
    capacity: f64,
    leak_per_second: f64,
    updated: Instant,
}

/// A worker's standard output, counted while it is read. Returns an error once the worker floods, even with
/// bytes left.
pub(crate) struct MeteredStdout<R> {
    source: R,
    gauge: Arc<FloodGauge>,
}

/// A worker's standard error, counted on its way to the log.
pub(crate) struct MeteredStderr {
    pub(crate) log: Option<Arc<dyn StderrSink>>,
    pub(crate) gauge: Arc<FloodGauge>,
}

// === impl FloodGauge ===

impl FloodGauge {
    pub(crate) fn new() -> Self {
        let levels = Levels {
            messages: LeakyBucket::new(BURST_MESSAGES, MESSAGES_PER_SECOND),
            bytes: LeakyBucket::new(BURST_BYTES, BYTES_PER_SECOND),
        };
        Self { levels: Mutex::new(levels), alarm: CancellationToken::new() }
    }

    /// Returns when the worker has exceeded a limit.
    pub(crate) async fn wait_for_flood(&self) {
        self.alarm.cancelled().await;
    }

    pub(crate) fn is_flooded(&self) -> bool {
        self.alarm.is_cancelled()
    }

    /// Removes an answer, which was counted while it was read, from the count.
    pub(crate) fn credit_answer(&self, bytes: usize) {
        let mut levels = self.levels();
        levels.messages.remove(1);
        levels.bytes.remove(bytes);
    }

    fn add(&self, bytes: usize, lines: usize) {
        let mut levels = self.levels();
        let too_many = levels.messages.add(lines);
        let too_much = levels.bytes.add(bytes);
        if too_many || too_much {
            self.alarm.cancel();
        }
    }

    fn levels(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl LeakyBucket ===

impl LeakyBucket {
    fn new(capacity: u32, leak_per_second: u32) -> Self {
        Self {
            level: 0.0,
            capacity: capacity.into(),
            leak_per_second: leak_per_second.into(),
            updated: Instant::now(),
        }
    }

    /// Adds an amount. Returns whether the bucket overflows.
    fn add(&mut self, amount: usize) -> bool {
        let now = Instant::now();
        let leaked = self.leak_per_second * (now - self.updated).as_secs_f64();
        self.level = (self.level - leaked).max(0.0) + as_f64(amount);
        self.updated = now;
        self.level > self.capacity
    }

    fn remove(&mut self, amount: usize) {
        self.level = (self.level - as_f64(amount)).max(0.0);
    }
}

/// Converts an amount. Anything above 4 GiB counts as 4 GiB, which exceeds every capacity.
fn as_f64(amount: usize) -> f64 {
    u32::try_from(amount).unwrap_or(u32::MAX).into()
}

// === impl MeteredStdout ===

impl<R> MeteredStdout<R> {
    pub(crate) fn new(source: R, gauge: Arc<FloodGauge>) -> Self {
        Self { source, gauge }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for MeteredStdout<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.gauge.is_flooded() {
            return Poll::Ready(Err(io::Error::other("the worker floods")));
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.source).poll_read(cx, into))?;
        let read = &into.filled()[before..];
        self.gauge.add(read.len(), memchr_iter(b'\n', read).count());
        Poll::Ready(Ok(()))
    }
}

// === impl MeteredStderr ===

impl StderrSink for MeteredStderr {
    fn write(&self, chunk: &[u8]) {
        self.gauge.add(chunk.len(), 0);
        if let Some(log) = &self.log {
            log.write(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_runs_over_by_a_burst_or_by_a_rate_that_lasts() {
        // Rate per second, duration in seconds, and whether the gauge should overflow.
        let rows = [
            (1_000, 1, false),
            (1_001, 1, true),
            (100, 60, false),
            (200, 9, false),
            (200, 10, true),
        ];
        for (rate, seconds, expected) in rows {
            let mut bucket = LeakyBucket::new(1_000, 100);
            let mut runs_over = false;
            for _ in 0..seconds {
                runs_over |= bucket.add(rate);
                tokio::time::advance(Duration::from_secs(1)).await;
            }
            assert_eq!(runs_over, expected, "{rate} a second for {seconds} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_nothing() {
        let gauge = FloodGauge::new();
        for _ in 0..100 {
            gauge.add(crate::launch::MAX_MESSAGE_BYTES, 1);
            gauge.credit_answer(crate::launch::MAX_MESSAGE_BYTES);
        }
        assert!(!gauge.is_flooded());
        gauge.add(2 * crate::launch::MAX_MESSAGE_BYTES, 0);
        assert!(gauge.is_flooded());
    }
}
