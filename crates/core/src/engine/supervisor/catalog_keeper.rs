//! Keeps the catalogs of servers: saves what sessions have read, deletes what no longer belongs to an entry, and says
//! which servers must not be stopped.
//!
//! Used by `supervisor::listener` after each read, and by `supervisor::apply`. The files are
//! `connection::catalog_store`'s. It does not start or stop servers.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use switchboard_config::{Desired, DesiredServer, ServerReadiness, Transport};
use switchboard_wire::Era;
use tokio::time::Instant;

use crate::connection::{Connection, ConnectionKey, ConnectionTarget};
use crate::engine::Inner;
use crate::engine::supervisor::applied::AppliedState;
use crate::engine::supervisor::parse;
use crate::engine::supervisor::pool::{ConnectionHolder, HoldScope};
use crate::engine::workspace::state::WorkspaceId;

/// How often a catalog is written whose lists are read again and again without a change.
const REWRITE_INTERVAL: Duration = Duration::from_mins(1);

/// The digest of each connection's catalog as last written, and when.
#[derive(Debug, Default)]
pub(in crate::engine) struct WrittenCatalogs(Mutex<HashMap<ConnectionKey, (String, Instant)>>);

// === impl WrittenCatalogs ===

impl WrittenCatalogs {
    /// Whether a catalog has to be written: it is another one, or the last time was long ago.
    fn is_due(&self, key: ConnectionKey, digest: String) -> bool {
        let mut written = self.0.lock();
        let last = written.get(&key);
        let is_recent = last.is_some_and(|(_, at)| at.elapsed() < REWRITE_INTERVAL);
        if is_recent && last.is_some_and(|(before, _)| *before == digest) {
            return false;
        }
        written.insert(key, (digest, Instant::now()));
        true
    }

    /// Forgets connections that have ended.
    pub(in crate::engine) fn remove_connections(&self, ended: &[ConnectionKey]) {
        let mut written = self.0.lock();
        for key in ended {
            written.remove(key);
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Saves the lists of a connection, once every list was read. Writes a file: not for the runtime's threads.
    pub(in crate::engine) fn save_catalog(&self, connection: &Connection) {
        if !connection.spec().keeps_catalog() {
            return;
        }
        let Some(record) = connection.catalog_record() else { return };
        let (key, store) = (connection.catalog_key(), connection.catalogs());
        let is_due = |digest| self.written.is_due(connection.key(), digest);
        if !record.digest().is_some_and(is_due) {
            return;
        }
        if store.save(key, &record) {
            self.mark_changed();
        }
        // The task deletes the catalog when a person signs out, which may have been in between.
        if !connection.knows_lists() || connection.awaits_sign_in() {
            store.delete(key);
        }
    }

    /// Parses the kept lists of new connections at once, so that the first client of a workspace sees them.
    pub(in crate::engine) fn parse_kept_lists(&self, applied: &AppliedState) {
        for placed in applied.placed.iter() {
            let (key, raw) = (placed.connection.key(), placed.connection.kept_lists());
            let before = self.pool.parsed_lists(&key);
            if raw.facts.is_some() && before.generation < raw.generation {
                self.pool.store_lists(&key, parse::parse_lists(&placed.name, raw, &before));
            }
        }
    }

    /// Deletes the catalogs of entries that a workspace no longer has: removed, changed, rejected or blocked ones.
    pub(in crate::engine) fn delete_former_catalogs(
        &self,
        workspace: &WorkspaceId,
        before: &AppliedState,
        now: &AppliedState,
    ) {
        for placed in before.placed.iter().filter(|placed| placed.spec.keeps_catalog()) {
            let entry = placed.connection.entry_key();
            let current = now.server(&placed.name);
            let is_same = current.is_some_and(|now| now.connection.entry_key() == entry);
            if is_same || current.is_none() && may_come_back(&now.desired, &placed.name) {
                continue;
            }
            let is_elsewhere = |holder: &ConnectionHolder| holder.workspace != *workspace;
            if !self.pool.holders(&placed.connection.key()).iter().any(is_elsewhere) {
                placed.connection.catalogs().delete_entry(entry);
            }
        }
    }

    /// Whether a session still needs a connection without calls: it subscribed to a resource there, has the
    /// connection for itself, or has called a server that may hold state for it.
    pub(in crate::engine) fn needs_connection(&self, connection: &Connection) -> bool {
        let key = connection.key();
        if self.wishes.has_connection(&key) || self.claims.has_claim(&key) {
            return true;
        }
        let holders = self.pool.holders(&key);
        may_hold_state(connection) && holders.iter().any(|holder| self.is_used(holder))
    }

    /// Whether an attached session of a holder has called its server.
    fn is_used(&self, holder: &ConnectionHolder) -> bool {
        let Some(standing) = self.workspace_state(&holder.workspace) else { return false };
        let sessions = standing.session_infos();
        let mut callers =
            sessions.iter().filter(|session| session.used.contains_key(&holder.server));
        match &holder.of {
            HoldScope::Everyone => callers.next().is_some(),
            HoldScope::Principal(principal) => {
                callers.any(|session| session.caller.principal.id() == principal)
            }
            HoldScope::Session { session, .. } => {
                callers.any(|present| present.caller.session == *session)
            }
        }
    }
}

/// Whether a server that is not started now keeps its lists when it is started again.
fn may_come_back(desired: &Desired, server: &str) -> bool {
    let is_paused = |server: &DesiredServer| {
        matches!(server.state, ServerReadiness::Disabled(_) | ServerReadiness::Invalid(_))
    };
    desired.servers_named(server).any(is_paused)
}

/// Whether a server may remember its caller between two calls: a process does, and a legacy session.
fn may_hold_state(connection: &Connection) -> bool {
    let ConnectionTarget::Entry(entry) = &connection.spec().reach else { return true };
    matches!(entry.transport, Transport::Stdio(_)) || connection.known_era() != Some(Era::Modern)
}
