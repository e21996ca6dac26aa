//! Where a reader leaves what belongs to one call, or to nobody.
//!
//! A mailbox is bounded. What is droppable (progress, logs) waits a moment for room, which slows a
//! server that floods; after that its reader is taken for stalled and droppable mail is dropped
//! until it reads again, so that one slow reader costs the others one short pause and no more.
//! What is not droppable (a question) is refused when too much of it waits. The last piece of
//! mail, the answer, always has room, and comes out after everything put in before it.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use tokio::sync::Notify;

use crate::Error;

/// Pieces of mail that may wait.
pub(crate) const CAPACITY: usize = 256;
/// How long droppable mail waits for a reader that is there.
const PATIENCE: Duration = Duration::from_millis(100);

/// Mail of which some can be lost.
pub(crate) trait Mail {
    /// Whether losing it hurts nobody but the curious.
    fn is_droppable(&self) -> bool;
}

/// A bounded queue with one last word.
#[derive(Debug)]
pub(crate) struct Mailbox<T, L> {
    state: Mutex<State<T, L>>,
    arrived: Notify,
    taken: Notify,
}

#[derive(Debug)]
struct State<T, L> {
    queue: VecDeque<T>,
    last: Last<L>,
    /// Nobody reads just now; droppable mail is not worth keeping.
    idle: bool,
    dropped: u64,
}

#[derive(Debug)]
enum Last<L> {
    Awaited,
    Here(L),
    Taken,
}

/// What comes out of a mailbox.
#[derive(Debug)]
pub(crate) enum Taken<T, L> {
    Mail(T),
    Last(L),
}

// === impl Mailbox ===

impl<T: Mail, L> Mailbox<T, L> {
    pub(crate) fn new() -> Self {
        let state = State {
            queue: VecDeque::new(),
            last: Last::Awaited,
            idle: false,
            dropped: 0,
        };
        Self {
            state: Mutex::new(state),
            arrived: Notify::new(),
            taken: Notify::new(),
        }
    }

    /// Puts mail in. Gives it back if it must not be lost and there is no room.
    pub(crate) async fn put(&self, mail: T) -> Result<(), T> {
        let Err(mut mail) = self.try_put(mail) else {
            return Ok(());
        };
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let room = self.taken.notified();
            mail = match self.try_put(mail) {
                Ok(()) => return Ok(()),
                Err(mail) => mail,
            };
            if self.lock().idle || tokio::time::timeout_at(deadline, room).await.is_err() {
                return self.overflow(mail);
            }
        }
    }

    /// Puts mail in if there is room.
    pub(crate) fn try_put(&self, mail: T) -> Result<(), T> {
        let mut state = self.lock();
        if !matches!(state.last, Last::Awaited) || (state.idle && mail.is_droppable()) {
            state.dropped += 1;
            return Ok(());
        }
        if state.queue.len() >= CAPACITY {
            return Err(mail);
        }
        state.queue.push_back(mail);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    fn overflow(&self, mail: T) -> Result<(), T> {
        let mut state = self.lock();
        if !mail.is_droppable() {
            return Err(mail);
        }
        state.idle = true;
        state.dropped += 1;
        Ok(())
    }

    /// Puts the last word in; nothing comes after it.
    pub(crate) fn finish(&self, last: L) {
        let mut state = self.lock();
        if matches!(state.last, Last::Awaited) {
            state.last = Last::Here(last);
        }
        drop(state);
        self.arrived.notify_one();
        self.taken.notify_one();
    }

    /// Whether the last word is in.
    pub(crate) fn is_finished(&self) -> bool {
        !matches!(self.lock().last, Last::Awaited)
    }

    /// Stops keeping droppable mail until something is taken, and forgets what waits of it.
    pub(crate) fn park(&self) {
        let mut state = self.lock();
        state.idle = true;
        state.queue.retain(|mail| !mail.is_droppable());
    }

    /// Takes the next piece out; `None` after the last. Safe to cancel.
    pub(crate) async fn take(&self) -> Option<Taken<T, L>> {
        loop {
            let arrived = self.arrived.notified();
            match self.try_take() {
                Poll::Ready(taken) => return taken,
                Poll::Pending => arrived.await,
            }
        }
    }

    fn try_take(&self) -> Poll<Option<Taken<T, L>>> {
        let mut state = self.lock();
        state.idle = false;
        if let Some(mail) = state.queue.pop_front() {
            drop(state);
            self.taken.notify_one();
            return Poll::Ready(Some(Taken::Mail(mail)));
        }
        match std::mem::replace(&mut state.last, Last::Taken) {
            Last::Here(last) => Poll::Ready(Some(Taken::Last(last))),
            Last::Taken => Poll::Ready(None),
            Last::Awaited => {
                state.last = Last::Awaited;
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<T, L>> {
        // A panic elsewhere leaves a queue that is still a queue.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

use std::task::Poll;

/// The last word of a call.
pub(crate) type Verdict = Result<crate::envelope::Response, Error>;
