//! The task of a connection: connects, runs the session, and reconnects.
//!
//! Used by `Connection::start`. An attempt ends in a session or an error; a session ends in a reason; and after every
//! reason but *stop* comes a pause, then the next attempt. It does not do the work during a session
//! (`connection::session` does).

use std::{
    future::Future,
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use switchboard_wire::{
    self as wire, Remedy,
    client::{Client, ServerInbox},
    http::SignInRevision,
};
use tokio::{sync::watch, time::Instant};

use super::{
    Connection, ConnectionCore, ConnectionError,
    catalog_record::CatalogRecord,
    connect_permits::ConnectPermit,
    listener::{ConnectionEvent, ConnectionListener},
    lists::{ALL_LISTS, RawLists},
    liveness::Liveness,
    session::sleep_until,
    spec::ConnectionTarget,
    state::{
        ConnectionAttempt, ConnectionFailure, ConnectionState, IdleConnection, LiveSession,
        SignInNeeded,
    },
    target,
};

/// The task of a connection.
pub(super) struct ConnectionTask {
    pub(super) core: Arc<ConnectionCore>,
    pub(super) connection: Weak<Connection>,
    pub(super) listener: Arc<dyn ConnectionListener>,
    state: watch::Sender<ConnectionState>,
    pub(super) lists: watch::Sender<Arc<RawLists>>,
    /// How many attempts were made in all.
    number: u64,
    /// How many attempts were made since the server last answered, the first one not counted.
    retries: u32,
    /// When the server was lost after it had answered, as far as that still counts.
    losses: Vec<Instant>,
    /// When the last attempt began.
    began: Instant,
    /// The error of the last attempt.
    last: Option<ConnectionError>,
    /// The key of the server's address in the era cache.
    target: Option<String>,
    /// The sign-in that the last attempt was made with.
    pub(super) sign_in: Option<SignInRevision>,
    /// The kept catalog that the connection begins with.
    pub(super) restored: Option<CatalogRecord>,
    /// When the task last looked whether the server is idle.
    pub(super) idle_checked_at: Option<Instant>,
}

/// Why an attempt or a session is over.
pub(super) enum EndReason {
    /// The connection was stopped.
    Stopped,
    /// A reconnect was requested.
    Requested,
    /// A person has signed in or out.
    SignInChanged,
    /// No call has needed the server for a while.
    Idle,
    /// Connecting failed, or the session was lost.
    Failed(ConnectionError),
}

/// How far an attempt came before it failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptProgress {
    /// There was no session.
    Nothing,
    /// There was a session, in which the server answered nothing.
    Session,
    /// The server answered: it works once it is started.
    Service,
}

// === impl ConnectionTask ===

impl ConnectionTask {
    pub(super) fn new(
        core: Arc<ConnectionCore>,
        connection: Weak<Connection>,
        listener: Arc<dyn ConnectionListener>,
    ) -> (Self, watch::Receiver<ConnectionState>, watch::Receiver<Arc<RawLists>>) {
        let former = core.shared.former.take(&core.key);
        let restored = core.load_catalog();
        if let Some(target) = restored.as_ref().and_then(|record| record.target.clone()) {
            // The address never changes during the connection's life.
            let _ = core.target.set(target);
        }
        let is_unstarted = restored.is_none() && former.is_none() && core.waits_for_first_session();
        core.is_unstarted.store(is_unstarted, Ordering::Relaxed);
        let first = first_state(&core, restored.as_ref());
        // The lists of a server with a sign-in are shown once it is known that the sign-in is the same.
        let kept = || restored.as_ref().filter(|record| record.sign_in_id.is_none());
        let lists = former.or_else(|| kept().map(|record| Arc::new(record.lists.clone())));
        let (state, reading_state) = watch::channel(first);
        let (lists, reading_lists) = watch::channel(lists.unwrap_or_default());
        let task = Self {
            core,
            connection,
            listener,
            state,
            lists,
            number: 0,
            retries: 0,
            losses: Vec::new(),
            began: Instant::now(),
            last: None,
            target: None,
            sign_in: None,
            restored,
            idle_checked_at: None,
        };
        (task, reading_state, reading_lists)
    }

