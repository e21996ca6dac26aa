//! One connection to one server: a task that keeps it up, and a handle for all users.
//!
//! Used by `engine::supervisor` (starts and stops connections), by `dispatch` (sends calls on their sessions) and
//! by the snapshot. A [`ConnectionSpec`] says what to connect to; specs with equal [`ConnectionKey`]s may share a
//! connection. Only the task writes the connection's [`ConnectionState`] and its [`RawLists`]. The task connects,
//! reads the lists, handles notifications and requests of the server, and after a lost session reconnects with
//! growing pauses, for as long as that can help.
//!
//! It does not know what calls do, does not parse lists (`catalog`), and does not decide which servers run
//! (`engine::supervisor`).

mod call_admission;
mod capability_class;
mod capability_reading;
mod catalog_record;
mod catalog_store;
mod code_variables;
mod connect_permits;
mod context;
mod env_file;
mod error;
mod idle;
mod key;
mod list_reader;
mod listener;
mod lists;
mod liveness;
mod opaque_capabilities;
mod proxy;
mod server_environment;
mod session;
mod sign_in;
mod spec;
mod state;
mod state_history;
mod stats;
mod strikes;
mod target;
mod task;
mod task_requests;
mod timing;
mod tls;
mod untrusted_certificate;

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use switchboard_config::StartPolicy;
use switchboard_wire::{
    self as wire, Era, Remedy, Version,
    client::{ListKind, ServerFacts},
};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use call_admission::CallAdmission;
pub use capability_class::CapabilityClass;
pub use capability_reading::{CapabilityReading, LostCapability};
pub use catalog_record::CatalogOrigin;
pub use catalog_store::{CatalogKey, CatalogStore};
pub use context::ConnectionContext;
pub use env_file::parse_env_text;
pub use error::{ConnectionBusy, ConnectionError, ConnectionLimit, ConnectionNotReady};
pub use key::{ConnectionKey, EntryKey, ServerKey};
pub use listener::{ConnectionEvent, ConnectionListener};
pub use lists::{ALL_LISTS, RawList, RawLists};
pub use opaque_capabilities::{CapabilityPath, OpaqueCapabilities};
pub use proxy::proxies_from_environment;
pub use server_environment::{
    PARENT_MARKER_VARIABLE, ServerVariable, VariableSource, server_environment,
};
pub use sign_in::SignInError;
pub use spec::{ConnectGroup, ConnectionSharing, ConnectionSpec, ConnectionTarget, InProcessLink};
pub use state::{
    ConnectionAttempt, ConnectionFailure, ConnectionState, IdleConnection, LiveSession,
    SignInNeeded,
};
pub use state_history::StateChange;
pub(crate) use stats::StatsSample;
pub use stats::{CallLatency, ConnectionStats};
pub use timing::{ConnectionTiming, RetryJitter};
pub use tls::entry_pool_options;
pub use untrusted_certificate::certificate_variables;

pub(crate) use capability_class::declares;

use task_requests::{ReadUrgency, TaskRequests};

/// A handle on one connection. When the last handle is dropped the connection ends in the background;
/// [`Connection::stop`] waits for that.
pub struct Connection {
    core: Arc<ConnectionCore>,
    state: watch::Receiver<ConnectionState>,
    lists: watch::Receiver<Arc<RawLists>>,
    _stop: DropGuard,
}

/// The state that the handle and the task share.
struct ConnectionCore {
    key: ConnectionKey,
    server_key: ServerKey,
    entry_key: EntryKey,
    catalog_key: CatalogKey,
    spec: ConnectionSpec,
    /// The key of the server's address in the era cache, once it is known.
    target: OnceLock<String>,
    shared: Arc<ConnectionContext>,
    requests: TaskRequests,
    strikes: strikes::Strikes,
    in_flight: call_admission::InFlight,
    tally: stats::StatsRecorder,
    /// Whether a client's first list has waited in vain for this server's lists since the server was last
    /// connected.
    is_overdue: AtomicBool,
    /// Whether the server is started when needed, and stopped when idle.
    is_lazy: AtomicBool,
    /// Whether the server, whose lists are not known, waits for its first session.
    is_unstarted: AtomicBool,
    /// The number of the session with work that outlives its calls; 0: none.
    lasting_work: AtomicU64,
    /// The id, in every process, of the sign-in that the last session was opened with.
    sign_in_id: Mutex<Option<String>>,
    stop: CancellationToken,
}

