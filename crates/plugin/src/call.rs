//! A running call in a worker: its events, its answer and its cancellation.
//!
//! Used by `server`, `tasks` and `worker_process`. It does not choose the worker (`slot`).

use std::sync::Arc;

use switchboard_wire::{
    envelope::{Id, Response, RpcError},
    json::Raw,
    queue::{self, bounded_queue},
};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    task::coop::consume_budget,
    time::Instant,
};

use crate::{fault::PluginFault, worker_process::Worker};

/// Notifications and questions that may wait for one call.
const MAX_WAITING_EVENTS: usize = 256;

/// The sending side of a call's events. Kept until the worker has answered, even if the client has stopped
/// waiting.
pub(crate) struct WorkerMailbox {
    pub(crate) events: queue::QueueSender<WorkerCallEvent>,
    pub(crate) done: oneshot::Sender<Result<Raw, RpcError>>,
    /// When the client stopped waiting.
    pub(crate) abandoned: Option<Instant>,
    _slot: OwnedSemaphorePermit,
}

/// A message of a worker about a running call.
#[derive(Debug)]
pub(crate) enum WorkerCallEvent {
    Note { method: String, params: Raw },
    Ask { id: Id, method: String, params: Raw },
}

/// The next event or the end of a call.
#[derive(Debug)]
pub(crate) enum WorkerCallStep {
    Event(WorkerCallEvent),
    Done(Result<Raw, RpcError>),
    Gone(PluginFault),
}

/// A running call. Dropping it cancels the call.
pub(crate) struct WorkerCall {
    pub(crate) worker: Arc<Worker>,
    id: u64,
    events: queue::QueueReceiver<WorkerCallEvent>,
    done: oneshot::Receiver<Result<Raw, RpcError>>,
    /// Set when the call has ended.
    end: Option<WorkerCallEnd>,
}

/// How a call has ended.
enum WorkerCallEnd {
    Answered(Result<Raw, RpcError>),
    /// The worker has ended.
    Gone,
}

// === impl WorkerCall ===

impl WorkerCall {
    /// Creates a call of `worker`, and the mailbox for its messages.
    pub(crate) fn new(
        worker: Arc<Worker>,
        id: u64,
        slot: OwnedSemaphorePermit,
    ) -> (Self, WorkerMailbox) {
        let (events, heard) = bounded_queue(MAX_WAITING_EVENTS);
        let (done, answer) = oneshot::channel();
        let call = Self { worker, id, events: heard, done: answer, end: None };
        (call, WorkerMailbox { events, done, abandoned: None, _slot: slot })
    }

    /// Returns the next event. Events that were sent before the answer come before it. Cancel-safe.
    pub(crate) async fn next(&mut self) -> WorkerCallStep {
        // A plugin that sends without pause must not block the runtime's thread.
        consume_budget().await;
        if self.end.is_none() {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => return WorkerCallStep::Event(event),
                done = &mut self.done => self.end = Some(done.map_or(WorkerCallEnd::Gone, WorkerCallEnd::Answered)),
            }
        }
        // All events that were sent before the answer are queued by now.
        if let Some(event) = self.events.try_recv() {
            return WorkerCallStep::Event(event);
        }
        match &self.end {
            Some(WorkerCallEnd::Answered(outcome)) => WorkerCallStep::Done(outcome.clone()),
            _ => WorkerCallStep::Gone(self.worker.end_fault()),
        }
    }

    /// Answers a question of the plugin.
    pub(crate) async fn answer(&self, id: &Id, outcome: Result<Raw, RpcError>) {
        let response = match outcome {
            Ok(result) => Response::result(id, &result),
            Err(error) => Response::error(Some(id), &error),
        };
        // If the worker has ended, `next` returns the cause.
        self.worker.send(response.text().clone()).await;
    }
}

impl Drop for WorkerCall {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.worker.abandon(self.id);
        }
    }
}
