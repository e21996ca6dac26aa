//! Taking a request back while it is being answered.
//!
//! Every request can be, and hardly any is: so there is one flag and one waker, looked at only where the answer is not
//! ready at once.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::Poll,
};

use futures_util::task::AtomicWaker;

/// Whether a request was taken back.
#[derive(Debug, Default)]
pub(super) struct CancelFlag {
    is_cancelled: AtomicBool,
    waiting: AtomicWaker,
}

// === impl Cancel ===

impl CancelFlag {
    /// Takes the request back.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.waiting.wake();
    }

    /// What `answering` comes to; `None` if it was taken back before. What was taken back before this does not even
    /// begin. One waits at a time. It is pinned where it is: given whole, it would be kept twice.
    pub(super) async fn run_until_cancelled<T>(
        &self,
        mut answering: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        if self.is_cancelled() {
            return None;
        }
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answering.as_mut().poll(cx) {
                return Poll::Ready(Some(answer));
            }
            self.waiting.register(cx.waker());
            // After it is registered: what comes between the two would wake nobody.
            if self.is_cancelled() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, pin::pin};

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn what_is_ready_is_given_and_what_is_not_is_taken_back() {
        let cancel = CancelFlag::default();
        assert!(cancel.run_until_cancelled(pin!(pending::<()>())).now_or_never().is_none());
        let never = pin!(pending::<()>());
        let (answer, ()) =
            tokio::join!(cancel.run_until_cancelled(never), async { cancel.cancel() });
        assert_eq!(answer, None);
        let never = async { panic!("it was taken back before it began") };
        assert_eq!(cancel.run_until_cancelled::<()>(pin!(never)).await, None);
        let cancel = CancelFlag::default();
        let answering = async {
            cancel.cancel();
            1
        };
        assert_eq!(
            cancel.run_until_cancelled(pin!(answering)).await,
            Some(1),
            "an answer that is there is not lost"
        );
    }
}
