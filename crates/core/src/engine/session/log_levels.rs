//! Log levels of legacy servers, which keep one level for all sessions that share a connection.
//!
//! Used by `dispatch::upstream` before each call, and by `engine::workspace::departure` when a session ends. A legacy
//! client asks for a level once, for its session; every other caller asks with a call, and for that call only. The
//! engine sends a server the most detailed level that a caller wants at the time, and sends it again when that
//! changes. It does not serve modern servers: they get the level with each call.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::Era;
use tokio::sync::Semaphore;

use crate::connection::{Connection, ConnectionKey, ConnectionState, LiveSession};
use crate::engine::{Caller, Inner, WorkspaceId};

/// Log levels, least severe first.
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What a server that was told a more detailed level goes back to when no caller wants any: `info`. What level a server
/// has by itself it does not say.
const USUAL_LEVEL: usize = 1;

/// The levels that are wanted of legacy servers.
#[derive(Debug, Default)]
pub(in crate::engine) struct LogLevels(Mutex<LevelTable>);

#[derive(Debug, Default)]
struct LevelTable {
    servers: HashMap<ConnectionKey, ServerLogLevel>,
    /// Numbers calls.
    calls: u64,
}

/// What is wanted of one connection.
#[derive(Debug)]
struct ServerLogLevel {
    wanted: HashMap<LevelOwner, usize>,
    told: ToldLevel,
    /// One caller at a time tells the server, so that the last level that it is told is the one that is wanted.
    turn: Arc<Semaphore>,
}

/// Who wants a level.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LevelOwner {
    Session(WorkspaceId, String),
    Call(u64),
}

/// What a server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToldLevel {
    Nothing,
    /// This session with the server is being told, or the caller that was telling it gave up.
    InDoubt(u64),
    /// This session with the server was told this level.
    Level(u64, usize),
}

/// A call that wants a level. Dropped, the call no longer wants it.
pub(crate) struct CallLogLevel {
    engine: Arc<Inner>,
    key: ConnectionKey,
    call: u64,
}

// === impl LogLevels ===

impl LogLevels {
    fn lock(&self) -> MutexGuard<'_, LevelTable> {
        self.0.lock()
    }

    /// Forgets what was wanted of connections that have ended.
    pub(in crate::engine) fn remove_connections(&self, ended: &[ConnectionKey]) {
        let mut table = self.lock();
        for key in ended {
            table.servers.remove(key);
        }
    }

    /// Forgets what a session wanted. The connections whose servers may have to be told.
    fn remove_session(&self, workspace: &WorkspaceId, session: &str) -> Vec<ConnectionKey> {
        let owner = LevelOwner::Session(workspace.clone(), session.to_owned());
        let mut table = self.lock();
        let wanted = table.servers.iter_mut();
        wanted.filter_map(|(key, server)| server.wanted.remove(&owner).map(|_| *key)).collect()
    }

    /// The level that a server has to be told now, if any.
    fn level_to_tell(&self, key: &ConnectionKey, live: &LiveSession) -> Option<usize> {
        self.lock().servers.get(key).and_then(|server| server.level_to_tell(live.number()))
    }

    /// The same, for the caller that tells it: until it has, the server's level is in doubt.
    fn begin_telling(&self, key: &ConnectionKey, live: &LiveSession) -> Option<usize> {
        let mut table = self.lock();
        let server = table.servers.get_mut(key)?;
        let level = server.level_to_tell(live.number())?;
        server.told = ToldLevel::InDoubt(live.number());
        Some(level)
    }

    fn note_told(&self, key: &ConnectionKey, live: &LiveSession, level: usize) {
        if let Some(server) = self.lock().servers.get_mut(key) {
            server.told = ToldLevel::Level(live.number(), level);
        }
    }

    fn turn(&self, key: &ConnectionKey) -> Option<Arc<Semaphore>> {
        self.lock().servers.get(key).map(|server| Arc::clone(&server.turn))
    }
}

// === impl LevelTable ===

impl LevelTable {
    fn want(&mut self, key: ConnectionKey, owner: LevelOwner, level: usize) {
        self.servers.entry(key).or_default().wanted.insert(owner, level);
    }
}

// === impl ServerLogLevel ===

impl Default for ServerLogLevel {
    fn default() -> Self {
        let turn = Arc::new(Semaphore::new(1));
        Self { wanted: HashMap::new(), told: ToldLevel::Nothing, turn }
    }
}

