//! The resource subscriptions of sessions: which updates of resources a session hears of besides its calls.
//!
//! Used by `dispatch::prompts_and_resources` and `dispatch::upstream`. A server is told once, for any number of
//! sessions, and told again after a reconnect. Delivering the notifications is done by
//! `engine::supervisor::listener`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::Error;

use crate::connection::{Connection, ConnectionKey, ConnectionState, LiveSession};
use crate::engine::{AppliedServer, Caller, Inner, WorkspaceId};

/// The subscriptions of all sessions.
#[derive(Debug, Default)]
pub(in crate::engine) struct SessionSubscriptions(
    Mutex<HashMap<ConnectionKey, ConnectionSubscriptions>>,
);

/// The subscriptions on one connection.
#[derive(Debug, Default)]
struct ConnectionSubscriptions {
    /// The sessions that subscribed to each resource, with the number of subscriptions: modern clients over HTTP
    /// share a session.
    resources: HashMap<String, HashMap<(WorkspaceId, String), usize>>,
}

/// Subscriptions that no session has any more, after one has left.
#[derive(Debug, Default)]
pub(in crate::engine) struct EndedSubscriptions {
    /// Resources, by connection.
    resources: Vec<(ConnectionKey, String)>,
}

// === impl SessionSubscriptions ===

impl SessionSubscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionKey, ConnectionSubscriptions>> {
        self.0.lock()
    }

    /// Whether a session subscribed to a resource on a connection.
    pub(in crate::engine) fn has_connection(&self, key: &ConnectionKey) -> bool {
        self.lock().get(key).is_some_and(|wish| !wish.resources.is_empty())
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
                if wanted.remove(&who).is_some() && wanted.is_empty() {
                    unwanted.resources.push((*key, uri.clone()));
                }
                !wanted.is_empty()
            });
        }
        unwanted
    }
}

// === impl ConnectionSubscriptions ===

impl ConnectionSubscriptions {
    /// Takes back one subscription of a session; `true` if it was the last one to a resource.
    fn remove_subscription(&mut self, uri: &str, who: &(WorkspaceId, String)) -> bool {
        let Some(wanted) = self.resources.get_mut(uri) else { return false };
        let Some(count) = wanted.get_mut(who) else { return false };
        *count -= 1;
        if *count == 0 {
            wanted.remove(who);
        }
        if !wanted.is_empty() {
            return false;
        }
        self.resources.remove(uri);
        true
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
        *wish.resources.entry(uri.to_owned()).or_default().entry(who).or_default() += 1;
        Ok(())
    }

    /// The server from which a session hears about a resource, if the session subscribed to it.
    pub(crate) fn subscribed_server(
        &self,
        caller: &Caller,
        uri: &str,
    ) -> Option<Arc<AppliedServer>> {
        let who = (caller.workspace().id.clone(), caller.session().id.clone());
        let wishes = self.wishes.lock();
        let hears = |key: &ConnectionKey| {
            let wanted = wishes.get(key).and_then(|wish| wish.resources.get(uri));
            wanted.is_some_and(|wanted| wanted.contains_key(&who))
        };
        let applied = caller.applied();
        let mut placed = applied.placed.iter();
        placed.find(|placed| hears(&caller.bound_connection(placed).key())).cloned()
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
            let wish = wishes.get_mut(&connection.key());
            wish.is_some_and(|wish| wish.remove_subscription(uri, &who))
        };
        if was_last { live.client.unsubscribe(uri).await } else { Ok(()) }
    }

    /// Tells servers of subscriptions that no session has any more.
    pub(in crate::engine) fn end_subscriptions(self: &Arc<Self>, unwanted: EndedSubscriptions) {
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
        self.tell_log_level_later(connection.key());
        let uris: BTreeSet<String> = {
            let wishes = self.wishes.lock();
            let Some(wish) = wishes.get(&connection.key()) else { return };
            wish.resources.keys().cloned().collect()
        };
        let closing = self.closing.clone();
        self.tasks.spawn(closing.run_until_cancelled_owned(async move {
            for uri in uris {
                if let Err(error) = live.client.subscribe(&uri).await {
                    tracing::warn!(%error, "a resource is no longer watched");
                }
            }
        }));
    }
}
