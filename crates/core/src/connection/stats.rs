//! Statistics of a connection: sessions, errors, calls in flight, latency, processes.
//!
//! Used by the snapshot, for `switchboard status`, the terminal UI and the console. Latency is of the latest
//! `MAX_LATENCY_SAMPLES` calls.

use std::{collections::VecDeque, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::ConnectionError;
use super::state_history::StateHistory;

/// How many calls the latency is computed from.
const MAX_LATENCY_SAMPLES: usize = 1024;

/// Statistics of a connection, or of all connections of a server.
#[derive(Debug, Clone, Default)]
pub struct ConnectionStats {
    /// How many sessions there were.
    pub connects: u64,
    /// How many sessions there were after the first.
    pub restarts: u64,
    /// The last error.
    pub last_error: Option<ConnectionError>,
    /// Calls in flight now.
    pub calls_in_flight: usize,
    /// The latency of the latest calls.
    pub latency: Option<CallLatency>,
    /// The id of the server's process, if this process started it and it runs.
    pub pid: Option<u32>,
    /// The ids of its processes, one for each connection that has one.
    pub pids: Vec<u32>,
}

/// The counters of one connection. Samples of several connections can be merged.
#[derive(Debug)]
pub(crate) struct StatsSample {
    connects: u64,
    last_error: Option<(Instant, ConnectionError)>,
    took: Vec<Duration>,
    calls_in_flight: usize,
    pid: Option<u32>,
}

/// The latency of the latest calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLatency {
    /// How many calls were measured.
    pub calls: usize,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// Counts events as they happen.
#[derive(Debug, Default)]
pub(super) struct StatsRecorder {
    counters: Mutex<Counters>,
    pub(super) history: StateHistory,
}

#[derive(Debug, Default)]
struct Counters {
    connects: u64,
    last_error: Option<(Instant, ConnectionError)>,
    took: VecDeque<Duration>,
}

// === impl StatsRecorder ===

impl StatsRecorder {
    pub(super) fn record_connect(&self) {
        self.lock().connects += 1;
    }

    pub(super) fn record_failure(&self, error: &ConnectionError) {
        self.lock().last_error = Some((Instant::now(), error.clone()));
    }

    pub(super) fn record_call(&self, took: Duration) {
        let mut counted = self.lock();
        if counted.took.len() == MAX_LATENCY_SAMPLES {
            counted.took.pop_front();
        }
        counted.took.push_back(took);
    }

    pub(super) fn sample(&self, calls_in_flight: usize, pid: Option<u32>) -> StatsSample {
        let counted = self.lock();
        StatsSample {
            connects: counted.connects,
            last_error: counted.last_error.clone(),
            took: counted.took.iter().copied().collect(),
            calls_in_flight,
            pid,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock()
    }
}

// === impl ConnectionStats ===

impl ConnectionStats {
    /// Merges the statistics of several connections: counts are summed, latencies are those of all their calls.
    pub(crate) fn merge(samples: impl IntoIterator<Item = StatsSample>) -> Self {
        let (mut merged, mut took, mut error_at) = (Self::default(), Vec::new(), None);
        for sample in samples {
            merged.connects += sample.connects;
            merged.restarts += sample.connects.saturating_sub(1);
            merged.calls_in_flight += sample.calls_in_flight;
            merged.pids.extend(sample.pid);
            took.extend(sample.took);
            if let Some((at, error)) = sample.last_error
                && error_at.is_none_or(|latest| at > latest)
            {
                (error_at, merged.last_error) = (Some(at), Some(error));
            }
        }
        merged.pid = merged.pids.first().copied();
        merged.latency = CallLatency::of(took);
        merged
    }
}

// === impl CallLatency ===

impl CallLatency {
    fn of(mut took: Vec<Duration>) -> Option<Self> {
        took.sort_unstable();
        let at =
            |percent: usize| took.get((took.len() * percent / 100).min(took.len() - 1)).copied();
        if took.is_empty() {
            return None;
        }
        Some(Self { calls: took.len(), p50: at(50)?, p99: at(99)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_of_the_latest_calls() {
        let check = |millis: &[u64], expected: Option<(usize, u64, u64)>| {
            let tally = StatsRecorder::default();
            for millis in millis {
                tally.record_call(Duration::from_millis(*millis));
            }
            let found = ConnectionStats::merge([tally.sample(0, None)]).latency;
            let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap();
            let found = found.map(|found| (found.calls, millis(found.p50), millis(found.p99)));
            assert_eq!(found, expected);
        };
        check(&[], None);
        check(&[7], Some((1, 7, 7)));
        check(&[3, 1, 2], Some((3, 2, 3)));
        check(&(1..=100).collect::<Vec<_>>(), Some((100, 51, 100)));
        let slow_then_fast: Vec<_> =
            [900; 10].into_iter().chain([1; MAX_LATENCY_SAMPLES]).collect();
        check(&slow_then_fast, Some((MAX_LATENCY_SAMPLES, 1, 1)));
    }

    #[test]
    fn the_numbers_of_several_connections_are_merged() {
        let (one, other) = (StatsRecorder::default(), StatsRecorder::default());
        for tally in [&one, &one, &other] {
            tally.record_connect();
        }
        one.record_failure(&ConnectionError::Loop);
        (1..=3).for_each(|millis| one.record_call(Duration::from_millis(millis)));
        (4..=9).for_each(|millis| other.record_call(Duration::from_millis(millis)));
        let merged = ConnectionStats::merge([one.sample(2, None), other.sample(3, Some(7))]);
        assert_eq!((merged.connects, merged.restarts, merged.calls_in_flight), (3, 1, 5));
        assert_eq!((merged.pid, merged.pids), (Some(7), vec![7]));
        assert!(matches!(merged.last_error, Some(ConnectionError::Loop)));
        let latency = merged.latency.unwrap();
        assert_eq!((latency.calls, latency.p50), (9, Duration::from_millis(5)));
    }
}
