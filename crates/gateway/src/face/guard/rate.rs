//! How often each principal may ask: a bucket that fills with time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use http::{HeaderValue, StatusCode, header};
use tokio::time::Instant;

use crate::face::{
    options::Rate,
    refusal::{Reason, Refusal},
};

/// Buckets that are full again are forgotten when there are more than this.
const REMEMBERED: usize = 4096;

/// The buckets of all principals.
#[derive(Debug)]
pub(super) struct Rates {
    rate: Rate,
    buckets: Mutex<HashMap<Arc<str>, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

// === impl Rates ===

impl Rates {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Takes one request out of a principal's bucket.
    pub(super) fn take(&self, principal: &Arc<str>) -> Result<(), Refusal> {
        let Rate::PerSecond(rate) = self.rate else {
            return Ok(());
        };
        let (rate, now) = (f64::from(rate), Instant::now());
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > REMEMBERED {
            buckets.retain(|_, bucket| bucket.filled(rate, now) < burst(rate));
        }
        let full = || Bucket { left: burst(rate), at: now };
        let bucket = buckets.entry(Arc::clone(principal)).or_insert_with(full);
        bucket.left = bucket.filled(rate, now);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(too_often());
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

/// What a bucket holds when it is full.
fn burst(rate: f64) -> f64 {
    rate * 2.0
}

impl Bucket {
    fn filled(&self, rate: f64, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + since * rate).min(burst(rate))
    }
}

fn too_often() -> Refusal {
    let text = "too many requests in a short time; wait a second";
    Refusal::new(Reason::Rate, StatusCode::TOO_MANY_REQUESTS, text)
        .with_header((header::RETRY_AFTER, HeaderValue::from_static("1")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_and_fills() {
        let rates = Rates::new(Rate::PerSecond(5));
        let taken = |principal: &str| {
            let principal = Arc::from(principal);
            (0..100).take_while(|_| rates.take(&principal).is_ok()).count()
        };
        assert_eq!(taken("one"), 10);
        assert_eq!(taken("other"), 10, "each has its own");
        tokio::time::advance(Duration::from_millis(400)).await;
        assert_eq!(taken("one"), 2);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(taken("one"), 10);
        let unlimited = Rates::new(Rate::Unlimited);
        assert!((0..1000).all(|_| unlimited.take(&Arc::from("one")).is_ok()));
    }
}
