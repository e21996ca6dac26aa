//! A bounded mailbox between the reader of a channel and one call, or the inbox.
//!
//! Used by `route` (puts mail in), `request_stream` and `inbox` (take it out). Mail that finds no room waits a
//! moment, which slows down a server that floods. The wait draws on a credit that the reader earns by reading: a
//! reader that keeps up loses no mail; a stalled reader costs the other readers one short pause. Without credit,
//! droppable mail (progress, logs) is dropped, mail that repeats waiting mail is merged, and other mail (a question)
//! is refused. The last mail, the answer, always has room, and comes out last. It does not decide which mailbox a
//! message goes to (`route`).

use std::{
    collections::VecDeque,
    future::poll_fn,
    task::{Context, Poll, Waker},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::Error;

/// The most pieces of mail that may wait.
pub(crate) const MAX_WAITING_MAIL: usize = 256;
/// How long a writer waits at most for a reader; also the credit of a new reader.
const MAX_WAIT_CREDIT: Duration = Duration::from_millis(100);
/// The credit for reading one piece: a reader of a thousand pieces per second is not slow.
const CREDIT_PER_READ: Duration = Duration::from_millis(1);

/// Mail, some of which may be lost.
pub(crate) trait Mail {
    /// Whether the mail may be lost, for example progress and logs.
    fn is_droppable(&self) -> bool;

    /// Whether this mail adds nothing to `waiting`, which is still unread.
    fn repeats(&self, waiting: &Self) -> bool;
}

/// A bounded queue that ends with one last item.
#[derive(Debug)]
pub(crate) struct Mailbox<T, L> {
    state: Mutex<MailboxState<T, L>>,
    taken: Notify,
}

#[derive(Debug)]
struct MailboxState<T, L> {
    queue: VecDeque<T>,
    last: LastMail<L>,
    /// The task that waits for mail.
    reader: Option<Waker>,
    /// The reader is parked; droppable mail is not kept.
    idle: bool,
    /// How long a writer may still wait for the reader.
    credit: Duration,
    dropped: u64,
}

#[derive(Debug)]
enum LastMail<L> {
    Awaited,
    Delivered(L),
    Consumed,
}

/// An item taken from a mailbox.
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

    /// Puts mail in, waiting for room. Returns the mail if there is no room and it must not be lost.
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

    /// Puts mail in if there is room at once.
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

    /// Puts the last item in; later mail is ignored.
    pub(crate) fn finish(&self, last: L) {
        let mut state = self.lock();
        if matches!(state.last, LastMail::Awaited) {
            state.last = LastMail::Delivered(last);
        }
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        self.taken.notify_one();
    }

    /// Whether the last item is in.
    pub(crate) fn is_finished(&self) -> bool {
        !matches!(self.lock().last, LastMail::Awaited)
    }

    /// Drops waiting droppable mail, and keeps none until the next `take`.
    pub(crate) fn park(&self) {
        let mut state = self.lock();
        state.idle = true;
        state.queue.retain(|mail| !mail.is_droppable());
    }

    /// Takes the next item out; `None` after the last. Cancel-safe. Only one task may take at a time.
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
        match std::mem::replace(&mut state.last, LastMail::Consumed) {
            LastMail::Delivered(last) => Poll::Ready(Some(MailboxItem::Last(last))),
            LastMail::Consumed => Poll::Ready(None),
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
        // A panic elsewhere leaves the queue consistent.
        self.state.lock()
    }
}

// === impl MailboxState ===

impl<T, L> MailboxState<T, L> {
    /// Registers the reader's waker. Returns the previous waker, to be dropped after the lock is released.
    fn wait(&mut self, cx: &Context<'_>) -> Option<Waker> {
        let is_known = self.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker()));
        if is_known { None } else { self.reader.replace(cx.waker().clone()) }
    }
}

/// The last item of a call's mailbox.
pub(crate) type CallResult = Result<crate::envelope::Response, Error>;
