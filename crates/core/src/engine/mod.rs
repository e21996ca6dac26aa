//! The engine: `apply` a desired state, take a `snapshot`, make a `call`.
//!
//! Used by the hub, the gateway, the commands and embedding programs. Only [`Engine::apply`] starts or stops
//! servers, except for the connections that a principal or a session has for itself. A workspace stays for a while
//! after its last session and then ends, as a principal's connections do; servers that only its agent brought end
//! with the agent's last session.
//!
//! It does not read configuration (`switchboard_sources`), and does not serve clients (`switchboard_gateway`).

mod event;
mod operate;
mod options;
mod questions;
mod session;
mod snapshot;
mod storage;
mod supervisor;
mod workspace;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use switchboard_config::Desired;
use switchboard_process::StderrOptions;
use switchboard_wire::client::{Implementation, ListKind};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use event::{EngineEvent, EngineEventKind};
pub use options::{CredentialSource, EngineOptions, EntryCredentials, QueueAccess};
pub use questions::queue::{QuestionGone, QuestionQueue, QueueWatcher, QueuedQuestion};
pub use questions::queues::PrincipalQueueWatcher;
pub use session::caller::{ArgumentCheck, Caller, QuestionAnswerer, Session, SessionClients};
pub use session::local_call::LocalCall;
pub use snapshot::recent_calls::{CallWatcher, RecentCall, RecentCallResult};
pub use snapshot::{
    ClientExtensions, ConnectionCount, DescribedExtensions, ExtensionReport, ListsArrival,
    ServerExtensions, ServerSnapshot, ServerStatus, WorkspaceSnapshot,
};
pub use workspace::call_limits::{CallVariables, variable_problems};
pub use workspace::in_process::InProcessServer;
pub use workspace::principal::{AttachError, PrincipalLease};
pub use workspace::state::{ProcessEnvironment, SessionInfo, Workspace, WorkspaceId};

pub(crate) use snapshot::recent_calls::CallObservation;
pub(crate) use supervisor::applied::{AppliedServer, AppliedState};
pub(crate) use supervisor::listener::UNDECLARED_REQUEST;
pub(crate) use workspace::call_limits::OnProgress;
pub(crate) use workspace::guest_access::GuestAccess;
pub(crate) use workspace::state::WorkspaceState;

use questions::queues::QuestionQueues;
use questions::session_questions::SessionQuestions;
pub(crate) use session::calls_in_flight::CallInFlightLease;
use session::calls_in_flight::CallsInFlight;
use session::claims::Claims;
pub(crate) use session::log_levels::CallLogLevel;
use session::log_levels::LogLevels;
use session::subscriptions::SessionSubscriptions;
use snapshot::recent_calls::RecentCalls;
use storage::EngineStorage;
use supervisor::catalog_keeper::WrittenCatalogs;
use supervisor::era_store::EraStore;
use supervisor::listener::{ElicitationCompletions, EngineListener};
use supervisor::pool::{ConnectionLimits, ConnectionPool};

use crate::audit::{AuditSink, CallRecord};
use crate::connection::{
    CatalogStore, Connection, ConnectionContext, ConnectionListener, ConnectionSpec,
};
use crate::dispatch::{PendingQuestion, Request, RunningCall};
use crate::logs::ServerLogs;
use crate::permission::PermissionMemory;
use crate::principal::Principal;
use crate::problem::EngineProblem;
use crate::results::ResultStore;
use crate::sealing::HandleSealer;
use crate::traffic::{TrafficCounter, TrafficReport};

/// How many events are kept for a slow listener.
const EVENT_CHANNEL_CAPACITY: usize = 1024;

