//! Subscriptions of sessions outside of calls: changes of resources, and log messages from a level up.
//!
//! Used by `dispatch::prompts_and_resources` and `dispatch::upstream`. A server is told once, for any number of
//! sessions, and told again after a reconnect. Delivering the notifications is done by
//! `engine::supervisor::listener`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_wire::{Era, Error};

use crate::connection::{Connection, ConnectionKey, ConnectionState, LiveSession};
use crate::engine::{Caller, Inner, WorkspaceId};

/// Log levels, least severe first.
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The subscriptions of all sessions.
#[derive(Debug, Default)]
pub(in crate::engine) struct SessionSubscriptions(
    Mutex<HashMap<ConnectionKey, ConnectionSubscriptions>>,
);

/// The subscriptions on one connection.
#[derive(Debug, Default)]
struct ConnectionSubscriptions {
    /// Resources, and the sessions that subscribed to them.
    resources: HashMap<String, HashSet<(WorkspaceId, String)>>,
    /// The level that each session asked for last.
    levels: HashMap<(WorkspaceId, String), usize>,
    /// The session with the server that was told a level, and the level.
    told_level: Option<(u64, usize)>,
}

/// Subscriptions that no session has any more, after one has left.
#[derive(Debug, Default)]
pub(in crate::engine) struct EndedSubscriptions {
    /// Resources, by connection.
    resources: Vec<(ConnectionKey, String)>,
    /// The most detailed levels that are still wanted, by connection.
    levels: Vec<(ConnectionKey, usize)>,
}

// === impl SessionSubscriptions ===

impl SessionSubscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionKey, ConnectionSubscriptions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the subscriptions on connections that have ended.
    pub(in crate::engine) fn remove_connections(&self, ended: &[ConnectionKey]) {
        let mut wishes = self.lock();
        for key in ended {
            wishes.remove(key);
        }
    }

    /// Forgets the subscriptions of a session.
    pub(in crate::engine) fn remove_session(
        &self,
        workspace: &WorkspaceId,
        session: &str,
    ) -> EndedSubscriptions {
        let who = (workspace.clone(), session.to_owned());
        let mut unwanted = EndedSubscriptions::default();
        for (key, wish) in self.lock().iter_mut() {
            wish.resources.retain(|uri, wanted| {
                if wanted.remove(&who) && wanted.is_empty() {
                    unwanted.resources.push((*key, uri.clone()));
                }
                !wanted.is_empty()
            });
            wish.levels.remove(&who);
            if let (Some(level), Some((_, told))) = (wish.level(), wish.told_level)
                && level != told
            {
                unwanted.levels.push((*key, level));
            }
        }
        unwanted
    }
}

// === impl ConnectionSubscriptions ===

impl ConnectionSubscriptions {
    /// Returns the most detailed level that any session wants.
    fn level(&self) -> Option<usize> {
        self.levels.values().min().copied()
    }

    /// Notes that the server is being told a level; `false` if it was told before.
    fn note_level_sent(&mut self, live: &LiveSession, level: usize) -> bool {
        let told = Some((live.number(), level));
        std::mem::replace(&mut self.told_level, told) != told
    }
}

// === impl Inner ===

impl Inner {
    /// Subscribes a session to a resource. The first subscription tells the server.
    pub(crate) async fn subscribe(
        &self,
        caller: &Caller,
        connection: &Connection,
        live: &LiveSession,
        uri: &str,
    ) -> Result<(), Error> {
        live.client.subscribe(uri).await?;
        let who = (caller.workspace().id.clone(), caller.session().id.clone());
        let mut wishes = self.wishes.lock();
        let wish = wishes.entry(connection.key()).or_default();
        wish.resources.entry(uri.to_owned()).or_default().insert(who);
        Ok(())
    }

    /// Unsubscribes a session from a resource. The last one tells the server.
    pub(crate) async fn unsubscribe(
        &self,
        caller: &Caller,
        connection: &Connection,
        live: &LiveSession,
        uri: &str,
    ) -> Result<(), Error> {
        let who = (caller.workspace().id.clone(), caller.session().id.clone());
        let was_last = {
            let mut wishes = self.wishes.lock();
            let wanted =
                wishes.get_mut(&connection.key()).and_then(|wish| wish.resources.get_mut(uri));
            wanted.is_some_and(|wanted| wanted.remove(&who) && wanted.is_empty())
        };
        if was_last { live.client.unsubscribe(uri).await } else { Ok(()) }
    }

    /// Returns the level that a server has to be told for a call that wants log messages from `level` up. A legacy
    /// server is told the most detailed level that any session wants; a modern one learns the level with each call.
    pub(crate) fn level_to_set(
        &self,
        caller: &Caller,
        connection: &Connection,
        live: &LiveSession,
        level: &str,
    ) -> Option<&'static str> {
        if live.facts.era() == Era::Modern || !live.facts.has_capability(&["logging"]) {
            return None;
        }
        let asked = LOG_LEVELS.iter().position(|known| *known == level)?;
        let who = (caller.workspace().id.clone(), caller.session().id.clone());
        let mut wishes = self.wishes.lock();
        let wish = wishes.entry(connection.key()).or_default();
        wish.levels.insert(who, asked);
        let level = wish.level().unwrap_or(asked);
        wish.note_level_sent(live, level).then_some(LOG_LEVELS[level])
    }

    /// Tells servers of subscriptions that no session has any more.
    pub(in crate::engine) fn end_subscriptions(self: &Arc<Self>, unwanted: EndedSubscriptions) {
        for (key, level) in unwanted.levels {
            let Some(connection) = self.pool.get(&key) else { continue };
            let ConnectionState::Connected(live) = connection.state() else { continue };
            let is_news = self
                .wishes
                .lock()
                .get_mut(&key)
                .is_some_and(|wish| wish.note_level_sent(&live, level));
            if is_news {
                let closing = self.closing.clone();
                self.tasks.spawn(closing.run_until_cancelled_owned(async move {
                    if let Err(error) = live.client.set_log_level(LOG_LEVELS[level]).await {
                        tracing::debug!(%error, "a server does not take a log level");
                    }
                }));
            }
        }
        for (key, uri) in unwanted.resources {
            let Some(connection) = self.pool.get(&key) else { continue };
            let ConnectionState::Connected(live) = connection.state() else { continue };
            let closing = self.closing.clone();
            self.tasks.spawn(closing.run_until_cancelled_owned(async move {
                if let Err(error) = live.client.unsubscribe(&uri).await {
                    tracing::debug!(%error, "a server goes on telling of a resource");
                }
            }));
        }
    }

    /// Renews all subscriptions on a connection that is up again.
    pub(in crate::engine) fn renew_subscriptions(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        live: Arc<LiveSession>,
    ) {
        let (uris, level) = {
            let mut wishes = self.wishes.lock();
            let Some(wish) = wishes.get_mut(&connection.key()) else { return };
            let uris: BTreeSet<String> = wish.resources.keys().cloned().collect();
            let level = wish.level().filter(|level| wish.note_level_sent(&live, *level));
            (uris, level.map(|level| LOG_LEVELS[level]))
        };
        let closing = self.closing.clone();
        self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            for uri in uris {
                if let Err(error) = live.client.subscribe(&uri).await {
                    tracing::warn!(%error, "a resource is no longer watched");
                }
            }
            if let Some(level) = level.filter(|_| live.facts.era() == Era::Legacy)
                && let Err(error) = live.client.set_log_level(level).await
            {
                tracing::debug!(%error, "a server does not take a log level");
            }
        }));
    }
}
