//! A future that is polled only after its own waker was called, not at every poll of its task.
//!
//! Used by `accept` and `streamable`. A connection's task wakes for each chunk of a body; without this, each wake
//! would poll the whole call, layer by layer, down to the future that waits.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// The waker of the inner future.
struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

/// Polls `future` once, and then each time it was woken. It takes a pinned reference: by value, the future would be
/// stored twice.
pub(super) async fn only_when_woken<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: AtomicWaker::new() });
    let waker = Waker::from(Arc::clone(&bell));
    poll_fn(|cx| {
        // Registered before the check: a wake after the check then wakes this task.
        bell.task.register(cx.waker());
        if !bell.rung.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        future.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}

// === impl Bell ===

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, pin::pin};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_wakes_the_task_alone_is_not_passed_on() {
        let (end, mut ended) = oneshot::channel();
        let polls = Cell::new(0);
        let counted = pin!(poll_fn(|cx| {
            polls.set(polls.get() + 1);
            pin!(&mut ended).poll(cx)
        }));
        let mut waiting = pin!(only_when_woken(counted));
        for _ in 0..5 {
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        }
        // Ending the inner future from another task wakes this one.
        let ending = async {
            tokio::task::yield_now().await;
            end.send("over").unwrap();
        };
        let (said, ()) = tokio::join!(waiting, ending);
        assert_eq!(said, Ok("over"));
        assert_eq!(polls.get(), 2);
    }
}
