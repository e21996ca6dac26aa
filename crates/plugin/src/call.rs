//! A worker seen from the host, and the calls that are under way in it.
//!
//! One task reads what the worker says and sorts it into the calls' mailboxes. It never waits for a call that does not
//! read: notifications are dropped for it then. Answers always have room.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use switchboard_wire::{
    envelope::{Id, Message, Notification, Outcome, Parsed, Request, Response, RpcError},
    json::Raw,
    link::{LinkReader, LinkWriter, lines},
    meta::method,
    process::{self, Command, Process, StderrOptions},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot},
    time::{Instant, timeout},
};

use crate::{
    fault::Fault,
    options::Options,
    told::{Failed, Noted, Ready, said},
    worker::{self, Order},
};

/// Notifications and questions that may wait for one call.
const MAILBOX: usize = 256;
/// The largest message of a plugin.
const LARGEST: usize = 64 << 20;
/// How long the end of a worker may take to be told once its channel has closed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Calls at once of a plugin that is thread-safe.
pub(crate) const AT_ONCE: usize = worker::MOST_AT_ONCE;

/// A worker with its plugin loaded.
pub(crate) struct Worker {
    writer: LinkWriter,
    process: Process,
    calls: Mutex<HashMap<u64, Mailbox>>,
    ids: AtomicU64,
    slots: Arc<Semaphore>,
    pub(crate) serial: bool,
    /// Why it has ended.
    fault: OnceLock<Fault>,
    /// It has answered something.
    proven: AtomicBool,
}

/// What a call of a worker's hears. Held until the worker has answered, whoever still waits.
struct Mailbox {
    events: mpsc::Sender<Event>,
    done: oneshot::Sender<Result<Raw, RpcError>>,
    /// Since when nobody waits.
    abandoned: Option<Instant>,
    _slot: OwnedSemaphorePermit,
}

/// What a worker says of a call before it is over.
#[derive(Debug)]
pub(crate) enum Event {
    Note { method: String, params: Raw },
    Ask { id: Id, method: String, params: Raw },
}

/// What comes next of a call.
#[derive(Debug)]
pub(crate) enum Next {
    Event(Event),
    Done(Result<Raw, RpcError>),
    Gone(Fault),
}

/// A call under way. Dropped, it is cancelled.
pub(crate) struct Call {
    pub(crate) worker: Arc<Worker>,
    id: u64,
    events: mpsc::Receiver<Event>,
    done: oneshot::Receiver<Result<Raw, RpcError>>,
    /// Set once it is over.
    end: Option<End>,
}

/// How a call has ended.
enum End {
    Answered(Result<Raw, RpcError>),
    /// The worker is gone.
    Gone,
}

/// A notification that belongs to no call.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) seat: usize,
    pub(crate) method: String,
    pub(crate) params: Raw,
}

// === impl Worker ===

impl Worker {
    /// Starts a worker and waits until its plugin is ready.
    pub(crate) async fn start(
        order: &Order,
        options: &Options,
        seat: usize,
        news: &mpsc::Sender<News>,
    ) -> Result<(Arc<Self>, Ready), Fault> {
        let patience = options.times.start;
        let starting = Self::launch(order, options, seat, news);
        timeout(patience, starting).await.unwrap_or(Err(Fault::Slow(patience)))
    }

    async fn launch(
        order: &Order,
        options: &Options,
        seat: usize,
        news: &mpsc::Sender<News>,
    ) -> Result<(Arc<Self>, Ready), Fault> {
        let stderr = StderrOptions {
            sink: options.logs.as_ref().map(|logs| logs.sink(&order.load.name(), "plugins")),
        };
        let order =
            serde_json::to_string(order).map_err(|error| Fault::Spawn(error.to_string()))?;
        let command = Command {
            args: vec![worker::COMMAND.into(), order.into()],
            env: options.env.clone(),
            ..Command::new(options.program.clone())
        };
        let spawned = process::spawn(command, &options.guard, stderr).await;
        let spawned = spawned.map_err(|error| Fault::Spawn(told(&error)))?;
        let (writer, mut reader, writing) = lines::link(spawned.stdout, spawned.stdin, LARGEST);
        tokio::spawn(writing);
        let ready = match first(&mut reader).await {
            Some(ready) => ready?,
            None => return Err(ended(&spawned.process).await),
        };
        let slots = if ready.thread_safe { AT_ONCE } else { 1 };
        let worker = Arc::new(Self {
            writer,
            process: spawned.process,
            calls: Mutex::default(),
            ids: AtomicU64::new(1),
            slots: Arc::new(Semaphore::new(slots)),
            serial: !ready.thread_safe,
            fault: OnceLock::new(),
            proven: AtomicBool::new(false),
        });
        tokio::spawn(read(Arc::downgrade(&worker), reader, seat, news.clone()));
        Ok((worker, ready))
    }

