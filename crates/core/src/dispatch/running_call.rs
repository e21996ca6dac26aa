//! A running call, as its caller sees it: a stream of events that ends with the outcome.
//!
//! Used by the commands, the gateway, agent loops and the hub's admin interface. The work is done by
//! `dispatch::tool` and its neighbours.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use switchboard_wire::{envelope::Notification, json::Raw, queue};

use super::{CallError, CallFinish, CallOutcome, InputRequired, PendingQuestion, StartedTask};

/// An event of a call.
#[derive(Debug)]
pub enum CallEvent {
    /// The parameters of a progress notification.
    Progress(Raw),
    /// The parameters of a log message.
    Log(Raw),
    /// Another notification of the server that belongs to the call.
    Notification(Notification),
    /// The state of the task that the server made of the call.
    Task(Raw),
    /// A question; the call waits for its answer.
    Question(PendingQuestion),
    /// The call is to be made again, with answers. The last event. Only with
    /// [`super::Request::hand_out_questions`].
    NeedsInput(Box<InputRequired>),
    /// The server made a task of the call, which the caller follows. The last event. Only with
    /// [`super::Request::with_tasks`].
    BecameTask(Box<StartedTask>),
    /// The outcome. The last event.
    Done(Box<CallOutcome>),
}

/// A running call. It makes progress only while [`RunningCall::next`] is polled; dropped before it is done, it is
/// cancelled at the server.
pub struct RunningCall {
    driver: Option<CallFuture>,
    events: queue::QueueReceiver<CallEvent>,
    ended: Option<Result<CallFinish, CallError>>,
}

/// How many events may wait for a caller.
const EVENT_QUEUE_CAPACITY: usize = 16;

/// Boxed once: a call's future is several KB.
pub(super) type CallFuture = Pin<Box<dyn Future<Output = Result<CallFinish, CallError>> + Send>>;

/// Sends the events of a call to its caller.
#[derive(Debug, Clone)]
pub struct CallEventSender(queue::QueueSender<CallEvent>);

// === impl CallEventSender ===

impl CallEventSender {
    pub(super) fn sender(&self) -> queue::QueueSender<CallEvent> {
        self.0.clone()
    }

    /// Sends an event; waits while the queue is full.
    pub async fn send(&self, event: CallEvent) {
        // The receiver lives as long as the driver is polled.
        let _ = self.0.send(event).await;
    }
}

// === impl RunningCall ===

impl RunningCall {
    /// Makes a call that `drive` carries out, in this process or through another.
    pub fn new<F>(drive: impl FnOnce(CallEventSender) -> F) -> Self
    where
        F: Future<Output = Result<CallOutcome, CallError>> + Send + 'static,
    {
        Self::with_finish(|emit| {
            let driving = drive(emit);
            Box::pin(async { driving.await.map(CallFinish::done) })
        })
    }

    /// Like [`Self::new`], for a call that may be handed to its caller.
    pub(super) fn with_finish(drive: impl FnOnce(CallEventSender) -> CallFuture) -> Self {
        let (emit, events) = queue::bounded_queue(EVENT_QUEUE_CAPACITY);
        Self { driver: Some(drive(CallEventSender(emit))), events, ended: None }
    }

    /// Waits for the next event. Cancel-safe. An error is final.
    pub async fn next(&mut self) -> Result<CallEvent, CallError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<CallEvent, CallError>> {
        // The queue is read before the driver is polled and registered with after it: the driver need not wake the
        // task that polls it.
        if let Some(event) = self.events.try_recv() {
            return Poll::Ready(Ok(event));
        }
        if let Some(driver) = &mut self.driver
            && let Poll::Ready(ended) = driver.as_mut().poll(cx)
        {
            self.ended = Some(ended);
            self.driver = None;
        }
        // Events from before the end come first.
        match ready!(self.events.poll_recv(cx)) {
            Some(event) => Poll::Ready(Ok(event)),
            None if self.driver.is_some() => Poll::Pending,
            None => Poll::Ready(match self.ended.take() {
                Some(ended) => ended.map(CallEvent::from),
                None => Err(CallError::Ended),
            }),
        }
    }

    /// Waits for the outcome. Cancels questions, and ignores all other events.
    pub async fn outcome(mut self) -> Result<CallOutcome, CallError> {
        loop {
            match self.next().await? {
                CallEvent::Done(outcome) => return Ok(*outcome),
                CallEvent::NeedsInput(handed) => return CallFinish::NeedsInput(handed).outcome(),
                CallEvent::BecameTask(tasked) => return CallFinish::Task(tasked).outcome(),
                _ => {}
            }
        }
    }
}

impl From<CallFinish> for CallEvent {
    fn from(finish: CallFinish) -> Self {
        match finish {
            CallFinish::Done(outcome) => Self::Done(outcome),
            CallFinish::NeedsInput(handed) => Self::NeedsInput(handed),
            CallFinish::Task(tasked) => Self::BecameTask(tasked),
        }
    }
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("ended", &self.ended.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn outcome() -> CallOutcome {
        let result = Raw::empty_object();
        CallOutcome { result, server: None, decision: None, context: Vec::new(), limited: None }
    }

    #[test]
    fn whoever_polls_a_call_is_woken_once_for_its_end() {
        let (end, ended) = oneshot::channel();
        let mut running = RunningCall::new(|emit| async move {
            let _ = ended.await;
            emit.send(CallEvent::Log(Raw::null())).await;
            Ok(outcome())
        });
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let mut cx = Context::from_waker(&waker);
        assert!(running.poll_next(&mut cx).is_pending());
        end.send(()).unwrap();
        assert!(matches!(running.poll_next(&mut cx), Poll::Ready(Ok(CallEvent::Log(_)))));
        assert!(matches!(running.poll_next(&mut cx), Poll::Ready(Ok(CallEvent::Done(_)))));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "by the end itself, not by what it led to");
    }

    #[tokio::test]
    async fn a_call_that_has_nothing_more_to_say_goes_on() {
        let (end, ended) = oneshot::channel::<()>();
        let mut running = RunningCall::new(|emit| {
            drop(emit);
            async {
                let _ = ended.await;
                Ok(outcome())
            }
        });
        let ending = async {
            tokio::task::yield_now().await;
            end.send(()).unwrap();
        };
        let (event, ()) = tokio::join!(running.next(), ending);
        assert!(matches!(event, Ok(CallEvent::Done(_))), "{event:?}");
        assert!(matches!(running.next().await, Err(CallError::Ended)));
    }
}