// === impl Connection ===

impl Connection {
    /// Starts the connection. Must be called within a runtime. Computes the key, which may block for as long as
    /// looking for a file does; see [`Connection::start_keyed`].
    pub fn start(
        spec: ConnectionSpec,
        shared: Arc<ConnectionContext>,
        listener: Arc<dyn ConnectionListener>,
    ) -> Arc<Self> {
        let entry_key = spec.entry_key();
        let connection = Self::start_keyed(entry_key, spec, shared, listener);
        connection.start_now();
        connection
    }

    /// Like [`Connection::start`], for a spec with a known entry key. A server without a kept catalog waits for
    /// [`Connection::start_now`], for a while.
    pub fn start_keyed(
        entry_key: EntryKey,
        spec: ConnectionSpec,
        shared: Arc<ConnectionContext>,
        listener: Arc<dyn ConnectionListener>,
    ) -> Arc<Self> {
        let core = Arc::new(ConnectionCore {
            key: spec.key_at(entry_key),
            server_key: spec.server_key_at(entry_key),
            entry_key,
            catalog_key: spec.catalog_key_at(entry_key),
            is_lazy: AtomicBool::new(spec.start_policy() == StartPolicy::Lazy),
            is_unstarted: AtomicBool::new(false),
            lasting_work: AtomicU64::new(0),
            sign_in_id: Mutex::default(),
            spec,
            target: OnceLock::new(),
            shared,
            requests: TaskRequests::default(),
            strikes: strikes::Strikes::default(),
            in_flight: call_admission::InFlight::default(),
            tally: stats::StatsRecorder::default(),
            is_overdue: AtomicBool::new(false),
            stop: CancellationToken::new(),
        });
        let mut task = None;
        let connection = Arc::new_cyclic(|connection| {
            let (made, state, lists) =
                task::ConnectionTask::new(core.clone(), connection.clone(), listener);
            task = Some(made);
            Self { _stop: core.stop.clone().drop_guard(), core, state, lists }
        });
        // The task needs the connection's handle, which exists only now.
        task.map(|task| tokio::spawn(task.run()));
        connection
    }

    /// Returns the key of the connection.
    pub fn key(&self) -> ConnectionKey {
        self.core.key
    }

    /// Returns the key of its server, equal for all principals and sessions.
    pub fn server_key(&self) -> ServerKey {
        self.core.server_key
    }

    /// Returns the key of its entry, equal for all eras and declared capabilities.
    pub fn entry_key(&self) -> EntryKey {
        self.core.entry_key
    }