    /// Begins a call. Only a plugin that answers one at a time lets it wait. `None`: it takes no more calls, and
    /// another worker has its place.
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: &Raw,
        patience: Duration,
    ) -> Result<Option<Call>, Fault> {
        let slot = if self.serial {
            match timeout(patience, self.slots.clone().acquire_owned()).await {
                Ok(slot) => slot.ok(),
                // Whoever has the slot has hung.
                Err(_) => return Err(self.end(Fault::Hung(patience))),
            }
        } else {
            match self.slots.clone().try_acquire_owned() {
                Err(TryAcquireError::NoPermits) => return Err(Fault::Busy),
                slot => slot.ok(),
            }
        };
        let Some(slot) = slot else {
            return self.fault.get().map_or(Ok(None), |fault| Err(fault.clone()));
        };
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (events, heard) = mpsc::channel(MAILBOX);
        let (done, answer) = oneshot::channel();
        let mailbox = Mailbox { events, done, abandoned: None, _slot: slot };
        self.calls().insert(id, mailbox);
        // It may have ended in between, after it told those calls that it knew of.
        if self.fault.get().is_some() {
            drop(self.calls().remove(&id));
        }
        let call = Call { worker: self.clone(), id, events: heard, done: answer, end: None };
        let request = Request::new(&Id::number(id), method, Some(params));
        // A worker that is gone has a reason, which whoever waits for the call is told.
        let _ = self.writer.send(request.text().clone()).await;
        Ok(Some(call))
    }

    /// Takes no more calls. Those that wait for their turn go elsewhere, those that have begun go on.
    pub(crate) fn retire(&self) {
        self.slots.close();
    }

    /// Tells the plugin something that has no answer.
    pub(crate) fn tell(&self, method: &str, params: &Raw) {
        let note = Notification::new(method, Some(params));
        if let Err(error) = self.writer.try_send(note.text().clone()) {
            tracing::debug!(%error, "a worker was not told");
        }
    }

    /// Whether a call would begin at once.
    pub(crate) fn is_free(&self) -> bool {
        self.slots.available_permits() > 0
    }

    /// Why it has ended, if it has.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.get()
    }

    fn why(&self) -> Fault {
        self.fault.get().cloned().unwrap_or(Fault::Removed)
    }

    /// Whether it has answered anything.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    /// Ends it; its calls hear why. Returns the reason it ended for.
    pub(crate) fn end(&self, fault: Fault) -> Fault {
        let _ = self.fault.set(fault);
        self.slots.close();
        // Mailboxes that are dropped tell their calls.
        drop(std::mem::take(&mut *self.calls()));
        let process = self.process.clone();
        tokio::spawn(async move { process.stop().await });
        self.why()
    }

    /// Whether a call that nobody waits for still goes on, this long after it was given up.
    pub(crate) fn is_stuck(&self, patience: Duration) -> bool {
        let is_old = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() > patience);
        self.calls().values().any(|mailbox| is_old(mailbox.abandoned))
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<u64, Mailbox>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sorts one message.
    fn sort(&self, message: Message, seat: usize, news: &mpsc::Sender<News>) {
        match message {
            Message::Response(response) => {
                let id = response.id().and_then(|id| id.as_u64()).unwrap_or_default();
                let mailbox = self.calls().remove(&id);
                if let Some(mailbox) = mailbox {
                    self.proven.store(true, Ordering::Relaxed);
                    let outcome = match response.outcome() {
                        Outcome::Result(result) => Ok(result),
                        Outcome::Error(error) => Err(error),
                    };
                    let _ = mailbox.done.send(outcome);
                }
            }
            Message::Request(request) => self.ask(&request),
            Message::Notification(note) => {
                if let Some((call, method, params)) = unwrapped(note.params().as_ref()) {
                    self.note(call, method, params, seat, news);
                }
            }
        }
    }

    fn note(&self, call: u64, method: String, params: Raw, seat: usize, news: &mpsc::Sender<News>) {
        let has_room = if call == 0 || is_for_everybody(&method) {
            news.try_send(News { seat, method, params }).is_ok()
        } else {
            let calls = self.calls();
            let mailbox = calls.get(&call).map(|mailbox| &mailbox.events);
            mailbox.is_some_and(|events| events.try_send(Event::Note { method, params }).is_ok())
        };
        if !has_room {
            tracing::debug!("a notification of a plugin was dropped");
        }
    }

    fn ask(&self, request: &Request) {
        let id = request.id();
        let asked = unwrapped(request.params().as_ref()).is_some_and(|(call, method, params)| {
            let event = Event::Ask { id: id.clone(), method, params };
            let calls = self.calls();
            calls.get(&call).is_some_and(|mailbox| mailbox.events.try_send(event).is_ok())
        });
        if !asked {
            let error = RpcError::new(
                switchboard_wire::envelope::code::INTERNAL_ERROR,
                "nobody is there to be asked",
            );
            let _ = self.writer.try_send(Response::error(Some(&id), &error).text().clone());
        }
    }
}

