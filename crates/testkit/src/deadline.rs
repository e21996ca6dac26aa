//! A deadline for tests, so that a hanging test fails.
//!
//! Used by tests of `hub`, `gateway` and `sources`.

use std::time::Duration;

/// The time within which every step of a test must happen. Generous, for busy machines.
pub const TEST_DEADLINE: Duration = Duration::from_secs(60);

/// Waits for `future`.
///
/// # Panics
///
/// Panics once the deadline has passed.
#[allow(clippy::expect_used, reason = "a test that hangs fails")]
pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(TEST_DEADLINE, future).await.expect("it hangs")
}