    /// Returns the server's facts from the handshake, of this session or the last one.
    pub fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.lists.borrow().facts.clone()
    }

    /// Returns the era of the server: of the current session, or of the era cache.
    pub fn known_era(&self) -> Option<Era> {
        let spoken = self.facts().map(|facts| facts.era());
        let before = || self.core.shared.eras.get(self.core.target.get()?).map(Version::era);
        spoken.or_else(before)
    }

    /// Whether the server, which was reached in the modern era, supports the legacy era too; `None` if not known.
    pub(crate) fn has_legacy_too(&self) -> Option<bool> {
        self.core.shared.eras.legacy_too(self.core.target.get()?)
    }

    /// Stores whether the server supports the legacy era too.
    pub(crate) fn note_legacy_too(&self, has_it: bool) {
        if let Some(target) = self.core.target.get() {
            self.core.shared.eras.put_legacy_too(target, has_it);
        }
    }

    /// Returns the spec of the connection.
    pub fn spec(&self) -> &ConnectionSpec {
        &self.core.spec
    }

    /// Returns the state.
    pub fn state(&self) -> ConnectionState {
        self.state.borrow().clone()
    }

    /// Returns a watch on the state.
    pub fn watch(&self) -> watch::Receiver<ConnectionState> {
        self.state.clone()
    }

    /// Returns the server's lists, as last read. Expired lists are read again in the background.
    pub fn lists(&self) -> Arc<RawLists> {
        let lists = self.lists.borrow().clone();
        for list in lists.expired_lists() {
            self.core.requests.refresh(list, ReadUrgency::WhenOld);
        }
        lists
    }

    /// Returns a watch on the server's lists.
    pub fn watch_lists(&self) -> watch::Receiver<Arc<RawLists>> {
        self.lists.clone()
    }

    /// Whether each list was read, or could not be.
    pub fn knows_lists(&self) -> bool {
        self.lists.borrow().is_known()
    }

    /// Waits for a session, for as long as connecting may take.
    ///
    /// A server that a call waits for skips the queue of connects, and its next planned attempt is made now, though
    /// not within a second of the one before. Without a planned attempt, a new one is made if the last was long
    /// ago; otherwise its error is returned again. Returns as soon as one attempt has failed.
    ///
    /// A session that was opened before a person signed in or out is never returned: it ends, and the next one is
    /// waited for.
    pub async fn ready(&self) -> Result<Arc<LiveSession>, ConnectionNotReady> {
        // Before the state is read: the task looks again after it has published that the connection is idle.
        self.core.in_flight.mark_needed();
        let after = self.core.spec.connect_timeout(self.core.shared.timing.connect);
        let mut waiting = match self.outdated_attempt().await {
            Some(number) => ReadyWait::After(number),
            None => self.begin_waiting(&self.state.borrow()),
        };
        let deadline = Instant::now() + after;
        loop {
            let number = match waiting {
                ReadyWait::Over(over) => return over,
                ReadyWait::After(number) => number,
            };
            let Ok(settled) = timeout_at(deadline, self.next_attempt_result(number)).await else {
                return Err(ConnectionNotReady::Timeout { after });
            };
            // The attempt may have begun before a person signed in or out.
            match self.outdated_attempt().await {
                Some(number) => waiting = ReadyWait::After(number),
                None => return settled,
            }
        }
    }

    /// Tries a server that is down again, though not within a second of the attempt before.
    pub fn retry(&self) {
        self.core.requests.ask(|asked| asked.looked_at = true);
    }

    /// Tries a server again if its last attempt failed at least `ago`. Returns whether it does, once the attempt
    /// has begun.
    pub async fn retry_if_failed(&self, ago: Duration) -> bool {
        let number = match &*self.state.borrow() {
            ConnectionState::Failed(failed) if failed.since.elapsed() >= ago => failed.number,
            _ => return false,
        };
        self.retry();
        let mut state = self.state.clone();
        let begun = state.wait_for(
            |state| !matches!(state, ConnectionState::Failed(failed) if failed.number == number),
        );
        // The task of a connection that is being stopped makes no more attempts.
        let longest = self.core.shared.timing.between_attempts * 2;
        timeout(longest, begun).await.is_ok_and(|begun| begun.is_ok())
    }

    /// Like [`Connection::check`], but also waits for the result of a new attempt, for as long as for an answer.
    pub(crate) async fn check_to_the_end(&self) {
        self.check().await;
        let mut state = self.state.clone();
        let attempted = state.wait_for(|state| !matches!(state, ConnectionState::Pending(_)));
        // An attempt that takes longer is shown as pending.
        let _ = timeout(self.core.shared.timing.ping_patience, attempted).await;
    }

    /// Asks a connected server whether it still answers, and waits for the result; a server that is down is tried
    /// again.
    pub async fn check(&self) {
        if !self.retry_if_failed(Duration::ZERO).await {
            self.check_answer().await;
        }
    }

    /// Asks a connected server whether it still answers, and waits until that is known. One that is down stays as it is.
    pub async fn check_answer(&self) {
        let ConnectionState::Connected(live) = self.state() else { return };
        let mut verdict = live.verdict.subscribe();
        let count = verdict.borrow().count;
        self.core.requests.ask(|asked| asked.checked = true);
        let mut state = self.state.clone();
        let is_over =
            |state: &ConnectionState| state.live().is_none_or(|now| now.number != live.number);
        let judged = async {
            // Neither fails while the session lives, and both are over when it ends.
            tokio::select! {
                _ = verdict.wait_for(|verdict| verdict.count > count) => {}
                _ = state.wait_for(is_over) => {}
            }
        };
        let patience = self.core.shared.timing.ping_patience;
        let _ = timeout(patience + patience / 2, judged).await;
    }

    /// Returns the result of the next attempt after `number`, which is made as soon as possible.
    async fn next_attempt_result(
        &self,
        number: u64,
    ) -> Result<Arc<LiveSession>, ConnectionNotReady> {
        self.core.requests.ask(|asked| asked.wanted = true);
        let mut state = self.state.clone();
        match state.wait_for(|state| attempt_result(state, number).is_some()).await {
            Ok(state) => attempt_result(&state, number).unwrap_or(Err(ConnectionNotReady::Stopped)),
            // The task is gone, which happens only when its runtime shuts down.
            Err(_) => Err(ConnectionNotReady::Stopped),
        }
    }

    /// Returns the attempt that led to the current session, or to its refusal, if a person has signed in or out
    /// since. Another attempt is made then.
    async fn outdated_attempt(&self) -> Option<u64> {
        let (number, sign_in) = match &*self.state.borrow() {
            ConnectionState::Connected(live) => (live.number, live.sign_in),
            ConnectionState::NeedsAuth(needs) => (needs.number, needs.sign_in),
            ConnectionState::Idle(idle) => (idle.number, idle.sign_in),
            _ => return None,
        };
        if self.core.spec.credentials.sign_in_revision().await == sign_in {
            return None;
        }
        self.core.requests.ask(|asked| asked.sign_in_changed = Some(number));
        Some(number)
    }

    /// Decides whether there is an attempt to wait for.
    fn begin_waiting(&self, state: &ConnectionState) -> ReadyWait {
        let timing = &self.core.shared.timing;
        match state {
            ConnectionState::Failed(failed) => {
                let recent = failed.since.elapsed() < timing.longest_pause;
                if failed.retry_at.is_none() && recent {
                    return ReadyWait::Over(Err(ConnectionNotReady::Failed(failed.clone())));
                }
                ReadyWait::After(failed.number)
            }
            ConnectionState::NeedsAuth(needs) if needs.since.elapsed() < timing.needs_auth => {
                ReadyWait::Over(Err(ConnectionNotReady::NeedsAuth(needs.clone())))
            }
            ConnectionState::NeedsAuth(needs) => ReadyWait::After(needs.number),
            ConnectionState::Pending(pending) => ReadyWait::After(pending.number.saturating_sub(1)),
            // The session that was about to stop may go on.
            ConnectionState::Idle(idle) => ReadyWait::After(idle.number.saturating_sub(1)),
            ConnectionState::Connected(live) => ReadyWait::Over(Ok(live.clone())),
            ConnectionState::Stopped => ReadyWait::Over(Err(ConnectionNotReady::Stopped)),
        }
    }

    /// Whether the server is unusable before a person signs in, and there is a page to sign in on.
    pub fn awaits_sign_in(&self) -> bool {
        let is_missing = match &*self.state.borrow() {
            ConnectionState::NeedsAuth(_) => true,
            // No later result is known yet.
            ConnectionState::Pending(pending) => {
                pending.last.as_ref().is_some_and(|error| error.remedy() == Remedy::SignIn)
            }
            _ => false,
        };
        is_missing && self.core.spec.credentials.sign_in_page().is_some()
    }

    /// Returns the sessions with calls in flight, and how many each has.
    pub fn sessions_in_flight(&self) -> Vec<(String, usize)> {
        self.core.in_flight.sessions()
    }

    /// Records that a call on `live` was answered, after `took`.
    pub fn record_success(&self, live: &LiveSession, took: Duration) {
        if self.is_current(live) {
            self.core.strikes.clear(live.number);
        }
        self.core.tally.record_call(took);
    }

    /// Records that a call on `live` failed. Some failures end the session at once, others when several come in a
    /// row.
    pub fn record_failure(&self, live: &LiveSession, error: &wire::Error) {
        if self.is_current(live) {
            self.core.strike(live.number, error);
        }
    }

    fn is_current(&self, live: &LiveSession) -> bool {
        matches!(&*self.state.borrow(), ConnectionState::Connected(current) if current.number == live.number)
    }

    /// Marks that a client's first list has waited in vain for this server's lists. Later lists do not wait for the
    /// server until it has answered, or is connected again.
    pub(crate) fn mark_overdue(&self) {
        self.core.is_overdue.store(true, Ordering::Relaxed);
    }

    /// Whether a client's first list has waited in vain for this server's lists.
    pub(crate) fn is_overdue(&self) -> bool {
        self.core.is_overdue.load(Ordering::Relaxed)
    }

    /// Reconnects by hand: forgets everything learnt about the server, and connects now.
    pub fn reconnect(&self) {
        self.core.is_overdue.store(false, Ordering::Relaxed);
        self.core.requests.ask(|asked| asked.reconnect = true);
    }

    /// Reads a list again.
    pub fn refresh(&self, list: ListKind) {
        self.core.requests.refresh(list, ReadUrgency::Now);
    }

    /// Ends the connection and waits until it is gone: calls have failed, the process has exited, the session is
    /// deleted at the server, the task has ended. May be called several times and concurrently.
    pub async fn stop(&self) {
        self.core.stop.cancel();
        let mut state = self.state.clone();
        // Fails only if the task is gone already.
        let _ = state.wait_for(|state| matches!(state, ConnectionState::Stopped)).await;
    }

    /// Returns the statistics of the connection.
    pub fn stats(&self) -> ConnectionStats {
        ConnectionStats::merge([self.stats_sample()])
    }

    /// Returns the statistics of the connection, to be merged with those of others.
    pub(crate) fn stats_sample(&self) -> StatsSample {
        let pid = match &*self.state.borrow() {
            ConnectionState::Connected(live) => {
                live.client.process().map(switchboard_process::Process::pid)
            }
            _ => None,
        };
        self.core.tally.sample(self.core.in_flight.count(), pid)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("server", &self.core.spec.server)
            .field("key", &self.core.key)
            .field("state", &self.state.borrow().word())
            .finish_non_exhaustive()
    }
}