/// The engine. Clones share it.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    options: EngineOptions,
    pool: ConnectionPool,
    listener: Arc<dyn ConnectionListener>,
    standing: Mutex<HashMap<WorkspaceId, Arc<WorkspaceState>>>,
    /// Held while workspaces change, so that two changes do not interleave.
    changing: Mutex<()>,
    claims: Claims,
    /// Counts every change of a state or a list.
    revision: watch::Sender<u64>,
    events: broadcast::Sender<EngineEvent>,
    /// Ended calls have a channel of their own: there are many, and few listeners.
    calls: broadcast::Sender<EngineEvent>,
    completed: ElicitationCompletions,
    queues: QuestionQueues,
    strays: SessionQuestions,
    wishes: SessionSubscriptions,
    log_levels: LogLevels,
    pub(crate) under_way: CallsInFlight,
    pub(crate) recent: Arc<RecentCalls>,
    traffic: TrafficCounter,
    pub(crate) store: Option<ResultStore>,
    pub(crate) logs: Option<ServerLogs>,
    pub(crate) memory: PermissionMemory,
    audit: Option<Arc<dyn AuditSink>>,
    eras: EraStore,
    sealer: Arc<dyn HandleSealer>,
    /// Problems with the engine's own files.
    problems: Vec<EngineProblem>,
    catalogs: Arc<CatalogStore>,
    written: WrittenCatalogs,
    /// The next number for calls and applied states.
    next: AtomicU64,
    tasks: TaskTracker,
    closing: CancellationToken,
}

// === impl Engine ===

impl Engine {
    /// Starts an engine without servers. Files that cannot be opened are problems in every snapshot, and do not
    /// stop the engine.
    pub async fn start(options: EngineOptions) -> Self {
        let EngineStorage { logs, store, memory, eras, catalogs, sealer, audit, problems } =
            EngineStorage::open(&options).await;
        let sealer = options.sealer.clone().unwrap_or(sealer);
        let audit = options.audit.clone().or(audit);
        let queues = QuestionQueues::new(options.patience);
        Self(Arc::new_cyclic(|inner| {
            let mut shared = shared(&options, logs.clone(), &eras);
            shared.catalogs = Arc::clone(&catalogs);
            shared.start = options.start;
            let shared = Arc::new(shared);
            Inner {
                pool: ConnectionPool::new(shared, limits(&options)),
                listener: Arc::new(EngineListener::new(inner.clone())),
                standing: Mutex::default(),
                changing: Mutex::default(),
                claims: Claims::default(),
                revision: watch::Sender::new(0),
                events: broadcast::Sender::new(EVENT_CHANNEL_CAPACITY),
                calls: broadcast::Sender::new(EVENT_CHANNEL_CAPACITY),
                completed: ElicitationCompletions::default(),
                queues,
                strays: SessionQuestions::default(),
                wishes: SessionSubscriptions::default(),
                log_levels: LogLevels::default(),
                under_way: CallsInFlight::default(),
                recent: Arc::default(),
                traffic: TrafficCounter::default(),
                store,
                logs,
                memory,
                audit,
                tasks: TaskTracker::new(),
                closing: CancellationToken::new(),
                eras,
                sealer,
                problems,
                catalogs,
                written: WrittenCatalogs::default(),
                next: AtomicU64::new(1),
                options,
            }
        }))
    }

    /// Makes connections match the desired state of a workspace. Unchanged servers are not touched; calls of
    /// servers that are removed or replaced fail. Servers inside this process are judged by the policy of the
    /// desired state, like all others.
    pub fn apply(&self, workspace: &Workspace, desired: Desired) {
        let desired = supervisor::apply::with_in_process(workspace, desired);
        self.0.apply(workspace, Arc::new(desired));
    }

