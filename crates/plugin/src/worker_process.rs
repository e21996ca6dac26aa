//! A worker process as the host sees it: its calls, its cancellation and its end.
//!
//! Used by `slot` and `call`; started in `launch`. Messages are routed to the mailboxes of their calls and
//! never wait for a call that does not read: notifications are dropped then. Answers always have room.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytestring::ByteString;
use parking_lot::{Mutex, MutexGuard};
use switchboard_process::Process;
use switchboard_wire::{
    envelope::{Id, Notification, Request, Response, ResponseOutcome, RpcError, RpcMessage, code},
    json::Raw,
    link::LinkWriter,
    meta::method,
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, TryAcquireError, mpsc},
    time::{Instant, timeout},
};

use crate::{
    call::{WorkerCall, WorkerCallEvent, WorkerMailbox},
    fault::PluginFault,
    messages::{WrappedNotification, worker_method},
    worker,
};

/// Concurrent calls of a thread-safe plugin.
const MAX_CALLS_AT_ONCE: usize = worker::MAX_THREADS;

/// A worker process with its plugin loaded.
pub(crate) struct Worker {
    writer: LinkWriter,
    pub(crate) process: Process,
    calls: Mutex<HashMap<u64, WorkerMailbox>>,
    ids: AtomicU64,
    slots: Arc<Semaphore>,
    pub(crate) serial: bool,
    /// The effect of cancelling a call.
    cancellation: CancellationEffect,
    /// Why the worker has ended.
    fault: OnceLock<PluginFault>,
    /// Whether the worker has answered any call.
    proven: AtomicBool,
    briefed: AtomicBool,
}

/// A notification that belongs to no call.
#[derive(Debug)]
pub(crate) struct WorkerNotification {
    pub(crate) slot_index: usize,
    pub(crate) method: String,
    pub(crate) params: Raw,
}

/// The kind of a worker's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// The answer to a call.
    Answer,
    /// A notification, a question, or an answer without a call.
    Unasked,
}

/// How many calls a plugin takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallConcurrency {
    One,
    Many,
}

/// The effect of cancelling a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CancellationEffect {
    /// The plugin is told, and ends the call itself.
    TellsPlugin,
    /// The worker ends: interface version 1 has no way to tell the plugin.
    EndsWorker,
}

// === impl Worker ===

impl Worker {
    pub(crate) fn new(
        writer: LinkWriter,
        process: Process,
        calls: CallConcurrency,
        cancellation: CancellationEffect,
    ) -> Self {
        let slots = if calls == CallConcurrency::Many { MAX_CALLS_AT_ONCE } else { 1 };
        Self {
            writer,
            process,
            calls: Mutex::default(),
            ids: AtomicU64::new(1),
            slots: Arc::new(Semaphore::new(slots)),
            serial: calls == CallConcurrency::One,
            cancellation,
            fault: OnceLock::new(),
            proven: AtomicBool::new(false),
            briefed: AtomicBool::new(true),
        }
    }