/// The next step of a caller that wants a session.
enum ReadyWait {
    /// The result is known.
    Over(Result<Arc<LiveSession>, ConnectionNotReady>),
    /// Wait for the result of an attempt after this one.
    After(u64),
}

/// The result of an attempt after `seen`, if there is one.
fn attempt_result(
    state: &ConnectionState,
    seen: u64,
) -> Option<Result<Arc<LiveSession>, ConnectionNotReady>> {
    match state {
        ConnectionState::Pending(_) | ConnectionState::Idle(_) => None,
        ConnectionState::Connected(live) => (live.number > seen).then(|| Ok(live.clone())),
        ConnectionState::Failed(failed) => {
            (failed.number > seen).then(|| Err(ConnectionNotReady::Failed(failed.clone())))
        }
        ConnectionState::NeedsAuth(needs) => {
            (needs.number > seen).then(|| Err(ConnectionNotReady::NeedsAuth(needs.clone())))
        }
        ConnectionState::Stopped => Some(Err(ConnectionNotReady::Stopped)),
    }
}

// === impl ConnectionCore ===

impl ConnectionCore {
    /// Notes a failed request on a session. Returns whether the session is broken.
    fn note_failure(&self, session: u64, error: &wire::Error) -> bool {
        self.strikes.note(session, error, self.shared.timing.strikes)
    }

    /// Notes a failed call; the task ends a broken session.
    fn strike(&self, session: u64, error: &wire::Error) {
        if self.note_failure(session, error) {
            let lost = (session, ConnectionError::from(error.clone()));
            self.requests.ask(|asked| asked.lost = Some(lost));
        }
    }
}
