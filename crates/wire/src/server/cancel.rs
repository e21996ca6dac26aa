//! Cancellation of a request that is being answered.
//!
//! Used by `in_flight_request`. Few requests are ever cancelled, so it is one flag and one waker, checked only when
//! the answer is not ready at once. It does not send or parse the cancellation (`session`).

use std::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::Poll,
};

use futures_util::task::AtomicWaker;

/// Whether a request was cancelled.
#[derive(Debug, Default)]
pub(super) struct CancelFlag {
    is_cancelled: AtomicBool,
    waiting: AtomicWaker,
}

// === impl CancelFlag ===

impl CancelFlag {
    /// Cancels the request.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.waiting.wake();
    }

    /// Runs `answering`. Returns `None` if the request is cancelled first; a request cancelled earlier does not
    /// start. Only one task may wait at a time. `answering` is passed pinned, since by value the future would be
    /// stored twice.
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
            // Checked again after the waker is registered: a cancellation in between would wake no task.
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
