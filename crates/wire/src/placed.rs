//! Large values, made where they stay.

use std::pin::Pin;

/// What `make` makes, in a box. There is room for it first, and it is made there; `Box::pin` makes it elsewhere and
/// copies it, which for a call's future is kilobytes of room that nothing stands in yet.
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