    /// Starts a call. On a serial worker it waits for its turn. `None` if this worker has been retired and
    /// another has replaced it.
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: &Raw,
        patience: Duration,
    ) -> Result<Option<WorkerCall>, PluginFault> {
        let slot = if self.serial {
            match timeout(patience, self.slots.clone().acquire_owned()).await {
                Ok(slot) => slot.ok(),
                // The call in the slot has hung.
                Err(_) => return Err(self.end(PluginFault::Hung(patience))),
            }
        } else {
            match self.slots.clone().try_acquire_owned() {
                Err(TryAcquireError::NoPermits) => return Err(PluginFault::Busy),
                slot => slot.ok(),
            }
        };
        let Some(slot) = slot else {
            let fault = self.fault.get().filter(|fault| fault.is_of_plugin());
            return fault.map_or(Ok(None), |fault| Err(fault.clone()));
        };
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (call, mailbox) = WorkerCall::new(self.clone(), id, slot);
        self.calls().insert(id, mailbox);
        // The worker may have ended in between, after dropping the mailboxes that it had.
        if self.fault.get().is_some() {
            drop(self.calls().remove(&id));
        }
        let request = Request::new(&Id::number(id), method, Some(params));
        self.send(request.text().clone()).await;
        Ok(Some(call))
    }

    /// Takes no more calls. Waiting calls move to another worker; running calls continue.
    pub(crate) fn retire(&self) {
        self.slots.close();
    }

    /// Sends a message. If the worker has ended, the waiting calls get its fault.
    pub(crate) async fn send(&self, text: ByteString) {
        let _ = self.writer.send(text).await;
    }

    /// Sends a notification to the plugin. Returns whether the queue had room.
    fn notify_plugin(&self, method: &str, params: &Raw) -> bool {
        let note = Notification::new(method, Some(params));
        let told = self.writer.try_send(note.text().clone());
        told.inspect_err(|error| tracing::debug!(%error, "a worker was not told")).is_ok()
    }

    /// Sends the subscribed resources. If the queue is full, they are sent again later.
    pub(crate) fn send_subscriptions(&self, wanted: &BTreeSet<String>) {
        let uris = Raw::array(wanted.iter().map(|uri| Raw::string(uri)));
        let told = self.notify_plugin(worker_method::SUBSCRIBED, &Raw::object([("uris", uris)]));
        self.briefed.store(told, Ordering::Relaxed);
    }

    /// Whether the last list of subscriptions was sent.
    pub(crate) fn knows_subscriptions(&self) -> bool {
        self.briefed.load(Ordering::Relaxed)
    }

    /// Whether a call could start at once.
    pub(crate) fn is_free(&self) -> bool {
        self.fault.get().is_none() && self.slots.available_permits() > 0
    }

    /// The fault that ended the worker.
    pub(crate) fn fault(&self) -> Option<&PluginFault> {
        self.fault.get()
    }

    pub(crate) fn end_fault(&self) -> PluginFault {
        self.fault.get().cloned().unwrap_or(PluginFault::Removed)
    }

    /// Whether the worker has answered any call.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    /// Ends the worker and its calls with `fault`. Returns the fault that was set first.
    pub(crate) fn end(&self, fault: PluginFault) -> PluginFault {
        let _ = self.fault.set(fault);
        self.slots.close();
        // Dropping a mailbox ends its call.
        drop(std::mem::take(&mut *self.calls()));
        let process = self.process.clone();
        // Without a runtime, at program exit, the process is stopped when its last handle is dropped.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { process.stop().await });
        }
        self.end_fault()
    }

    /// Abandons a call whose client has stopped waiting. The call keeps its permit until the plugin ends it
    /// or the worker ends.
    pub(crate) fn abandon(&self, call: u64) {
        {
            let mut calls = self.calls();
            let Some(mailbox) = calls.get_mut(&call) else { return };
            mailbox.abandoned = Some(Instant::now());
            if self.cancellation == CancellationEffect::EndsWorker {
                // Set while the call holds the only permit, so that no other call can start here and be lost.
                let _ = self.fault.set(PluginFault::Cancelled);
                self.slots.close();
            }
        }
        if self.cancellation == CancellationEffect::EndsWorker {
            self.end(PluginFault::Cancelled);
        } else {
            self.notify_plugin(method::CANCELLED, &Raw::object([("requestId", Raw::from(call))]));
        }
    }

    /// Whether an abandoned call still runs after `patience`.
    pub(crate) fn is_stuck(&self, patience: Duration) -> bool {
        let is_old = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() > patience);
        self.calls().values().any(|mailbox| is_old(mailbox.abandoned))
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<u64, WorkerMailbox>> {
        self.calls.lock()
    }

    /// Routes one message.
    pub(crate) fn route_message(
        &self,
        message: RpcMessage,
        slot_index: usize,
        news: &mpsc::Sender<WorkerNotification>,
    ) -> MessageKind {
        match message {
            RpcMessage::Response(response) => {
                let id = response.id().and_then(|id| id.as_u64()).unwrap_or_default();
                let mailbox = self.calls().remove(&id);
                if let Some(mailbox) = mailbox {
                    self.proven.store(true, Ordering::Relaxed);
                    let outcome = match response.outcome() {
                        ResponseOutcome::Result(result) => Ok(result),
                        ResponseOutcome::Error(error) => Err(error),
                    };
                    let _ = mailbox.done.send(outcome);
                    return MessageKind::Answer;
                }
            }
            RpcMessage::Request(request) => self.handle_question(&request),
            RpcMessage::Notification(note) => {
                if let Some((call, method, params)) = unwrap_call(note.params().as_ref()) {
                    self.handle_notification(call, method, params, slot_index, news);
                }
            }
        }
        MessageKind::Unasked
    }

    fn handle_notification(
        &self,
        call: u64,
        method: String,
        params: Raw,
        slot_index: usize,
        news: &mpsc::Sender<WorkerNotification>,
    ) {
        let has_room = if call == 0 || is_broadcast(&method) {
            news.try_send(WorkerNotification { slot_index, method, params }).is_ok()
        } else {
            let calls = self.calls();
            let mailbox = calls.get(&call).map(|mailbox| &mailbox.events);
            mailbox.is_some_and(|events| {
                events.try_send(WorkerCallEvent::Note { method, params }).is_ok()
            })
        };
        if !has_room {
            tracing::debug!("a notification of a plugin was dropped");
        }
    }

    fn handle_question(&self, request: &Request) {
        let id = request.id();
        let asked = unwrap_call(request.params().as_ref()).is_some_and(|(call, method, params)| {
            let event = WorkerCallEvent::Ask { id: id.clone(), method, params };
            let calls = self.calls();
            calls.get(&call).is_some_and(|mailbox| mailbox.events.try_send(event).is_ok())
        });
        if !asked {
            let error = RpcError::new(code::INTERNAL_ERROR, "there is no client to ask");
            let _ = self.writer.try_send(Response::error(Some(&id), &error).text().clone());
        }
    }
}

/// Whether a notification goes to all clients, even if it came with a call.
fn is_broadcast(note: &str) -> bool {
    matches!(
        note,
        method::TOOLS_CHANGED
            | method::PROMPTS_CHANGED
            | method::RESOURCES_CHANGED
            | method::RESOURCE_UPDATED
    )
}

fn unwrap_call(params: Option<&Raw>) -> Option<(u64, String, Raw)> {
    let WrappedNotification { call, method, params } = params?.decode().ok()?;
    Some((call, method, Raw::parse(params.get().to_owned()).ok()?))
}
