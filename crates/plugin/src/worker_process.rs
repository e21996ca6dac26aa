//! A worker seen from the host.
//!
//! What it says is sorted into the mailboxes of its calls, and never waits for a call that does not read: notifications
//! are dropped for it then. Answers always have room.

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
    messages::{WrappedNotification, said},
    worker,
};

/// Calls at once of a plugin that is thread-safe.
const MAX_CALLS_AT_ONCE: usize = worker::MAX_THREADS;

/// A worker with its plugin loaded.
pub(crate) struct Worker {
    writer: LinkWriter,
    pub(crate) process: Process,
    calls: Mutex<HashMap<u64, WorkerMailbox>>,
    ids: AtomicU64,
    slots: Arc<Semaphore>,
    pub(crate) serial: bool,
    /// What a cancelled call costs.
    cancellation: CancellationEffect,
    /// Why it has ended.
    fault: OnceLock<PluginFault>,
    /// It has answered something.
    proven: AtomicBool,
    briefed: AtomicBool,
}

/// A notification that belongs to no call.
#[derive(Debug)]
pub(crate) struct WorkerNotification {
    pub(crate) seat: usize,
    pub(crate) method: String,
    pub(crate) params: Raw,
}

/// What a message of a worker was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// The answer to a call.
    Answer,
    /// Anything else.
    Unasked,
}

/// How many calls a plugin takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallConcurrency {
    One,
    Many,
}

/// What the cancellation of a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CancellationEffect {
    /// The plugin is told, and ends the call itself.
    TellsPlugin,
    /// The plugin cannot be told: its interface, the first version, has no way to.
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

    /// Begins a call. Only a plugin that answers one at a time lets it wait. `None`: it takes no more calls, and
    /// another worker has its place.
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: &Raw,
        patience: Duration,
    ) -> Result<Option<WorkerCall>, PluginFault> {
        let slot = if self.serial {
            match timeout(patience, self.slots.clone().acquire_owned()).await {
                Ok(slot) => slot.ok(),
                // Whoever has the slot has hung.
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
        // It may have ended in between, after it told those calls that it knew of.
        if self.fault.get().is_some() {
            drop(self.calls().remove(&id));
        }
        let request = Request::new(&Id::number(id), method, Some(params));
        self.send(request.text().clone()).await;
        Ok(Some(call))
    }

    /// Takes no more calls. Those that wait for their turn go elsewhere, those that have begun go on.
    pub(crate) fn retire(&self) {
        self.slots.close();
    }

    /// Says something. A worker that is gone has a reason, which whoever waits for a call of its is told.
    pub(crate) async fn send(&self, text: ByteString) {
        let _ = self.writer.send(text).await;
    }

    /// Tells the plugin something that has no answer. Whether there was room for it.
    fn notify_plugin(&self, method: &str, params: &Raw) -> bool {
        let note = Notification::new(method, Some(params));
        let told = self.writer.try_send(note.text().clone());
        told.inspect_err(|error| tracing::debug!(%error, "a worker was not told")).is_ok()
    }

    /// Tells it which resources somebody wants to hear of. Where there is no room for it, it is told later.
    pub(crate) fn send_subscriptions(&self, wanted: &BTreeSet<String>) {
        let uris = Raw::array(wanted.iter().map(|uri| Raw::string(uri)));
        let told = self.notify_plugin(said::WANTED, &Raw::object([("uris", uris)]));
        self.briefed.store(told, Ordering::Relaxed);
    }

    /// Whether it knows which resources somebody wants to hear of.
    pub(crate) fn knows_subscriptions(&self) -> bool {
        self.briefed.load(Ordering::Relaxed)
    }

    /// Whether a call would begin at once.
    pub(crate) fn is_free(&self) -> bool {
        self.fault.get().is_none() && self.slots.available_permits() > 0
    }

    /// Why it has ended, if it has.
    pub(crate) fn fault(&self) -> Option<&PluginFault> {
        self.fault.get()
    }

    pub(crate) fn end_fault(&self) -> PluginFault {
        self.fault.get().cloned().unwrap_or(PluginFault::Removed)
    }

    /// Whether it has answered anything.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    /// Ends it; its calls hear why. Returns the reason it ended for.
    pub(crate) fn end(&self, fault: PluginFault) -> PluginFault {
        let _ = self.fault.set(fault);
        self.slots.close();
        // Mailboxes that are dropped tell their calls.
        drop(std::mem::take(&mut *self.calls()));
        let process = self.process.clone();
        // Without a runtime, as when the program ends, the process stops once the last handle to it is dropped.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { process.stop().await });
        }
        self.end_fault()
    }

    /// The client waits for a call no more. The call keeps its slot until the plugin has ended it, or takes its worker
    /// along.
    pub(crate) fn abandon(&self, call: u64) {
        {
            let mut calls = self.calls();
            let Some(mailbox) = calls.get_mut(&call) else { return };
            mailbox.abandoned = Some(Instant::now());
            if self.cancellation == CancellationEffect::EndsWorker {
                // While the call still has the only slot: no other call can begin here and be lost.
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

    /// Whether a call that nobody waits for still goes on, this long after it was given up.
    pub(crate) fn is_stuck(&self, patience: Duration) -> bool {
        let is_old = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() > patience);
        self.calls().values().any(|mailbox| is_old(mailbox.abandoned))
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<u64, WorkerMailbox>> {
        self.calls.lock()
    }

    /// Sorts one message.
    pub(crate) fn route_message(
        &self,
        message: RpcMessage,
        seat: usize,
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
                    self.handle_notification(call, method, params, seat, news);
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
        seat: usize,
        news: &mpsc::Sender<WorkerNotification>,
    ) {
        let has_room = if call == 0 || is_broadcast(&method) {
            news.try_send(WorkerNotification { seat, method, params }).is_ok()
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
            let error = RpcError::new(code::INTERNAL_ERROR, "nobody is there to be asked");
            let _ = self.writer.try_send(Response::error(Some(&id), &error).text().clone());
        }
    }
}

/// What everybody hears, whose call it came with notwithstanding.
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
