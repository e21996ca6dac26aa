//! The rate limit of each principal, as a token bucket.
//!
//! Used by `access_control` and by the WebSocket face, which counts messages. Of several replicas each grants its
//! share, whoever of them a client meets. It does not limit
//! memory (`budgets`) or sessions (`sessions`).

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::face::{
    options::RequestRate,
    refusal::{HttpRefusal, RefusalReason},
};

/// Full buckets are dropped when there are more than this.
const MAX_BUCKETS_REMEMBERED: usize = 4096;

/// The buckets of all principals.
#[derive(Debug)]
pub(in crate::face) struct RateLimiter {
    rate: RequestRate,
    /// The number of replicas that share the rate, if there are others.
    members: Option<Arc<AtomicUsize>>,
    buckets: Mutex<HashMap<Arc<str>, RateBucket>>,
}

#[derive(Debug)]
struct RateBucket {
    left: f64,
    at: Instant,
}

// === impl RateLimiter ===

impl RateLimiter {
    pub(in crate::face) fn new(rate: RequestRate) -> Self {
        Self { rate, members: None, buckets: Mutex::default() }
    }

    /// The same for one of several replicas.
    pub(in crate::face) fn shared_by(self, members: Option<Arc<AtomicUsize>>) -> Self {
        Self { members, ..self }
    }

    /// The requests per second that this replica grants; `None` for any number.
    fn share(&self) -> Option<f64> {
        let RequestRate::PerSecond(rate) = self.rate else { return None };
        let members = self.members.as_ref().map_or(1, |members| members.load(Ordering::Relaxed));
        let members = u32::try_from(members.max(1)).unwrap_or(u32::MAX);
        Some(f64::from(rate) / f64::from(members))
    }

    /// Waits until a request is allowed, and counts it.
    pub(in crate::face) async fn wait(&self, principal: &Arc<str>) {
        while self.take(principal, 1).is_err() {
            let share = self.share().unwrap_or(f64::INFINITY);
            tokio::time::sleep(Duration::from_secs_f64(1.0 / share)).await;
        }
    }

    /// Takes `count` requests out of a principal's bucket, or none if they exceed it.
    pub(in crate::face) fn take(
        &self,
        principal: &Arc<str>,
        count: usize,
    ) -> Result<(), HttpRefusal> {
        let Some(rate) = self.share() else { return Ok(()) };
        let now = Instant::now();
        let mut buckets = self.buckets.lock();
        if buckets.len() > MAX_BUCKETS_REMEMBERED {
            buckets.retain(|_, bucket| bucket.filled(rate, now) < burst(rate));
        }
        let full = || RateBucket { left: burst(rate), at: now };
        let bucket = buckets.entry(Arc::clone(principal)).or_insert_with(full);
        bucket.left = bucket.filled(rate, now);
        bucket.at = now;
        // The length of a batch is a small number, so the conversion is exact.
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        if bucket.left < count {
            return Err(too_many_requests());
        }
        bucket.left -= count;
        Ok(())
    }
}

/// The capacity of a bucket: one request at least, however small the share is.
fn burst(rate: f64) -> f64 {
    (rate * 2.0).max(1.0)
}

impl RateBucket {
    fn filled(&self, rate: f64, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + since * rate).min(burst(rate))
    }
}

fn too_many_requests() -> HttpRefusal {
    let text = "too many requests in a short time; wait a second";
    HttpRefusal::new(RefusalReason::Rate, StatusCode::TOO_MANY_REQUESTS, text)
        .with_header((header::RETRY_AFTER, HeaderValue::from_static("1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_and_fills() {
        let rates = RateLimiter::new(RequestRate::PerSecond(5));
        let taken = |principal: &str| {
            let principal = Arc::from(principal);
            (0..100).take_while(|_| rates.take(&principal, 1).is_ok()).count()
        };
        assert_eq!(taken("one"), 10);
        assert_eq!(taken("other"), 10, "each has its own");
        tokio::time::advance(Duration::from_millis(400)).await;
        assert_eq!(taken("one"), 2);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(rates.take(&Arc::from("one"), 11).is_err(), "more than a bucket holds");
        assert!(rates.take(&Arc::from("one"), 8).is_ok());
        assert_eq!(taken("one"), 2);
        rates.wait(&Arc::from("one")).await;
        let members = Arc::new(AtomicUsize::new(4));
        let rates = RateLimiter::new(RequestRate::PerSecond(4)).shared_by(Some(members.clone()));
        let taken = |principal: &str| {
            let principal = Arc::from(principal);
            (0..100).take_while(|_| rates.take(&principal, 1).is_ok()).count()
        };
        assert_eq!(taken("one"), 2, "a fourth of the rate");
        members.store(2, Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((taken("one"), taken("other")), (4, 4), "half of it");
        members.store(100, Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((taken("one"), taken("new")), (1, 1), "one at least");
        let unlimited = RateLimiter::new(RequestRate::Unlimited);
        assert!((0..1000).all(|_| unlimited.take(&Arc::from("one"), 9).is_ok()));
    }
}
