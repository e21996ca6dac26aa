//! Taking a request back while it is being answered.
//!
//! Every request can be, and hardly any is: so there is one flag and one waker, looked at only where the answer is not
//! ready at once.

use std::{
    future::poll_fn,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::Poll,
};

use futures_util::task::AtomicWaker;

/// Whether a request was taken back.
#[derive(Debug, Default)]
pub(super) struct Cancel {
    is_cancelled: AtomicBool,
    waiting: AtomicWaker,
}

// === impl Cancel ===

impl Cancel {
    /// Takes the request back.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        self.waiting.wake();
    }

    /// What `answering` comes to; `None` if it was taken back before. One waits at a time.
    pub(super) async fn unless<T>(&self, answering: impl Future<Output = T>) -> Option<T> {
        let mut answering = pin!(answering);
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answering.as_mut().poll(cx) {
                return Poll::Ready(Some(answer));
            }
            self.waiting.register(cx.waker());
            // After it is registered: what comes between the two would wake nobody.
            let is_cancelled = self.is_cancelled.load(Ordering::Acquire);
            if is_cancelled { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn what_is_ready_is_given_and_what_is_not_is_taken_back() {
        let cancel = Cancel::default();
        assert!(cancel.unless(pending::<()>()).now_or_never().is_none());
        let (answer, ()) = tokio::join!(cancel.unless(pending::<()>()), async { cancel.cancel() });
        assert_eq!(answer, None);
        assert_eq!(cancel.unless(ready(1)).await, Some(1), "an answer that is there is not lost");
        assert_eq!(cancel.unless(pending::<()>()).await, None, "nor is the word that came before");
    }
}
