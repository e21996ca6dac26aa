//! A bounded queue that allocates nothing while it is empty.
//!
//! Used by links, plugin calls, calls of `core` and the Streamable HTTP face. Every session has a few queues, and
//! most never carry an item; a tokio channel allocates room for thirty-two items at once. It has one reader and many
//! writers. Like a tokio channel, receiving takes part in the task's cooperative budget, so that a reader whose writers
//! run on other threads and never pause still gives other tasks a turn. It does not know its items.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, task::coop};

/// The writing end. Clones share it.
#[derive(Debug)]
pub struct QueueSender<T>(Arc<SharedBoundedQueue<T>>);

/// The reading end. Dropping it closes the queue.
#[derive(Debug)]
pub struct QueueReceiver<T>(Arc<SharedBoundedQueue<T>>);

/// Why an item was not sent; returns the item.
#[derive(Debug, PartialEq, Eq)]
pub enum QueueSendError<T> {
    /// The queue is full.
    Full(T),
    /// The reader is gone.
    Closed(T),
}

#[derive(Debug)]
struct SharedBoundedQueue<T> {
    state: Mutex<BoundedQueueState<T>>,
    /// Notified when there is room again, or the queue is closed.
    room: Notify,
    most: usize,
    max_bytes: usize,
    bytes_of: fn(&T) -> usize,
}

#[derive(Debug)]
struct BoundedQueueState<T> {
    waiting: VecDeque<T>,
    /// The bytes of all waiting items.
    bytes: usize,
    senders: usize,
    is_read: bool,
    reader: Option<Waker>,
}

/// A queue of at most `most` items.
pub fn bounded_queue<T>(most: usize) -> (QueueSender<T>, QueueReceiver<T>) {
    byte_bounded_queue(most, usize::MAX, |_| 0)
}

/// A queue bounded in items and in bytes. An item that finds the queue empty may have any size.
pub fn byte_bounded_queue<T>(
    most: usize,
    max_bytes: usize,
    bytes_of: fn(&T) -> usize,
) -> (QueueSender<T>, QueueReceiver<T>) {
    let state = BoundedQueueState {
        waiting: VecDeque::new(),
        bytes: 0,
        senders: 1,
        is_read: true,
        reader: None,
    };
    let shared = SharedBoundedQueue {
        state: Mutex::new(state),
        room: Notify::new(),
        most,
        max_bytes,
        bytes_of,
    };
    let shared = Arc::new(shared);
    (QueueSender(Arc::clone(&shared)), QueueReceiver(shared))
}

// === impl SharedBoundedQueue ===

impl<T> SharedBoundedQueue<T> {
    fn lock(&self) -> MutexGuard<'_, BoundedQueueState<T>> {
        self.state.lock()
    }

    fn has_room(&self, state: &BoundedQueueState<T>, bytes: usize) -> bool {
        let waiting = &state.waiting;
        let fits = state.bytes.saturating_add(bytes) <= self.max_bytes || waiting.is_empty();
        fits && waiting.len() < self.most
    }

    fn take_first(&self, state: &mut BoundedQueueState<T>) -> Option<T> {
        let item = state.waiting.pop_front()?;
        state.bytes -= (self.bytes_of)(&item);
        Some(item)
    }
}

// === impl BoundedQueueState ===

impl<T> BoundedQueueState<T> {
    /// Registers the reader's waker. Returns the previous waker: it may hold the queue, and must be dropped after the
    /// lock is released.
    fn wait(&mut self, cx: &Context<'_>) -> Option<Waker> {
        let is_known = self.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker()));
        if is_known { None } else { self.reader.replace(cx.waker().clone()) }
    }
}

// === impl QueueSender ===

impl<T> QueueSender<T> {
    /// Sends if there is room at once.
    pub fn try_send(&self, item: T) -> Result<(), QueueSendError<T>> {
        let mut state = self.0.lock();
        if !state.is_read {
            return Err(QueueSendError::Closed(item));
        }
        let bytes = (self.0.bytes_of)(&item);
        if !self.0.has_room(&state, bytes) {
            return Err(QueueSendError::Full(item));
        }
        state.waiting.push_back(item);
        state.bytes += bytes;
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    /// Sends, waiting for room. Returns the item if the reader is gone. If the future is dropped, the item is lost.
    pub async fn send(&self, item: T) -> Result<(), T> {
        let mut item = match self.try_send(item) {
            Ok(()) => return Ok(()),
            Err(QueueSendError::Closed(item)) => return Err(item),
            Err(QueueSendError::Full(item)) => item,
        };
        loop {
            let room = self.0.room.notified();
            item = match self.try_send(item) {
                Ok(()) => return Ok(()),
                Err(QueueSendError::Closed(item)) => return Err(item),
                Err(QueueSendError::Full(item)) => item,
            };
            room.await;
        }
    }

    /// Waits until all items are taken, or the reader is gone.
    pub async fn wait_empty(&self) {
        loop {
            let taken = self.0.room.notified();
            let is_over = {
                let state = self.0.lock();
                state.waiting.is_empty() || !state.is_read
            };
            if is_over {
                break;
            }
            taken.await;
        }
        // Passes the notification on: it may have been meant for a waiting sender.
        self.0.room.notify_one();
    }
}

impl<T> Clone for QueueSender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for QueueSender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        let reader = if state.senders == 0 { state.reader.take() } else { None };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

// === impl QueueReceiver ===

impl<T> QueueReceiver<T> {
    /// Returns the next item; `None` when all senders are gone and all items are read. Cancel-safe.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next item.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let budget = ready!(coop::poll_proceed(cx));
        let mut state = self.0.lock();
        if let Some(item) = self.0.take_first(&mut state) {
            drop(state);
            budget.made_progress();
            self.0.room.notify_one();
            return Poll::Ready(Some(item));
        }
        if state.senders == 0 {
            budget.made_progress();
            return Poll::Ready(None);
        }
        let before = state.wait(cx);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Waits until an item is there. Returns `false` when no more will come. Cancel-safe.
    pub async fn wait_filled(&mut self) -> bool {
        poll_fn(|cx| {
            let budget = ready!(coop::poll_proceed(cx));
            let mut state = self.0.lock();
            if !state.waiting.is_empty() {
                budget.made_progress();
                return Poll::Ready(true);
            }
            if state.senders == 0 {
                budget.made_progress();
                return Poll::Ready(false);
            }
            let before = state.wait(cx);
            drop(state);
            drop(before);
            Poll::Pending
        })
        .await
    }