/// What everybody hears, whose call it came with notwithstanding.
fn is_for_everybody(note: &str) -> bool {
    matches!(
        note,
        method::TOOLS_CHANGED
            | method::PROMPTS_CHANGED
            | method::RESOURCES_CHANGED
            | method::RESOURCE_UPDATED
    )
}

fn unwrapped(params: Option<&Raw>) -> Option<(u64, String, Raw)> {
    let Noted { call, method, params } = params?.decode().ok()?;
    Some((call, method, Raw::parse(params.get().to_owned()).ok()?))
}

/// The first thing a worker says; `None` if it says nothing.
async fn first(reader: &mut LinkReader) -> Option<Result<Ready, Fault>> {
    let frame = reader.next().await.ok().flatten()?;
    let Ok(Parsed::One(Message::Notification(note))) = frame.parse() else { return None };
    let params = note.params()?;
    match note.method().as_ref() {
        said::READY => params.decode().ok().map(Ok),
        said::FAILED => {
            let Failed { stage, why } = params.decode().ok()?;
            Some(Err(Fault::Refused { stage, why }))
        }
        _ => None,
    }
}

async fn read(worker: Weak<Worker>, mut reader: LinkReader, seat: usize, news: mpsc::Sender<News>) {
    while let Ok(Some(frame)) = reader.next().await {
        let Some(worker) = worker.upgrade() else { return };
        match frame.parse() {
            Ok(Parsed::One(message)) => worker.sort(message, seat, &news),
            _ => tracing::debug!("a worker said something that is no message"),
        }
    }
    // Nobody asks after one that is not wanted any more.
    if let Some(worker) = worker.upgrade() {
        worker.end(ended(&worker.process).await);
    }
}

async fn ended(process: &Process) -> Fault {
    let exit = timeout(LAST_WORDS, process.exited()).await;
    let exit = exit.unwrap_or(process::Exit::Unknown);
    Fault::Ended { exit, stderr: process.stderr_tail() }
}

/// An error and its causes in one line.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

// === impl Call ===

impl Call {
    /// What comes next. What was said before the answer comes before it. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Next {
        if self.end.is_none() {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => return Next::Event(event),
                done = &mut self.done => self.end = Some(done.map_or(End::Gone, End::Answered)),
            }
        }
        // Whatever was said before the answer is there by now.
        if let Ok(event) = self.events.try_recv() {
            return Next::Event(event);
        }
        match &self.end {
            Some(End::Answered(outcome)) => Next::Done(outcome.clone()),
            _ => Next::Gone(self.worker.why()),
        }
    }

    /// Answers a question of the plugin's.
    pub(crate) async fn answer(&self, id: &Id, outcome: Result<Raw, RpcError>) {
        let response = match outcome {
            Ok(result) => Response::result(id, &result),
            Err(error) => Response::error(Some(id), &error),
        };
        // A worker that is gone has a reason, which comes next.
        let _ = self.worker.writer.send(response.text().clone()).await;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.end.is_some() {
            return;
        }
        if let Some(mailbox) = self.worker.calls().get_mut(&self.id) {
            mailbox.abandoned = Some(Instant::now());
        } else {
            return;
        }
        if let Ok(params) = Raw::parse(format!(r#"{{"requestId":{}}}"#, self.id)) {
            self.worker.tell(method::CANCELLED, &params);
        }
    }
}
