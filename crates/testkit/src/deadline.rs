//! A deadline for tests: one that hangs fails.

use std::time::Duration;

/// Everything in a test happens within this, or has failed. Generous, for machines that do other things besides.
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
