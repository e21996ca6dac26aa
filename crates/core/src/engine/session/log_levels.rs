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

/// The level `info`, which a server gets when no caller wants a level any more. A server does not say which level it
/// had at first.
const USUAL_LEVEL: usize = 1;

/// The log levels that callers want from legacy servers.
#[derive(Debug, Default)]
pub(in crate::engine) struct LogLevels(Mutex<LevelTable>);

#[derive(Debug, Default)]
struct LevelTable {
    servers: HashMap<ConnectionKey, ServerLogLevel>,
    /// The number of the last call that wanted a level.
    calls: u64,
}

/// The levels that callers want from the server of one connection.
#[derive(Debug)]
struct ServerLogLevel {
    wanted: HashMap<LevelOwner, usize>,
    told: SentLevel,
    /// One caller at a time sends the level, so that the last level sent is the wanted one.
    turn: Arc<Semaphore>,
}

/// The session or call that wants a level.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LevelOwner {
    Session(WorkspaceId, String),
    Call(u64),
}

/// The level last sent to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SentLevel {
    Nothing,
    /// A request with a level is under way in this session with the server, or its caller gave up.
    InDoubt(u64),
    /// The server got this level in this session.
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

    /// Removes the wanted levels of connections that have ended.
    pub(in crate::engine) fn remove_connections(&self, ended: &[ConnectionKey]) {
        let mut table = self.lock();
        for key in ended {
            table.servers.remove(key);
        }
    }

    /// Removes the levels that a session wanted. Returns the connections whose servers may need another level.
    fn remove_session(&self, workspace: &WorkspaceId, session: &str) -> Vec<ConnectionKey> {
        let owner = LevelOwner::Session(workspace.clone(), session.to_owned());
        let mut table = self.lock();
        let wanted = table.servers.iter_mut();
        wanted.filter_map(|(key, server)| server.wanted.remove(&owner).map(|_| *key)).collect()
    }

    /// Returns the level that has to be sent to a server now, if any.
    fn level_to_tell(&self, key: &ConnectionKey, live: &LiveSession) -> Option<usize> {
        self.lock().servers.get(key).and_then(|server| server.level_to_tell(live.number()))
    }

    /// Returns the level that the caller has to send now, if any. Until the caller has sent it, the server's level is
    /// in doubt.
    fn begin_telling(&self, key: &ConnectionKey, live: &LiveSession) -> Option<usize> {
        let mut table = self.lock();
        let server = table.servers.get_mut(key)?;
        let level = server.level_to_tell(live.number())?;
        server.told = SentLevel::InDoubt(live.number());
        Some(level)
    }

    fn note_told(&self, key: &ConnectionKey, live: &LiveSession, level: usize) {
        if let Some(server) = self.lock().servers.get_mut(key) {
            server.told = SentLevel::Level(live.number(), level);
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
        Self { wanted: HashMap::new(), told: SentLevel::Nothing, turn }
    }
}

impl ServerLogLevel {
    /// Returns the level that has to be sent in a session with the server. Where no caller wants a level any more, a
    /// server with a more detailed level, or with a level in doubt, gets `USUAL_LEVEL`.
    fn level_to_tell(&self, live: u64) -> Option<usize> {
        let told = match self.told {
            SentLevel::Level(session, level) if session == live => Some(level),
            _ => None,
        };
        match self.wanted.values().min().copied() {
            Some(wanted) => (told != Some(wanted)).then_some(wanted),
            None => {
                let is_detailed = told.is_some_and(|level| level < USUAL_LEVEL);
                (is_detailed || self.told == SentLevel::InDoubt(live)).then_some(USUAL_LEVEL)
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
    /// Notes that a call wants log messages from `level` up. A legacy session wants them from then on, any other
    /// caller until the returned `CallLogLevel` is dropped.
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

    /// Whether another level has to be sent to a server.
    pub(crate) fn has_log_level_to_tell(
        &self,
        connection: &Connection,
        live: &LiveSession,
    ) -> bool {
        self.log_levels.level_to_tell(&connection.key(), live).is_some()
    }

    /// Sends the wanted level to a server. The wanted level is read again when it is this caller's turn.
    pub(crate) async fn tell_log_level(&self, key: ConnectionKey, live: &LiveSession) {
        let Some(turn) = self.log_levels.turn(&key) else { return };
        // The semaphore is never closed.
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

    /// Sends servers the levels that are wanted without a session that has ended.
    pub(in crate::engine) fn end_session_log_levels(
        self: &Arc<Self>,
        workspace: &WorkspaceId,
        session: &str,
    ) {
        for key in self.log_levels.remove_session(workspace, session) {
            self.tell_log_level_later(key);
        }
    }

    /// Sends a connected server the wanted level in a task, if the server has another.
    pub(in crate::engine) fn tell_log_level_later(self: &Arc<Self>, key: ConnectionKey) {
        let Some(connection) = self.pool.get(&key) else { return };
        let ConnectionState::Connected(live) = connection.state() else { return };
        // Without a runtime the engine ends, and its connections too.
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

/// Whether a server keeps one log level for all sessions that share its connection.
fn keeps_one_level(live: &LiveSession) -> bool {
    live.facts.era() == Era::Legacy && live.facts.has_capability(&["logging"])
}