    /// Returns a watch that changes whenever a snapshot would.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.revision.subscribe()
    }

    /// Returns all events from now on, except calls.
    pub fn events(&self) -> broadcast::Receiver<EngineEvent> {
        self.0.events.subscribe()
    }

    /// Returns every call that ends from now on: a [`EngineEventKind::Called`].
    pub fn calls(&self) -> broadcast::Receiver<EngineEvent> {
        self.0.calls.subscribe()
    }

    /// Returns the queue of questions of the person who runs the engine.
    pub fn queue(&self) -> &QuestionQueue {
        self.0.queues.local()
    }

    /// Returns the queue for questions of this principal; `None` for another than the local one that watches none.
    pub fn queue_for(&self, principal: &Principal) -> Option<QuestionQueue> {
        self.0.queue_for(principal.id())
    }

    /// Watches the queue for questions of this principal from now on.
    pub fn watch_queue_for(&self, principal: &Principal) -> PrincipalQueueWatcher {
        self.0.queues.watch(principal.id())
    }

    /// Returns the remembered answers to permission questions.
    pub fn memory(&self) -> &PermissionMemory {
        &self.0.memory
    }

    /// Returns the logs of servers, if they are kept.
    pub fn logs(&self) -> Option<&ServerLogs> {
        self.0.logs.as_ref()
    }

    /// Returns the calls of the last hour, counted.
    pub fn traffic(&self) -> TrafficReport {
        self.0.traffic.report()
    }

    /// Waits, for a moment at most, until every ended call is in the audit log.
    pub async fn settle_audit(&self) {
        if let Some(audit) = &self.0.audit {
            audit.settle().await;
        }
    }

    /// Returns the store of spilled results, if there is one.
    pub fn results(&self) -> Option<&ResultStore> {
        self.0.store.as_ref()
    }

    /// Returns the sealer of handles for clients.
    pub fn sealer(&self) -> &dyn HandleSealer {
        &*self.0.sealer
    }

    /// Returns the sealer of handles, for a part of the hub that outlives a borrow of the engine.
    pub fn shared_sealer(&self) -> Arc<dyn HandleSealer> {
        Arc::clone(&self.0.sealer)
    }

    /// Leases a principal's place in a workspace, and starts its servers if necessary.
    pub fn lease_principal(
        &self,
        workspace: &WorkspaceId,
        principal: &str,
    ) -> Result<PrincipalLease, AttachError> {
        self.0.lease_principal(workspace, principal)
    }

    /// Attaches a session to a workspace.
    pub fn attach(&self, workspace: &WorkspaceId, session: Session) -> Result<Caller, AttachError> {
        let principal = self.0.lease_principal(workspace, session.principal.id())?;
        let caller = {
            // Under the lock, so that the workspace cannot end in between.
            let standing = self.0.lock();
            match standing.get(workspace) {
                Some(standing) if Arc::ptr_eq(standing, principal.workspace()) => {
                    Caller::new(session, principal)
                }
                _ => return Err(AttachError::Ended),
            }
        };
        if caller.session().clients != SessionClients::None {
            self.0.start_for_session(&caller);
        }
        Ok(caller)
    }

    /// Returns the questions of servers that belong to a session but to none of its calls. Without a receiver they
    /// go to the queue.
    pub fn session_questions(&self, caller: &Caller) -> mpsc::Receiver<PendingQuestion> {
        self.0.strays.subscribe(&caller.session().id)
    }

    /// Notes something that a session's client asked for and servers do not get, for the report of extensions.
    pub fn note_lost(&self, caller: &Caller, name: &str, reason: &str) {
        if caller.workspace().lose_wish(&caller.session().id, name, reason) {
            self.0.mark_changed();
        }
    }

    /// Notes what a session's client is told of the extensions of servers, for the report of extensions.
    pub fn note_described(&self, caller: &Caller, servers: DescribedExtensions) {
        if caller.workspace().note_described(&caller.session().id, servers) {
            self.0.mark_changed();
        }
    }

    /// Makes a call. It starts when it is polled.
    pub fn call(&self, caller: &Caller, request: Request) -> RunningCall {
        crate::dispatch::start(self.0.clone(), caller.clone(), request)
    }

    /// Returns which log of a server's name belongs to this workspace; `None` if no server of that name is started.
    pub fn log_name(&self, workspace: &WorkspaceId, server: &str) -> Option<String> {
        let applied = self.0.workspace_state(workspace)?.applied();
        applied.server(server).map(|placed| log_name_of_spec(&placed.spec))
    }

    /// Returns how many calls are in flight, including those that wait for a person's answer.
    pub fn calls_in_flight(&self) -> usize {
        self.0.pool.calls_in_flight()
    }

    /// Ends a workspace now.
    pub fn end_workspace(&self, workspace: &WorkspaceId) {
        self.0.end_workspace(workspace);
    }

    /// Stops everything and waits until it is gone: calls have failed, processes have exited, sessions are deleted.
    pub async fn shutdown(&self) {
        self.0.closing.cancel();
        {
            let _changing = self.0.lock_changes();
            self.0.lock().clear();
        }
        self.0.pool.shutdown().await;
        self.0.tasks.close();
        self.0.tasks.wait().await;
        if let Some(logs) = &self.0.logs {
            logs.settle().await;
        }
        self.settle_audit().await;
        let eras = self.0.eras.clone();
        // Off the runtime, since the disk may be slow.
        let _ = tokio::task::spawn_blocking(move || eras.save()).await;
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("options", &self.0.options).finish_non_exhaustive()
    }
}

