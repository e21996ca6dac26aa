//! One call, as its caller sees it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use switchboard_wire::{envelope::Notification, json::Raw, queue};

use super::{CallError, CallFinish, CallOutcome, InputRequired, PendingQuestion, StartedTask};

/// What happens to a call.
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
    /// Somebody has to decide something; the call waits.
    Question(PendingQuestion),
    /// It is to be made again, with answers. Nothing comes after it. Only where [`super::Request::returning_questions`] asks for
    /// it.
    Handed(Box<InputRequired>),
    /// The server made a task of it, which is the caller's to follow. Nothing comes after it. Only where
    /// [`super::Request::with_tasks`] asks for it.
    Tasked(Box<StartedTask>),
    /// How it ended. Nothing comes after it.
    Done(Box<CallOutcome>),
}

/// A call under way. It makes progress only while [`RunningCall::next`] is polled; dropped before it is done, it is
/// cancelled at the server.
pub struct RunningCall {
    driver: Option<CallFuture>,
    events: queue::QueueReceiver<CallEvent>,
    ended: Option<Result<CallFinish, CallError>>,
}

/// Events that may wait for a caller that is busy with another.
const EVENT_QUEUE_CAPACITY: usize = 16;

/// Large, so it is put where it stays as soon as there is one.
pub(super) type CallFuture = Pin<Box<dyn Future<Output = Result<CallFinish, CallError>> + Send>>;

/// Where a call says what happens to it.
#[derive(Debug, Clone)]
pub struct CallEventSender(queue::QueueSender<CallEvent>);

// === impl CallEventSender ===

impl CallEventSender {
    pub(super) fn sender(&self) -> queue::QueueSender<CallEvent> {
        self.0.clone()
    }

    /// Something happens; waits while the caller is busy with what came before.
    pub async fn send(&self, event: CallEvent) {
        // The receiver lives as long as the driver is polled.
        let _ = self.0.send(event).await;
    }
}

// === impl RunningCall ===

impl RunningCall {
    /// A call that `drive` carries out, in this process or through another.
    pub fn new<F>(drive: impl FnOnce(CallEventSender) -> F) -> Self
    where
        F: Future<Output = Result<CallOutcome, CallError>> + Send + 'static,
    {
        Self::with_finish(|emit| {
            let driving = drive(emit);
            Box::pin(async { driving.await.map(CallFinish::done) })
        })
    }

    /// The same of a call that may be handed out.
    pub(super) fn with_finish(drive: impl FnOnce(CallEventSender) -> CallFuture) -> Self {
        let (emit, events) = queue::bounded_queue(EVENT_QUEUE_CAPACITY);
        Self { driver: Some(drive(CallEventSender(emit))), events, ended: None }
    }

    /// What happens next. Safe to cancel. An error is final.
    pub async fn next(&mut self) -> Result<CallEvent, CallError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<CallEvent, CallError>> {
        // Looked at before the driver is polled and waited for after it: the driver need not wake whom it is polled by.
        if let Some(event) = self.events.try_recv() {
            return Poll::Ready(Ok(event));
        }
        if let Some(driver) = &mut self.driver
            && let Poll::Ready(ended) = driver.as_mut().poll(cx)
        {
            self.ended = Some(ended);
            self.driver = None;
        }
        // What was said before the end comes first.
        match ready!(self.events.poll_recv(cx)) {
            Some(event) => Poll::Ready(Ok(event)),
            None if self.driver.is_some() => Poll::Pending,
            None => Poll::Ready(match self.ended.take() {
                Some(ended) => ended.map(CallEvent::from),
                None => Err(CallError::Ended),
            }),
        }
    }

    /// How it ended. Questions on the way are cancelled, everything else is ignored.
    pub async fn outcome(mut self) -> Result<CallOutcome, CallError> {
        loop {
            match self.next().await? {
                CallEvent::Done(outcome) => return Ok(*outcome),
                CallEvent::Handed(handed) => return CallFinish::Handed(handed).outcome(),
                CallEvent::Tasked(tasked) => return CallFinish::Tasked(tasked).outcome(),
                _ => {}
            }
        }
    }
}

impl From<CallFinish> for CallEvent {
    fn from(finish: CallFinish) -> Self {
        match finish {
            CallFinish::Done(outcome) => Self::Done(outcome),
            CallFinish::Handed(handed) => Self::Handed(handed),
            CallFinish::Tasked(tasked) => Self::Tasked(tasked),
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
        CallOutcome { result, server: None, decision: None, context: Vec::new(), kept: None }
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
