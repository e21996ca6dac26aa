//! A call under way in a worker, and what is heard of it.

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

/// What a call of a worker's hears. Held until the worker has answered, whoever still waits.
pub(crate) struct WorkerMailbox {
    pub(crate) events: queue::QueueSender<WorkerCallEvent>,
    pub(crate) done: oneshot::Sender<Result<Raw, RpcError>>,
    /// Since when nobody waits.
    pub(crate) abandoned: Option<Instant>,
    _slot: OwnedSemaphorePermit,
}

/// What a worker says of a call before it is over.
#[derive(Debug)]
pub(crate) enum WorkerCallEvent {
    Note { method: String, params: Raw },
    Ask { id: Id, method: String, params: Raw },
}

/// What comes next of a call.
#[derive(Debug)]
pub(crate) enum WorkerCallStep {
    Event(WorkerCallEvent),
    Done(Result<Raw, RpcError>),
    Gone(PluginFault),
}

/// A call under way. Dropped, it is cancelled.
pub(crate) struct WorkerCall {
    pub(crate) worker: Arc<Worker>,
    id: u64,
    events: queue::QueueReceiver<WorkerCallEvent>,
    done: oneshot::Receiver<Result<Raw, RpcError>>,
    /// Set once it is over.
    end: Option<WorkerCallEnd>,
}

/// How a call has ended.
enum WorkerCallEnd {
    Answered(Result<Raw, RpcError>),
    /// The worker is gone.
    Gone,
}

// === impl Call ===

impl WorkerCall {
    /// A call of `worker`'s, and where what is said of it goes.
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

    /// What comes next. What was said before the answer comes before it. Safe to cancel.
    pub(crate) async fn next(&mut self) -> WorkerCallStep {
        // A plugin that always has more to say must not keep the runtime's thread.
        consume_budget().await;
        if self.end.is_none() {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => return WorkerCallStep::Event(event),
                done = &mut self.done => self.end = Some(done.map_or(WorkerCallEnd::Gone, WorkerCallEnd::Answered)),
            }
        }
        // Whatever was said before the answer is there by now.
        if let Some(event) = self.events.try_recv() {
            return WorkerCallStep::Event(event);
        }
        match &self.end {
            Some(WorkerCallEnd::Answered(outcome)) => WorkerCallStep::Done(outcome.clone()),
            _ => WorkerCallStep::Gone(self.worker.end_fault()),
        }
    }

    /// Answers a question of the plugin's.
    pub(crate) async fn answer(&self, id: &Id, outcome: Result<Raw, RpcError>) {
        let response = match outcome {
            Ok(result) => Response::result(id, &result),
            Err(error) => Response::error(Some(id), &error),
        };
        // A worker that is gone has a reason, which comes next.
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