    /// Takes the next item, if there is one. Unregisters the waker.
    pub fn try_recv(&mut self) -> Option<T> {
        let mut state = self.0.lock();
        let (item, reader) = (self.0.take_first(&mut state), state.reader.take());
        drop(state);
        drop(reader);
        let item = item?;
        self.0.room.notify_one();
        Some(item)
    }
}

impl<T> Drop for QueueReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_read = false;
        // Dropped after the lock: an item may hold the queue.
        let unread = std::mem::take(&mut state.waiting);
        let reader = state.reader.take();
        drop(state);
        drop((unread, reader));
        self.0.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn it_holds_so_many_in_order() {
        let (sender, mut receiver) = bounded_queue(2);
        assert_eq!(
            [1, 2, 3].map(|n| sender.try_send(n)),
            [Ok(()), Ok(()), Err(QueueSendError::Full(3))]
        );
        assert_eq!(receiver.recv().await, Some(1));
        sender.try_send(4).unwrap();
        assert_eq!([(); 3].map(|()| receiver.try_recv()), [Some(2), Some(4), None]);
    }

    #[tokio::test]
    async fn it_holds_so_many_bytes_and_one_item_of_any_size() {
        let (sender, mut receiver) = byte_bounded_queue(9, 10, |text: &&str| text.len());
        let sent = ["12345", "12345", "1"].map(|text| sender.try_send(text));
        assert_eq!(sent, [Ok(()), Ok(()), Err(QueueSendError::Full("1"))]);
        assert_eq!(receiver.recv().await, Some("12345"));
        assert_eq!(sender.try_send("123456"), Err(QueueSendError::Full("123456")));
        assert_eq!(receiver.try_recv(), Some("12345"));
        sender.try_send("more than ten bytes").unwrap();
        assert_eq!(sender.try_send(""), Err(QueueSendError::Full("")));
        assert_eq!(receiver.recv().await, Some("more than ten bytes"));
        assert_eq!(sender.try_send("1234567890"), Ok(()), "what was read makes room");
    }

    #[tokio::test]
    async fn whoever_sends_waits_for_room() {
        let (sender, mut receiver) = bounded_queue(1);
        sender.send(0).await.unwrap();
        let sending = async {
            for n in 1..100 {
                sender.send(n).await.unwrap();
            }
        };
        let reading = async {
            for n in 0..100 {
                assert_eq!(receiver.recv().await, Some(n));
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(sending, reading);
    }

    #[tokio::test]
    async fn who_waits_for_the_end_takes_no_room_from_who_sends() {
        let (sender, mut receiver) = bounded_queue(1);
        sender.try_send(1).unwrap();
        let reading = async {
            assert!(receiver.wait_filled().await);
            tokio::task::yield_now().await;
            assert_eq!([receiver.recv().await, receiver.recv().await], [Some(1), Some(2)]);
        };
        let ((), sent, ()) = tokio::join!(sender.wait_empty(), sender.send(2), reading);
        sent.unwrap();
        drop(sender);
        assert!(!receiver.wait_filled().await);
    }

    #[tokio::test]
    async fn either_end_closes_it() {
        let (sender, mut receiver) = bounded_queue(1);
        let other = sender.clone();
        sender.try_send(1).unwrap();
        drop(sender);
        assert_eq!(receiver.recv().await, Some(1));
        assert!(receiver.recv().now_or_never().is_none(), "the other may still send");
        let ((), read) = tokio::join!(async { drop(other) }, receiver.recv());
        assert_eq!(read, None);

        let (sender, receiver) = bounded_queue(1);
        sender.try_send(1).unwrap();
        let (sent, ()) = tokio::join!(sender.send(2), async { drop(receiver) });
        assert_eq!(sent, Err(2));
        assert_eq!(sender.try_send(3), Err(QueueSendError::Closed(3)));
    }
}
