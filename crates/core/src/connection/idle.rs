//! Servers that are started when needed: restoring a kept catalog, and stopping a server that no call needs.
//!
//! Part of [`ConnectionTask`] and [`Connection`]; used by `connection::task`, `connection::session` and the engine. It
//! does not write catalogs (`engine::supervisor::catalog_keeper` does).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use switchboard_config::StartPolicy;
use switchboard_wire::client::ListKind;
use tokio::time::Instant;

use super::{
    Connection, ConnectionCore,
    catalog_record::{CatalogOrigin, CatalogRecord},
    catalog_store::{CatalogKey, CatalogStore},
    listener::ConnectionEvent,
    lists::RawLists,
    state::{ConnectionState, IdleConnection, LiveSession},
    task::{ConnectionTask, EndReason},
};

// === impl Connection ===

impl Connection {
    /// Returns the name of the server's kept catalog.
    pub(crate) fn catalog_key(&self) -> CatalogKey {
        self.core.catalog_key
    }

    /// Returns the store of kept catalogs.
    pub(crate) fn catalogs(&self) -> &Arc<CatalogStore> {
        &self.core.shared.catalogs
    }

    /// Returns the record of the server's lists, if they were all read in its last session, which may be over.
    pub(crate) fn catalog_record(&self) -> Option<CatalogRecord> {
        let (lists, sign_in_id) =
            (self.lists.borrow().clone(), self.core.sign_in_id.lock().clone());
        let spec = &self.core.spec;
        let origin = CatalogOrigin::new(&spec.server, spec.scope, &spec.working_dir);
        CatalogRecord::new(&lists, sign_in_id, self.core.target.get().cloned(), Some(origin))
    }

    /// Returns the server's lists without reading expired ones again.
    pub(crate) fn kept_lists(&self) -> Arc<RawLists> {
        self.lists.borrow().clone()
    }

    /// Whether the server is started when needed, and no call needs it.
    pub fn is_idle(&self) -> bool {
        matches!(&*self.state.borrow(), ConnectionState::Idle(_))
    }

    /// Whether the server waits for its first session, whose capabilities decide as what kind of client the
    /// connection is made.
    pub(crate) fn is_unstarted(&self) -> bool {
        self.core.is_unstarted.load(Ordering::Relaxed)
    }

    /// Starts a server that waits for its first session.
    pub fn start_now(&self) {
        if self.core.is_unstarted.swap(false, Ordering::Relaxed) {
            self.core.requests.ask(|_| {});
        }
    }

    /// Starts a server that is idle, or waits for its first session. Returns when the attempt has begun.
    pub(crate) async fn start_if_idle(&self) {
        self.start_now();
        if !self.is_idle() {
            return;
        }
        self.core.in_flight.mark_needed();
        self.core.requests.ask(|asked| asked.wanted = true);
        let mut state = self.state.clone();
        let begun = state.wait_for(|state| !matches!(state, ConnectionState::Idle(_)));
        // The task of a connection that is being stopped makes no more attempts.
        let longest = self.core.shared.timing.between_attempts * 2;
        let _ = tokio::time::timeout(longest, begun).await;
    }

    /// Whether a list is of an earlier session, and the server has not been asked for it since.
    pub(crate) fn is_unconfirmed(&self, list: ListKind) -> bool {
        self.lists.borrow().get(list).unconfirmed
    }

    /// Notes that the server has work that outlives its calls: its session is not stopped for being idle.
    pub(crate) fn note_lasting_work(&self, live: &LiveSession) {
        self.core.lasting_work.store(live.number, Ordering::Relaxed);
    }

    /// Follows a changed entry: its start policy is no part of the key.
    pub(crate) fn set_start_policy(&self, policy: StartPolicy) {
        let is_lazy = policy == StartPolicy::Lazy;
        if self.core.is_lazy.swap(is_lazy, Ordering::Relaxed) != is_lazy {
            // The task of an idle connection decides anew.
            self.core.requests.ask(|_| {});
        }
    }
}

// === impl ConnectionCore ===

impl ConnectionCore {
    /// Whether the server is started when needed.
    pub(super) fn is_lazy(&self) -> bool {
        self.is_lazy.load(Ordering::Relaxed) && self.shared.start == StartPolicy::Lazy
    }

    /// Whether a server without known lists waits for its first session.
    pub(super) fn waits_for_first_session(&self) -> bool {
        self.is_lazy() && self.spec.keeps_catalog()
    }

