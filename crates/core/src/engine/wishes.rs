//! What sessions want to hear of besides their calls: changes of resources, and log messages from a level up.
//!
//! Servers are told once, however many sessions want it, and told again after a reconnection.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_wire::{Era, Error};

use super::{Caller, Inner, WorkspaceId};
use crate::connection::{Connection, Key, Live, State};

/// Log levels, least severe first.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What sessions want to hear of.
#[derive(Debug, Default)]
pub(super) struct Wishes(Mutex<HashMap<Key, Wish>>);

/// What is wanted of one connection.
#[derive(Debug, Default)]
struct Wish {
    /// Resources, and who wants to hear of them.
    resources: HashMap<String, HashSet<(WorkspaceId, String)>>,
    /// The least severe level that anybody asked for.
    level: Option<usize>,
    /// The session with the server that was told so.
    told: u64,
}

// === impl Wishes ===

impl Wishes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Wish>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was wanted of connections that have ended.
    pub(super) fn forget(&self, ended: &[Key]) {
        let mut wishes = self.lock();
        for key in ended {
            wishes.remove(key);
        }
    }

    /// Forgets what a session wanted; what nobody wants any more, by connection.
    pub(super) fn leave(&self, workspace: &WorkspaceId, session: &str) -> Vec<(Key, String)> {
        let who = (workspace.clone(), session.to_owned());
        let mut unwanted = Vec::new();
        for (key, wish) in self.lock().iter_mut() {
            wish.resources.retain(|uri, wanted| {
                if wanted.remove(&who) && wanted.is_empty() {
                    unwanted.push((*key, uri.clone()));
                }
                !wanted.is_empty()
            });
        }
        unwanted
    }
}

// === impl Inner ===

impl Inner {
    /// A session wants to hear of changes to a resource. The server is told by the first who does.
    pub(crate) async fn subscribe(
        &self,
        caller: &Caller,
        connection: &Connection,
        live: &Live,
        uri: &str,
    ) -> Result<(), Error> {
        live.client.subscribe(uri).await?;
        let who = (caller.workspace().id.clone(), caller.session().id.clone());
        let mut wishes = self.wishes.lock();
        let wish = wishes.entry(connection.key()).or_default();
        wish.resources.entry(uri.to_owned()).or_default().insert(who);
        wish.told = wish.told.max(live.number());
        Ok(())
    }

    /// A session no longer wants to. The server is told by the last who did.
    pub(crate) async fn unsubscribe(
        &self,
        caller: &Caller,
        connection: &Connection,
        live: &Live,
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

    /// A call wants log messages from `level` up: whether its server has to be told. A legacy one is told the least
    /// severe level that anybody wants; a modern one hears it with each call.
    pub(crate) fn wants_more(&self, connection: &Connection, live: &Live, level: &str) -> bool {
        if live.facts.era() == Era::Modern || !live.facts.offers(&["logging"]) {
            return false;
        }
        let Some(asked) = LEVELS.iter().position(|known| *known == level) else { return false };
        let mut wishes = self.wishes.lock();
        let wish = wishes.entry(connection.key()).or_default();
        let is_lower = wish.level.is_none_or(|known| asked < known);
        let is_other = wish.told != live.number();
        wish.level = Some(wish.level.map_or(asked, |known| known.min(asked)));
        wish.told = live.number();
        is_lower || is_other
    }

    /// Tells servers of what nobody wants to hear any more.
    pub(super) fn unwish(self: &Arc<Self>, unwanted: Vec<(Key, String)>) {
        for (key, uri) in unwanted {
            let Some(connection) = self.pool.get(&key) else { continue };
            let State::Connected(live) = connection.state() else { continue };
            let closing = self.closing.clone();
            self.tasks.spawn(closing.run_until_cancelled_owned(async move {
                if let Err(error) = live.client.unsubscribe(&uri).await {
                    tracing::debug!(%error, "a server goes on telling of a resource");
                }
            }));
        }
    }

    /// A connection is up again: the server is told everything anew.
    pub(super) fn tell_wishes(self: &Arc<Self>, connection: &Arc<Connection>, live: Arc<Live>) {
        let (uris, level) = {
            let wishes = self.wishes.lock();
            let Some(wish) = wishes.get(&connection.key()) else { return };
            let uris: BTreeSet<String> = wish.resources.keys().cloned().collect();
            (uris, wish.level.map(|level| LEVELS[level]))
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