    pub(super) async fn run(mut self) {
        let mut goes_on = self.begin_with_catalog().await.is_some()
            && self.wait_for_first_session().await.is_some();
        while goes_on {
            let ended = match self.attempt().await {
                Ok((live, inbox)) => self.session(&live, inbox).await,
                Err(EndReason::Failed(error)) => {
                    self.publish_failure(error, AttemptProgress::Nothing);
                    EndReason::Requested
                }
                Err(ended) => ended,
            };
            goes_on = !matches!(ended, EndReason::Stopped)
                && self.wait_for_next_attempt().await.is_some();
        }
        self.retire();
    }

    // --- one attempt

    async fn attempt(&mut self) -> Result<(Arc<LiveSession>, ServerInbox), EndReason> {
        // Read before the first request, so that a sign-in during the attempt is noticed afterwards.
        let sign_in = self.core.spec.credentials.sign_in_revision();
        let sign_in = self.unless_stopped(sign_in).await?;
        self.follow_sign_in(sign_in);
        let core = self.core.clone();
        let id = self.unless_stopped(core.spec.credentials.sign_in_id()).await?;
        *core.sign_in_id.lock() = id;
        self.forget_if_asked();
        self.number += 1;
        self.publish_pending();
        let slot = self.unless_stopped(self.acquire_permit()).await?;
        self.began = Instant::now();
        let connected = self.connect(slot).await;
        let asked_anew = {
            let mut asked = self.core.requests.lock();
            // Callers that waited for this attempt have their answer.
            (asked.wanted, asked.looked_at) = (false, false);
            asked.reconnect
        };
        match connected {
            Ok((client, inbox)) => {
                let live = self.live(client);
                // A sign-in without a page of the server, with an identity provider for example, happens meanwhile.
                // Stopped here, the session below still ends its process: only `session` waits for that.
                if core.sign_in_id.lock().is_none()
                    && let Ok(id) = self.unless_stopped(core.spec.credentials.sign_in_id()).await
                {
                    *core.sign_in_id.lock() = id;
                }
                Ok((live, inbox))
            }
            Err(_) if self.core.stop.is_cancelled() => Err(EndReason::Stopped),
            Err(_) if asked_anew => Err(EndReason::Requested),
            Err(error) => Err(EndReason::Failed(error)),
        }
    }

    /// Waits for a connect slot. A server that a call waits for needs none.
    async fn acquire_permit(&self) -> Option<ConnectPermit> {
        tokio::select! {
            biased;
            () = self.core.requests.wait_until(|asked| asked.wanted) => None,
            slot = self.core.shared.slots.acquire(self.core.spec.connect_group()) => slot,
        }
    }

    /// Connects. An attempt that takes long gives its slot to the next server.
    async fn connect(
        &mut self,
        slot: Option<ConnectPermit>,
    ) -> Result<(Client, ServerInbox), ConnectionError> {
        let target = self.prepare().await?;
        let key = target.key();
        // The address never changes during the connection's life.
        let _ = self.core.target.set(key.clone());
        self.target = Some(key);
        let options = target::options(&self.core.spec, &self.core.shared);
        let core = &self.core;
        let abandoned = async {
            tokio::select! {
                () = core.stop.cancelled() => {}
                () = core.requests.wait_until(|asked| asked.reconnect) => {}
            }
        };
        let mut connecting =
            std::pin::pin!(Client::connect_cancellable(target, options, abandoned));
        tokio::select! {
            connected = &mut connecting => return Ok(connected?),
            () = tokio::time::sleep(core.shared.timing.slot_kept) => drop(slot),
        }
        Ok(connecting.await?)
    }