// === impl Inner ===

impl Inner {
    pub(crate) fn workspace_state(&self, workspace: &WorkspaceId) -> Option<Arc<WorkspaceState>> {
        self.lock().get(workspace).cloned()
    }

    fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Arc<WorkspaceState>>> {
        self.standing.lock()
    }

    /// Signals that a snapshot would look different now.
    pub(crate) fn mark_changed(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    pub(crate) fn send_event(&self, event: EngineEvent) {
        // There may be no listener.
        let _ = self.events.send(event);
    }

    /// Records that a call has ended.
    pub(crate) fn record_call(&self, workspace: &WorkspaceId, called: Arc<CallRecord>) {
        if let Some(audit) = &self.audit {
            audit.record_call(&called);
        }
        self.traffic.record(&called);
        if self.calls.receiver_count() > 0 {
            let (workspaces, server) = (vec![workspace.clone()], called.server.clone());
            let principal = Some(Arc::clone(called.caller.principal.id()));
            let what = EngineEventKind::Called(called);
            let event = EngineEvent { workspaces, server, principal, connection: None, what };
            // The listener may have gone in between.
            let _ = self.calls.send(event);
        }
    }

    /// The queue for questions of calls of the principal with this id. What one principal is asked, with the arguments
    /// of its calls, is not for another.
    pub(crate) fn queue_for(&self, principal: &str) -> Option<QuestionQueue> {
        self.queues.find(principal)
    }

    /// Whether a person can open the queue.
    pub(crate) fn queue_access(&self) -> QueueAccess {
        self.options.queue_access
    }

    pub(crate) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Returns a unique number.
    fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a unique id for a call.
    pub(crate) fn call_id(&self) -> String {
        let number = self.next_number();
        ["call-", itoa::Buffer::new().format(number)].concat()
    }

    /// Returns how long a question waits for an answer.
    pub(crate) fn question_timeout(&self) -> Duration {
        self.options.patience
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        self.options.timing.connect
    }

    /// Whether the lists of a connection are known.
    pub(crate) fn knows_lists_of(&self, connection: &Connection) -> bool {
        let raw = self.pool.parsed_lists(&connection.key()).raw;
        raw.is_some_and(|raw| raw.is_known())
    }

    /// Whether a list of a connection, as clients see it, was read in the current session.
    pub(crate) fn has_confirmed_list(&self, connection: &Connection, list: ListKind) -> bool {
        let raw = self.pool.parsed_lists(&connection.key()).raw;
        raw.is_some_and(|raw| !raw.get(list).unconfirmed)
    }
}

fn limits(options: &EngineOptions) -> ConnectionLimits {
    ConnectionLimits {
        per_principal: options.connections_per_principal,
        in_all: options.connections,
    }
}

/// Returns the context that all connections share.
fn shared(options: &EngineOptions, logs: Option<ServerLogs>, eras: &EraStore) -> ConnectionContext {
    let client = Implementation { name: options.name.clone(), version: options.version.clone() };
    let mut shared = ConnectionContext::new(client, options.guard.clone(), options.timing.clone());
    shared.eras = eras.cache.clone();
    shared.program.clone_from(&options.program);
    if let Some(logs) = logs {
        shared.stderr = Arc::new(move |spec| StderrOptions {
            sink: Some(logs.sink(&spec.server, &log_name_of_spec(spec))),
            ..StderrOptions::default()
        });
    }
    shared
}

/// Returns which log of a server's name a spec uses: servers of one name in two folders have two logs.
pub(crate) fn log_name_of_spec(spec: &ConnectionSpec) -> String {
    spec.working_dir.to_string_lossy().into_owned()
}
