//! A histogram of latencies with few buckets, for percentiles that are right within an eighth.
//!
//! Used by `traffic` for each minute of each name. Only buckets with calls take room, at most 96. It does not keep
//! single latencies (`connection::stats` keeps the latest of a connection).

use std::time::Duration;

/// Latencies below this share the first bucket.
const FIRST_OCTAVE: u32 = 6;
/// Buckets of one octave, and octaves: up to 64 µs × 2^24, which is 18 minutes.
const BUCKETS_PER_OCTAVE: u64 = 4;
const MAX_BUCKET: u8 = 95;

/// Counts of latencies, by bucket.
#[derive(Debug, Default, Clone)]
pub(super) struct LatencyHistogram {
    /// The buckets with calls, in order.
    buckets: Vec<(u8, u32)>,
}

// === impl LatencyHistogram ===

impl LatencyHistogram {
    pub(super) fn record(&mut self, took: Duration) {
        self.count(bucket_of(took), 1);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (bucket, calls) in &other.buckets {
            self.count(*bucket, *calls);
        }
    }

    fn count(&mut self, bucket: u8, calls: u32) {
        match self.buckets.binary_search_by_key(&bucket, |(known, _)| *known) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(calls),
            Err(at) => self.buckets.insert(at, (bucket, calls)),
        }
    }

    /// How many latencies were counted.
    pub(super) fn calls(&self) -> u64 {
        self.buckets.iter().map(|(_, calls)| u64::from(*calls)).sum()
    }

    /// The latency that so many of a hundred calls do not exceed, in microseconds; 0 without calls.
    pub(super) fn percentile(&self, percent: u64) -> u64 {
        let rank = (self.calls() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, calls) in &self.buckets {
            seen += u64::from(*calls);
            if seen >= rank {
                return middle_of(*bucket);
            }
        }
        0
    }
}

fn bucket_of(took: Duration) -> u8 {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1 << FIRST_OCTAVE);
    let octave = micros.ilog2();
    // The two bits after the first say which quarter of the octave it is.
    let quarter = (micros >> (octave - 2)) & (BUCKETS_PER_OCTAVE - 1);
    let bucket = u64::from(octave - FIRST_OCTAVE) * BUCKETS_PER_OCTAVE + quarter;
    u8::try_from(bucket).unwrap_or(MAX_BUCKET).min(MAX_BUCKET)
}

/// The middle of a bucket, in microseconds.
fn middle_of(bucket: u8) -> u64 {
    let (octave, quarter) =
        (u64::from(bucket) / BUCKETS_PER_OCTAVE, u64::from(bucket) % BUCKETS_PER_OCTAVE);
    let width = 1u64 << (octave + u64::from(FIRST_OCTAVE) - 2);
    (BUCKETS_PER_OCTAVE + quarter) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_within_an_eighth() {
        let check = |micros: &[u64], percent: u64, expected: u64| {
            let mut histogram = LatencyHistogram::default();
            for micros in micros {
                histogram.record(Duration::from_micros(*micros));
            }
            let found = histogram.percentile(percent);
            assert!(
                found.abs_diff(expected) * 8 <= expected,
                "p{percent}: {found}, not {expected}"
            );
        };
        check(&[], 50, 0);
        check(&[1000], 50, 1000);
        check(&[1000], 99, 1000);
        check(&(1..=1000).map(|n| n * 1000).collect::<Vec<_>>(), 50, 500_000);
        check(&(1..=1000).map(|n| n * 1000).collect::<Vec<_>>(), 95, 950_000);
        check(&(1..=1000).map(|n| n * 1000).collect::<Vec<_>>(), 99, 990_000);
        check(&[100, 100, 100, 60_000_000], 99, 60_000_000);
    }

    #[test]
    fn what_is_too_long_or_too_short_has_a_bucket() {
        let mut histogram = LatencyHistogram::default();
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        assert_eq!((histogram.calls(), histogram.buckets.len()), (2, 2));
        let mut other = LatencyHistogram::default();
        other.record(Duration::from_millis(1));
        histogram.add(&other);
        assert_eq!(histogram.calls(), 3);
        assert!(histogram.buckets.is_sorted());
    }
}
