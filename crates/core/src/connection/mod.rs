//! One connection to one server: a task that keeps it up, and a handle for everyone else.
//!
//! A [`ConnectionSpec`] says what to connect to; specs with equal [`ConnectionKey`]s may share a connection. The task alone
//! writes the connection's [`ConnectionState`] and its [`RawLists`]; everyone else reads. It connects, reads the
//! lists, takes what the server says by itself, and when the session is lost tries again with growing
//! pauses, for as long as trying can help.
//!
//! This module refuses to know what a call is for, what is in a list, and which servers are desired.

mod call_admission;
mod capability_class;
mod code_variables;
mod connect_permits;
mod context;
mod env_file;
mod error;
mod key;
mod list_reader;
mod listener;
mod lists;
mod liveness;
mod proxy;
mod session;
mod sign_in;
mod spec;
mod state;
mod stats;
mod strikes;
mod target;
mod task;
mod task_requests;
mod timing;
mod tls;

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use switchboard_wire::{
    self as wire, Era, Remedy, Version,
    client::{ListKind, ServerFacts},
};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use call_admission::CallAdmission;
pub use capability_class::CapabilityClass;
pub use context::ConnectionContext;
pub use error::{ConnectionBusy, ConnectionError, ConnectionLimit, ConnectionNotReady};
pub use key::{ConnectionKey, EntryKey, ServerKey};
pub use listener::{ConnectionEvent, ConnectionListener};
pub use lists::{ALL_LISTS, RawList, RawLists};
pub use proxy::proxies_from_environment;
pub use sign_in::SignInError;
pub use spec::{ConnectGroup, ConnectionSharing, ConnectionSpec, ConnectionTarget, InProcessLink};
pub use state::{ConnectionAttempt, ConnectionFailure, ConnectionState, LiveSession, SignInNeeded};
pub(crate) use stats::StatsSample;
pub use stats::{CallLatency, ConnectionStats};
pub use target::PARENT_MARKER_VARIABLE;
pub use timing::{ConnectionTiming, RetryJitter};
pub use tls::entry_pool_options;

pub(crate) use capability_class::declares;

use task_requests::{ReadUrgency, TaskRequests};

/// A handle on one connection. When the last one is dropped the connection ends, without anybody
/// waiting for that; [`Connection::stop`] waits.
pub struct Connection {
    core: Arc<ConnectionCore>,
    state: watch::Receiver<ConnectionState>,
    lists: watch::Receiver<Arc<RawLists>>,
    _stop: DropGuard,
}

/// What the handle and the task have in common.
struct ConnectionCore {
    key: ConnectionKey,
    server_key: ServerKey,
    entry_key: EntryKey,
    spec: ConnectionSpec,
    /// What it connects to, as eras are remembered, once that was found out.
    target: OnceLock<String>,
    shared: Arc<ConnectionContext>,
    requests: TaskRequests,
    strikes: strikes::Strikes,
    in_flight: call_admission::InFlight,
    tally: stats::StatsRecorder,
    /// Whether a first list has waited in vain for what the server offers, since it was last connected.
    is_overdue: AtomicBool,
    stop: CancellationToken,
}

// === impl Connection ===

impl Connection {
    /// Begins to connect. Must be called within a runtime. The key is computed here, which may block
    /// for as long as looking for a file does; see [`Connection::start_keyed`].
    pub fn start(
        spec: ConnectionSpec,
        shared: Arc<ConnectionContext>,
        listener: Arc<dyn ConnectionListener>,
    ) -> Arc<Self> {
        let entry_key = spec.entry_key();
        Self::start_keyed(entry_key, spec, shared, listener)
    }