    /// Builds the target off the runtime's threads, since that reads files.
    async fn prepare(&self) -> Result<wire::client::ServerTarget, ConnectionError> {
        let core = self.core.clone();
        if let ConnectionTarget::InProcess(_) = core.spec.reach {
            return target::build(&core.spec, &core.shared);
        }
        let building = tokio::task::spawn_blocking(move || target::build(&core.spec, &core.shared));
        match self.core.stop.run_until_cancelled(building).await {
            None => Err(wire::Error::Closed.into()),
            Some(Err(error)) => Err(ConnectionError::Preparing(Arc::new(error))),
            Some(Ok(built)) => built,
        }
    }

    fn live(&self, client: Client) -> Arc<LiveSession> {
        let facts = client.server_facts();
        let connect_took = self.began.elapsed();
        Arc::new(LiveSession {
            client,
            facts,
            since: Instant::now(),
            connect_took,
            number: self.number,
            sign_in: self.sign_in.unwrap_or_default(),
            verdict: Liveness::channel(),
        })
    }

    // --- between sessions

    /// Decides the next state after a failure, and publishes it.
    pub(super) fn publish_failure(&mut self, error: ConnectionError, reached: AttemptProgress) {
        self.core.tally.record_failure(&error);
        self.last = Some(error.clone());
        let remedy = error.remedy();
        if remedy == Remedy::SignIn {
            // The next process must not show the lists either.
            self.core.delete_catalog();
            let sign_in = self.sign_in.unwrap_or_default();
            let needs = SignInNeeded::new(error, self.number, sign_in);
            return self.publish(ConnectionState::NeedsAuth(Arc::new(needs)));
        }
        // A server that worked once may work again, after any error.
        let hopeful = reached != AttemptProgress::Nothing || remedy == Remedy::Retry;
        let since = Instant::now();
        let retry_at = hopeful.then(|| since + self.pause(since, reached));
        self.publish(ConnectionState::Failed(Arc::new(ConnectionFailure {
            error,
            was_connected: reached != AttemptProgress::Nothing,
            retry_at,
            retries: self.retries,
            number: self.number,
            since,
        })));
    }

    /// Returns how long to wait before the next attempt. A server that has answered works once it is started, so
    /// only the number of recent losses counts. Others are tried less and less often.
    fn pause(&mut self, now: Instant, reached: AttemptProgress) -> Duration {
        let (timing, salt) = (&self.core.shared.timing, self.core.key.number());
        if reached == AttemptProgress::Service {
            self.retries = 0;
            self.losses.retain(|at| now.duration_since(*at) < timing.losses_counted_for);
            self.losses.push(now);
            let losses = u32::try_from(self.losses.len()).unwrap_or(u32::MAX);
            return timing.restart_pause(losses, salt);
        }
        let pause = timing.pause(self.retries, salt);
        self.retries = self.retries.saturating_add(1);
        pause
    }

    /// Waits until it is time for the next attempt; `None` if there is to be none.
    pub(super) async fn wait_for_next_attempt(&self) -> Option<()> {
        loop {
            let due = self.next_attempt_at();
            let coming = sleep_until(due);
            tokio::select! {
                biased;
                () = self.core.stop.cancelled() => return None,
                () = coming => return Some(()),
                () = self.sign_in_changed() => return Some(()),
                () = self.core.requests.changed() => {}
            }
        }
    }

    /// Waits until a person has signed in, where a sign-in is needed.
    async fn sign_in_changed(&self) {
        let since = match &*self.state.borrow() {
            ConnectionState::NeedsAuth(needs) => Some(needs.sign_in),
            ConnectionState::Idle(idle) => Some(idle.sign_in),
            _ => None,
        };
        match since {
            Some(since) => self.core.spec.credentials.sign_in_changed(since).await,
            None => std::future::pending().await,
        }
    }

