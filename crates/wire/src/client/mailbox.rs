//! Where a reader leaves what belongs to one call, or to nobody.
//!
//! A mailbox is bounded. Mail that finds no room waits a moment, which slows a server that floods.
//! How long it may wait is a credit that time spent waiting uses up and that the reader earns by
//! reading: one that keeps up is waited for and loses nothing; one that is stalled, or slow, costs
//! the others one short pause and little after. Without credit what is droppable (progress, logs)
//! is dropped, what waits already in the same words need not wait twice, and the rest (a question)
//! is refused. The last piece of mail, the answer, always has room, and comes out after everything
//! put in before it.

use std::{
    collections::VecDeque,
    future::poll_fn,
    task::{Context, Poll, Waker},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::Error;

/// Pieces of mail that may wait.
pub(crate) const MAX_WAITING_MAIL: usize = 256;
/// How long a reader may be waited for that has earned nothing yet, and at most.
const MAX_WAIT_CREDIT: Duration = Duration::from_millis(100);
/// What reading one piece earns: whoever reads a thousand in a second is not slow.
const CREDIT_PER_READ: Duration = Duration::from_millis(1);

/// Mail of which some can be lost.
pub(crate) trait Mail {
    /// Whether losing it hurts nobody but the curious.
    fn is_droppable(&self) -> bool;

    /// Whether it says no more than `waiting`, which has not been read yet.
    fn repeats(&self, waiting: &Self) -> bool;
}

/// A bounded queue with one last word.
#[derive(Debug)]
pub(crate) struct Mailbox<T, L> {
    state: Mutex<MailboxState<T, L>>,
    taken: Notify,
}

#[derive(Debug)]
struct MailboxState<T, L> {
    queue: VecDeque<T>,
    last: LastMail<L>,
    /// Who waits for mail.
    reader: Option<Waker>,
    /// Nobody reads just now; droppable mail is not worth keeping.
    idle: bool,
    /// How long the reader may still be waited for.
    credit: Duration,
    dropped: u64,
}

#[derive(Debug)]
enum LastMail<L> {
    Awaited,
    Here(L),
    Taken,
}

/// What comes out of a mailbox.
#[derive(Debug)]
pub(crate) enum MailboxItem<T, L> {
    Mail(T),
    Last(L),
}

// === impl Mailbox ===

impl<T: Mail, L> Mailbox<T, L> {
    pub(crate) fn new() -> Self {
        let state = MailboxState {
            queue: VecDeque::new(),
            last: LastMail::Awaited,
            reader: None,
            idle: false,
            credit: MAX_WAIT_CREDIT,
            dropped: 0,
        };
        Self { state: Mutex::new(state), taken: Notify::new() }
    }

    /// Puts mail in. Gives it back if it must not be lost and there is no room.
    pub(crate) async fn put(&self, mail: T) -> Result<(), T> {
        let Err(mut mail) = self.try_put(mail) else {
            return Ok(());
        };
        loop {
            let room = self.taken.notified();
            mail = match self.try_put(mail) {
                Ok(()) => return Ok(()),
                Err(mail) => mail,
            };
            let credit = self.lock().credit;
            let began = Instant::now();
            let waited = tokio::time::timeout(credit, room).await;
            self.spend(began.elapsed());
            if waited.is_err() {
                return self.overflow(mail);
            }
        }
    }

    fn spend(&self, waited: Duration) {
        let mut state = self.lock();
        state.credit = state.credit.saturating_sub(waited);
    }

    /// Puts mail in if there is room.
    pub(crate) fn try_put(&self, mail: T) -> Result<(), T> {
        let mut state = self.lock();
        if !matches!(state.last, LastMail::Awaited) || (state.idle && mail.is_droppable()) {
            state.dropped += 1;
            return Ok(());
        }
        if state.queue.len() >= MAX_WAITING_MAIL {
            let said = state.queue.iter().any(|waiting| mail.repeats(waiting));
            return if said { Ok(()) } else { Err(mail) };
        }
        state.queue.push_back(mail);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
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
        if matches!(state.last, LastMail::Awaited) {
            state.last = LastMail::Here(last);
        }
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        self.taken.notify_one();
    }

    /// Whether the last word is in.
    pub(crate) fn is_finished(&self) -> bool {
        !matches!(self.lock().last, LastMail::Awaited)
    }

    /// Stops keeping droppable mail until something is taken, and forgets what waits of it.
    pub(crate) fn park(&self) {
        let mut state = self.lock();
        state.idle = true;
        state.queue.retain(|mail| !mail.is_droppable());
    }

    /// Takes the next piece out; `None` after the last. Safe to cancel. One takes at a time.
    pub(crate) async fn take(&self) -> Option<MailboxItem<T, L>> {
        poll_fn(|cx| self.poll_take(cx)).await
    }

    fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<MailboxItem<T, L>>> {
        let mut state = self.lock();
        state.idle = false;
        if let Some(mail) = state.queue.pop_front() {
            state.credit = (state.credit + CREDIT_PER_READ).min(MAX_WAIT_CREDIT);
            drop(state);
            self.taken.notify_one();
            return Poll::Ready(Some(MailboxItem::Mail(mail)));
        }
        match std::mem::replace(&mut state.last, LastMail::Taken) {
            LastMail::Here(last) => Poll::Ready(Some(MailboxItem::Last(last))),
            LastMail::Taken => Poll::Ready(None),
            LastMail::Awaited => {
                state.last = LastMail::Awaited;
                let before = state.wait(cx);
                drop(state);
                drop(before);
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, MailboxState<T, L>> {
        // A panic elsewhere leaves a queue that is still a queue.
        self.state.lock()
    }
}

// === impl State ===

impl<T, L> MailboxState<T, L> {
    /// Has the reader woken. What comes back is whom it was before, to be dropped when the lock is not held.
    fn wait(&mut self, cx: &Context<'_>) -> Option<Waker> {
        let is_known = self.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker()));
        if is_known { None } else { self.reader.replace(cx.waker().clone()) }
    }
}

/// The last word of a call.
pub(crate) type CallResult = Result<crate::envelope::Response, Error>;