    /// The same for a spec whose entry's key is known.
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
        // Only now is there a connection for the task to speak of.
        task.map(|task| tokio::spawn(task.run()));
        connection
    }

    /// Names it.
    pub fn key(&self) -> ConnectionKey {
        self.core.key
    }

    /// Names its server, for all principals and sessions alike.
    pub fn server_key(&self) -> ServerKey {
        self.core.server_key
    }

    /// Names its server, whatever is declared to it.
    pub fn entry_key(&self) -> EntryKey {
        self.core.entry_key
    }

    /// What its server said of itself, now or when it was last up.
    pub fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.lists.borrow().facts.clone()
    }

    /// The era of its server: as it is spoken, or as it was spoken before this connection was made.
    pub fn known_era(&self) -> Option<Era> {
        let spoken = self.facts().map(|facts| facts.era());
        let before = || self.core.shared.eras.get(self.core.target.get()?).map(Version::era);
        spoken.or_else(before)
    }

    /// Whether its server, which was reached in the modern era, has the legacy one too, if that is known.
    pub(crate) fn has_legacy_too(&self) -> Option<bool> {
        self.core.shared.eras.legacy_too(self.core.target.get()?)
    }

    /// Remembers whether it has.
    pub(crate) fn note_legacy_too(&self, has_it: bool) {
        if let Some(target) = self.core.target.get() {
            self.core.shared.eras.put_legacy_too(target, has_it);
        }
    }

    /// What it is to.
    pub fn spec(&self) -> &ConnectionSpec {
        &self.core.spec
    }

    /// What it is doing.
    pub fn state(&self) -> ConnectionState {
        self.state.borrow().clone()
    }

    /// What it is doing, and will be.
    pub fn watch(&self) -> watch::Receiver<ConnectionState> {
        self.state.clone()
    }

    /// The server's lists, as last read. Those whose time is up are read again meanwhile.
    pub fn lists(&self) -> Arc<RawLists> {
        let lists = self.lists.borrow().clone();
        for list in lists.expired_lists() {
            self.core.requests.refresh(list, ReadUrgency::WhenOld);
        }
        lists
    }

    /// The server's lists, and what they will be.
    pub fn watch_lists(&self) -> watch::Receiver<Arc<RawLists>> {
        self.lists.clone()
    }

    /// Whether each list was read, or could not be.
    pub fn knows_lists(&self) -> bool {
        self.lists.borrow().is_known()
    }

    /// Waits for a session, for as long as connecting may take.
    ///
    /// A server that is waited for does not queue, and an attempt that lies ahead is made now, though
    /// not within a second of the one before. Where no attempt lies ahead one is made if the last is
    /// long ago, and its error is given again if not. Returns as soon as one attempt has failed.
    ///
    /// A session that was opened before a person signed in or out is never given: it ends, and another is waited for.
    pub async fn ready(&self) -> Result<Arc<LiveSession>, ConnectionNotReady> {
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

    /// Has a server that is down tried again, though not within a second of the attempt before.
    pub fn retry(&self) {
        self.core.requests.ask(|asked| asked.looked_at = true);
    }

    /// The same for one whose last attempt failed at least `ago`. Says whether it is tried again, and returns when the
    /// attempt has begun.
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

    /// The same as [`Connection::check`], and waits for what comes of a new attempt for as long as for an answer.
    pub(crate) async fn check_to_the_end(&self) {
        self.check().await;
        let mut state = self.state.clone();
        let attempted = state.wait_for(|state| !matches!(state, ConnectionState::Pending(_)));
        // An attempt that takes longer is shown as one that is under way.
        let _ = timeout(self.core.shared.timing.ping_patience, attempted).await;
    }

    /// Asks a connected server whether it still answers, and waits until that is known; one that is down is tried again.
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

    /// What comes of the next attempt after `number`, which is made as soon as may be.
    async fn next_attempt_result(
        &self,
        number: u64,
    ) -> Result<Arc<LiveSession>, ConnectionNotReady> {
        self.core.requests.ask(|asked| asked.wanted = true);
        let mut state = self.state.clone();
        match state.wait_for(|state| attempt_result(state, number).is_some()).await {
            Ok(state) => attempt_result(&state, number).unwrap_or(Err(ConnectionNotReady::Stopped)),
            // The task is gone, which it is only together with its runtime.
            Err(_) => Err(ConnectionNotReady::Stopped),
        }
    }

    /// The attempt that led to the present session, or to its refusal, if a person has signed in or out since: another
    /// one is made then.
    async fn outdated_attempt(&self) -> Option<u64> {
        let (number, sign_in) = match &*self.state.borrow() {
            ConnectionState::Connected(live) => (live.number, live.sign_in),
            ConnectionState::NeedsAuth(needs) => (needs.number, needs.sign_in),
            _ => return None,
        };
        if self.core.spec.credentials.sign_in_revision().await == sign_in {
            return None;
        }
        self.core.requests.ask(|asked| asked.sign_in_changed = Some(number));
        Some(number)
    }

    /// Whether there is anything to wait for.
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
            ConnectionState::Connected(live) => ReadyWait::Over(Ok(live.clone())),
            ConnectionState::Stopped => ReadyWait::Over(Err(ConnectionNotReady::Stopped)),
        }
    }

    /// Whether nothing can be done before somebody signs in, and there is a page where they can.
    pub fn awaits_sign_in(&self) -> bool {
        let is_missing = match &*self.state.borrow() {
            ConnectionState::NeedsAuth(_) => true,
            // Nothing is known yet that would be better.
            ConnectionState::Pending(pending) => {
                pending.last.as_ref().is_some_and(|error| error.remedy() == Remedy::SignIn)
            }
            _ => false,
        };
        is_missing && self.core.spec.credentials.sign_in_page().is_some()
    }

    /// Lets a call of `session` in, if there are not too many in flight.
    pub fn admit(self: &Arc<Self>, session: Arc<str>) -> Result<CallAdmission, ConnectionBusy> {
        CallAdmission::new(self.clone(), session)
    }

    /// Which sessions have calls in flight, and how many.
    pub fn sessions_in_flight(&self) -> Vec<(String, usize)> {
        self.core.in_flight.sessions()
    }

    /// A call on `live` was answered, after `took`.
    pub fn record_success(&self, live: &LiveSession, took: Duration) {
        if self.is_current(live) {
            self.core.strikes.clear(live.number);
        }
        self.core.tally.record_call(took);
    }

    /// A call on `live` failed. Failures that say the session is no good end it: some at once, some
    /// when they come in a row.
    pub fn record_failure(&self, live: &LiveSession, error: &wire::Error) {
        if self.is_current(live) {
            self.core.strike(live.number, error);
        }
    }

    fn is_current(&self, live: &LiveSession) -> bool {
        matches!(&*self.state.borrow(), ConnectionState::Connected(current) if current.number == live.number)
    }

    /// Notes that a first list has waited in vain for what the server offers. Later lists do not wait for it until it
    /// has answered, or is connected again.
    pub(crate) fn mark_overdue(&self) {
        self.core.is_overdue.store(true, Ordering::Relaxed);
    }

    /// Whether a first list has waited in vain for what the server offers.
    pub(crate) fn is_overdue(&self) -> bool {
        self.core.is_overdue.load(Ordering::Relaxed)
    }

    /// Begins anew, by hand: everything remembered of the server is forgotten, and it is connected now.
    pub fn reconnect(&self) {
        self.core.is_overdue.store(false, Ordering::Relaxed);
        self.core.requests.ask(|asked| asked.reconnect = true);
    }

    /// Reads a list again.
    pub fn refresh(&self, list: ListKind) {
        self.core.requests.refresh(list, ReadUrgency::Now);
    }

    /// Ends it and waits until nothing is left: calls fail, the process is gone, the session is deleted
    /// at the server, the task has ended. May be called by many and again.
    pub async fn stop(&self) {
        self.core.stop.cancel();
        let mut state = self.state.clone();
        // It fails only if the task is gone already.
        let _ = state.wait_for(|state| matches!(state, ConnectionState::Stopped)).await;
    }

    /// Numbers about it.
    pub fn stats(&self) -> ConnectionStats {
        ConnectionStats::merge([self.stats_sample()])
    }

    /// The same, to be merged with those of other connections.
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

/// What whoever asks for a session has to do.
enum ReadyWait {
    /// Nothing: this is the answer.
    Over(Result<Arc<LiveSession>, ConnectionNotReady>),
    /// Wait for what comes of an attempt after this one.
    After(u64),
}

/// What came of an attempt after the one `seen`, if anything did.
fn attempt_result(
    state: &ConnectionState,
    seen: u64,
) -> Option<Result<Arc<LiveSession>, ConnectionNotReady>> {
    match state {
        ConnectionState::Pending(_) => None,
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

// === impl Core ===

impl ConnectionCore {
    /// Notes a failure of something asked of a session. Whether the session is no good.
    fn note_failure(&self, session: u64, error: &wire::Error) -> bool {
        self.strikes.note(session, error, self.shared.timing.strikes)
    }

    /// Notes a failure of a call; the task gives up a session that is no good.
    fn strike(&self, session: u64, error: &wire::Error) {
        if self.note_failure(session, error) {
            let lost = (session, ConnectionError::from(error.clone()));
            self.requests.ask(|asked| asked.lost = Some(lost));
        }
    }
}