    /// Returns when the next attempt is due.
    fn next_attempt_at(&self) -> Option<Instant> {
        let timing = &self.core.shared.timing;
        let asked = self.core.requests.lock();
        let (now, soonest) = (Instant::now(), self.began + timing.between_attempts);
        match &*self.state.borrow() {
            _ if asked.reconnect => Some(now),
            ConnectionState::NeedsAuth(needs) if asked.sign_in_changed == Some(needs.number) => {
                Some(now)
            }
            ConnectionState::Failed(failed) => match failed.retry_at {
                Some(at) if asked.wanted || asked.looked_at => Some(soonest.min(at)),
                Some(at) => Some(at),
                None if asked.looked_at => Some(soonest),
                None => (asked.wanted && failed.since + timing.longest_pause <= now).then_some(now),
            },
            ConnectionState::NeedsAuth(needs) => {
                (asked.wanted && needs.since + timing.needs_auth <= now).then_some(now)
            }
            ConnectionState::Idle(idle) => {
                let has_changed = asked.sign_in_changed == Some(idle.number);
                // Expired lists are read again when the server is started next.
                let is_needed = asked.wanted || asked.needs_list_now() || has_changed;
                (is_needed || !self.core.is_lazy()).then_some(now)
            }
            ConnectionState::Pending(_) | ConnectionState::Connected(_) => Some(now),
            ConnectionState::Stopped => None,
        }
    }

    fn follow_sign_in(&mut self, sign_in: SignInRevision) {
        let before = self.sign_in.replace(sign_in);
        if before.is_some_and(|before| before != sign_in) {
            self.forget_session();
        }
    }

    /// Forgets the lists and facts of another sign-in: they must not be shown under this one.
    pub(super) fn forget_session(&mut self) {
        self.retries = 0;
        self.losses.clear();
        self.last = None;
        self.core.delete_catalog();
        let gone: Vec<_> = ALL_LISTS.into_iter().filter(|list| self.has_items(*list)).collect();
        self.forget_lists();
        for list in gone {
            self.tell(ConnectionEvent::ListsChanged(list));
        }
    }

    /// On a requested reconnect, forgets everything learnt about the server.
    fn forget_if_asked(&mut self) {
        if !std::mem::take(&mut self.core.requests.lock().reconnect) {
            return;
        }
        self.retries = 0;
        self.losses.clear();
        self.last = None;
        if let Some(target) = self.target.take() {
            self.core.shared.eras.forget(&target);
        }
        self.core.delete_catalog();
        self.forget_lists();
    }

    fn forget_lists(&mut self) {
        self.change_lists(|lists| {
            *lists = RawLists { generation: lists.generation, ..RawLists::default() };
        });
    }

    // --- telling

    pub(super) fn publish_pending(&self) {
        let (number, retries, last) = (self.number, self.retries, self.last.clone());
        self.publish(ConnectionState::Pending(ConnectionAttempt { number, retries, last }));
    }

    pub(super) fn publish(&self, state: ConnectionState) {
        self.core.tally.history.record(&state);
        self.state.send_replace(state);
        self.tell(ConnectionEvent::StateChanged);
    }

    /// Sends an event to the listener, while a handle on the connection exists.
    pub(super) fn tell(&self, notice: ConnectionEvent) {
        if let Some(connection) = self.connection.upgrade() {
            self.listener.handle_event(&connection, notice);
        }
    }

    /// Publishes the end of the connection, and keeps its lists for a later one.
    fn retire(self) {
        let lists = self.lists.borrow().clone();
        if lists.facts.is_some() {
            self.core.shared.former.keep(self.core.key, lists);
        }
        self.publish(ConnectionState::Stopped);
    }

    pub(super) async fn unless_stopped<T>(
        &self,
        waiting: impl Future<Output = T>,
    ) -> Result<T, EndReason> {
        self.core.stop.run_until_cancelled(waiting).await.ok_or(EndReason::Stopped)
    }
}

/// The state before the task has done anything: idle where a kept catalog will do, else pending.
fn first_state(core: &ConnectionCore, restored: Option<&CatalogRecord>) -> ConnectionState {
    let is_enough = |record: &&CatalogRecord| core.is_lazy() && record.sign_in_id.is_none();
    match restored.filter(is_enough) {
        Some(record) => ConnectionState::Idle(IdleConnection {
            lists_read_at: record.read_at,
            number: 0,
            sign_in: SignInRevision::default(),
        }),
        None => ConnectionState::Pending(ConnectionAttempt { number: 1, retries: 0, last: None }),
    }
}
