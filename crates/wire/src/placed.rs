//! A constructor for large boxed values, built in place.
//!
//! Used for the futures of calls in `client`, `server` and `core`.

use std::pin::Pin;

/// Boxes the value that `make` returns. It allocates first and builds the value there; `Box::pin` builds it on the
/// stack and copies it, which for a call's future is several kilobytes.
#[inline]
pub fn placed<T>(make: impl FnOnce() -> T) -> Pin<Box<T>> {
    Box::into_pin(Box::write(Box::new_uninit(), make()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_placed_is_what_was_made() {
        let large = [7_u8; 4096];
        let sum = placed(|| async move {
            tokio::task::yield_now().await;
            large.iter().map(|byte| usize::from(*byte)).sum::<usize>()
        });
        assert_eq!(sum.await, 7 * 4096);
    }
}