    /// Returns the kept catalog of the server.
    pub(super) fn load_catalog(&self) -> Option<CatalogRecord> {
        let record = || self.shared.catalogs.load(self.catalog_key, &self.spec.server);
        let is_used = self.spec.keeps_catalog() && self.shared.start == StartPolicy::Lazy;
        is_used.then(record).flatten()
    }

    /// Deletes the kept catalog of the server.
    pub(super) fn delete_catalog(&self) {
        if self.spec.keeps_catalog() {
            self.shared.catalogs.delete(self.catalog_key);
        }
    }
}

// === impl ConnectionTask ===

impl ConnectionTask {
    /// Shows the kept catalog, and stays idle if that is enough for now. `None` if the connection was stopped.
    pub(super) async fn begin_with_catalog(&mut self) -> Option<()> {
        let Some(record) = self.restored.take() else { return Some(()) };
        let core = self.core.clone();
        let credentials = &core.spec.credentials;
        let sign_in = self.unless_stopped(credentials.sign_in_revision()).await.ok()?;
        let id = self.unless_stopped(credentials.sign_in_id()).await.ok()?;
        if !record.is_of_sign_in(id.as_deref()) {
            // The lists of another principal must not be shown.
            self.core.delete_catalog();
            self.forget_session();
            self.publish_pending();
            return Some(());
        }
        self.sign_in = Some(sign_in);
        if self.lists.borrow().facts.is_none() {
            self.change_lists(|lists| {
                *lists = RawLists { generation: lists.generation, ..record.lists.clone() };
            });
        } else if !self.lists.borrow().tools.unconfirmed {
            // The lists of a former connection.
            self.change_lists(RawLists::mark_unconfirmed);
        }
        self.tell(ConnectionEvent::CatalogRestored);
        if !self.core.is_lazy() {
            return Some(());
        }
        self.publish_idle(record.read_at, 0);
        self.wait_for_next_attempt().await
    }

    /// Waits until a session or a person needs a server whose lists are not known, for a while. A session that is
    /// about to be attached decides which capabilities are declared to the server. `None` if the connection was
    /// stopped.
    pub(super) async fn wait_for_first_session(&self) -> Option<()> {
        let core = &self.core;
        let deadline = Instant::now() + core.shared.timing.first_session_wait;
        let is_waiting = || core.is_unstarted.load(Ordering::Relaxed) && core.is_lazy();
        while is_waiting() && !core.requests.lock().needs_session() {
            tokio::select! {
                biased;
                () = core.stop.cancelled() => return None,
                () = core.requests.changed() => {}
                () = tokio::time::sleep_until(deadline) => break,
            }
        }
        core.is_unstarted.store(false, Ordering::Relaxed);
        Some(())
    }

    /// Returns when to look whether the server is idle; `None` if the server is not stopped for that.
    pub(super) fn idle_check_at(&self, live: &LiveSession) -> Option<Instant> {
        let idle = self.core.shared.timing.server_idle?;
        let is_stoppable = self.core.is_lazy() && self.core.spec.keeps_catalog();
        let last = self.core.in_flight.idle_since().unwrap_or_else(Instant::now);
        let last = last.max(live.since).max(self.idle_checked_at.unwrap_or(live.since));
        is_stoppable.then(|| last.checked_add(idle)).flatten()
    }

    /// Stops the session if its server is idle.
    pub(super) fn end_if_idle(&mut self, live: &Arc<LiveSession>) -> Option<EndReason> {
        self.idle_checked_at = Some(Instant::now());
        if !self.is_idle(live) {
            return None;
        }
        let read_at = self.lists.borrow().read_at().unwrap_or_else(SystemTime::now);
        self.publish_idle(read_at, live.number);
        // A call that saw the state before has marked the connection as needed.
        if self.is_idle(live) {
            return Some(EndReason::Idle);
        }
        self.publish(ConnectionState::Connected(live.clone()));
        None
    }

    fn is_idle(&self, live: &LiveSession) -> bool {
        let idle = self.core.shared.timing.server_idle;
        let is_quiet = self.core.in_flight.idle_since().zip(idle);
        is_quiet.is_some_and(|(since, idle)| since.elapsed() >= idle)
            && self.core.lasting_work.load(Ordering::Relaxed) != live.number
            && self.lists.borrow().is_known()
            && !self.is_needed()
    }

    fn is_needed(&self) -> bool {
        let connection = self.connection.upgrade();
        connection.is_some_and(|connection| self.listener.needs_connection(&connection))
    }

    fn publish_idle(&self, lists_read_at: SystemTime, number: u64) {
        let sign_in = self.sign_in.unwrap_or_default();
        self.publish(ConnectionState::Idle(IdleConnection { lists_read_at, number, sign_in }));
    }
}