impl ServerLogLevel {
    /// The level that a session with the server has to be told. Where no caller wants a level any more, the server logs
    /// no more than usual.
    fn level_to_tell(&self, live: u64) -> Option<usize> {
        let told = match self.told {
            ToldLevel::Level(session, level) if session == live => Some(level),
            _ => None,
        };
        match self.wanted.values().min().copied() {
            Some(wanted) => (told != Some(wanted)).then_some(wanted),
            None => {
                let is_detailed = told.is_some_and(|level| level < USUAL_LEVEL);
                (is_detailed || self.told == ToldLevel::InDoubt(live)).then_some(USUAL_LEVEL)
            }
        }
    }
}

// === impl CallLogLevel ===

impl Drop for CallLogLevel {
    fn drop(&mut self) {
        if let Some(server) = self.engine.log_levels.lock().servers.get_mut(&self.key) {
            server.wanted.remove(&LevelOwner::Call(self.call));
        }
        self.engine.tell_log_level_later(self.key);
    }
}

// === impl Inner ===

impl Inner {
    /// A call wants log messages from `level` up. A legacy session wants them from then on, any other caller until what
    /// comes back is dropped.
    pub(crate) fn want_log_level(
        self: &Arc<Self>,
        caller: &Caller,
        connection: &Connection,
        live: &LiveSession,
        level: &str,
    ) -> Option<CallLogLevel> {
        let level = LOG_LEVELS.iter().position(|known| *known == level)?;
        if !keeps_one_level(live) {
            return None;
        }
        let key = connection.key();
        if caller.session().era == Some(Era::Legacy) {
            let (workspace, session) = (&caller.workspace().id, &caller.session().id);
            let owner = LevelOwner::Session(workspace.clone(), session.clone());
            self.log_levels.lock().want(key, owner, level);
            return None;
        }
        let call = {
            let mut table = self.log_levels.lock();
            table.calls += 1;
            let call = table.calls;
            table.want(key, LevelOwner::Call(call), level);
            call
        };
        Some(CallLogLevel { engine: Arc::clone(self), key, call })
    }

    /// Whether a server has to be told another level.
    pub(crate) fn has_log_level_to_tell(
        &self,
        connection: &Connection,
        live: &LiveSession,
    ) -> bool {
        self.log_levels.level_to_tell(&connection.key(), live).is_some()
    }

    /// Tells a server the level that is wanted. What is wanted is looked at once more when it is this caller's turn.
    pub(crate) async fn tell_log_level(&self, key: ConnectionKey, live: &LiveSession) {
        let Some(turn) = self.log_levels.turn(&key) else { return };
        // Nothing closes it.
        let Ok(_turn) = turn.acquire().await else { return };
        if !keeps_one_level(live) {
            return;
        }
        let Some(level) = self.log_levels.begin_telling(&key, live) else { return };
        if let Err(error) = live.client.set_log_level(LOG_LEVELS[level]).await {
            tracing::debug!(%error, "a server does not take a log level");
        }
        self.log_levels.note_told(&key, live, level);
    }

    /// A session has ended: servers are told what is wanted without it.
    pub(in crate::engine) fn end_session_log_levels(
        self: &Arc<Self>,
        workspace: &WorkspaceId,
        session: &str,
    ) {
        for key in self.log_levels.remove_session(workspace, session) {
            self.tell_log_level_later(key);
        }
    }

    /// Tells a connected server the level that is wanted, if it knows another.
    pub(in crate::engine) fn tell_log_level_later(self: &Arc<Self>, key: ConnectionKey) {
        let Some(connection) = self.pool.get(&key) else { return };
        let ConnectionState::Connected(live) = connection.state() else { return };
        // Without a runtime everything ends, connections too.
        let has_runtime = tokio::runtime::Handle::try_current().is_ok();
        if !has_runtime || self.log_levels.level_to_tell(&key, &live).is_none() {
            return;
        }
        let (engine, closing) = (Arc::clone(self), self.closing.clone());
        self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            engine.tell_log_level(key, &live).await;
        }));
    }
}

/// Whether a server has one level for everyone that shares its connection.
fn keeps_one_level(live: &LiveSession) -> bool {
    live.facts.era() == Era::Legacy && live.facts.has_capability(&["logging"])
}
