//! Merges all connections of a server into one row of a snapshot: the worst status and the sum of the statistics.
//!
//! Used by `snapshot::build`. Sessions of other eras and capability classes, and sessions that share nothing, have
//! connections besides the default one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{ServerSnapshot, ServerStatus, WorkspaceSnapshot, system_time};
use crate::connection::{Connection, ConnectionState, ConnectionStats};
use crate::engine::Inner;
use crate::engine::supervisor::applied::{AppliedServer, AppliedState};
use crate::engine::workspace::principal::PrincipalView;
use crate::engine::workspace::state::WorkspaceId;

/// How many connections a server has, and how many are in the status shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionCount {
    /// All connections.
    pub total: usize,
    /// The connections in the status shown.
    pub in_state: usize,
}

/// How bad the state of a connection is; worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Fine,
    Silent,
    NeedsAuth,
    Failed,
}

// === impl Inner ===

impl Inner {
    /// Returns the connections of a principal to a server, the default one first.
    pub(in crate::engine) fn all_connections(
        &self,
        workspace: &WorkspaceId,
        view: &PrincipalView,
        applied: &AppliedState,
    ) -> Vec<(Arc<AppliedServer>, Vec<Arc<Connection>>)> {
        let mut others = self.pool.connections_by_server(workspace, &view.principal);
        let of = |placed: &Arc<AppliedServer>| {
            let others = others.remove(&placed.name).unwrap_or_default();
            let usual = placed.connection.key();
            let others = others.into_iter().filter(|connection| connection.key() != usual);
            let all = std::iter::once(Arc::clone(&placed.connection)).chain(others);
            (Arc::clone(placed), all.collect())
        };
        applied.placed.iter().map(of).collect()
    }

    /// Adds the connections besides the default ones to a snapshot.
    pub(super) fn add_other_connections(
        &self,
        snapshot: &mut WorkspaceSnapshot,
        workspace: &WorkspaceId,
        view: &PrincipalView,
        applied: &AppliedState,
    ) {
        let all = self.all_connections(workspace, view, applied);
        let all: HashMap<&str, &[Arc<Connection>]> =
            all.iter().map(|(placed, all)| (placed.name.as_str(), all.as_slice())).collect();
        for server in snapshot.servers.iter_mut().filter(|server| server.stats.is_some()) {
            if let Some(connections) = all.get(server.name.as_str())
                && connections.len() > 1
            {
                server.show_connections(connections);
            }
        }
    }
}

// === impl ServerSnapshot ===

impl ServerSnapshot {
    /// Shows the worst status of its connections, the default one first, and their statistics.
    fn show_connections(&mut self, connections: &[Arc<Connection>]) {
        let samples = connections.iter().map(|connection| connection.stats_sample());
        self.stats = Some(ConnectionStats::merge(samples));
        let states: Vec<_> = connections.iter().map(|connection| connection.state()).collect();
        self.answer_took = states.iter().filter_map(|state| state.live()?.answer_took()).max();
        let severities: Vec<_> = states.iter().map(Severity::of).collect();
        let worst = severities.iter().copied().max().unwrap_or(Severity::Fine);
        let in_state = severities.iter().filter(|severity| **severity == worst).count();
        self.connections = ConnectionCount { total: connections.len(), in_state };
        // The default connection is still pending, and callers wait for its result.
        if worst == Severity::Fine || matches!(self.status, ServerStatus::Pending) {
            let is_started = states.iter().any(|state| state.live().is_some());
            if is_started && matches!(self.status, ServerStatus::Idle { .. }) {
                self.status = ServerStatus::Connected;
            }
            self.connections.in_state = connections.len();
            return;
        }
        let in_worst = states.iter().zip(&severities).filter(|(_, severity)| **severity == worst);
        let in_worst = in_worst.map(|(state, _)| state);
        self.silent_since = match worst {
            Severity::Silent => in_worst.clone().filter_map(silent_since).min().map(system_time),
            _ => None,
        };
        if let Some(state) = in_worst.clone().next() {
            self.status = status_of(state);
        }
    }

    /// Whether the default connection is up, so that the server can be called although others have failed.
    pub fn is_usable(&self) -> bool {
        self.facts.is_some()
    }

    /// Returns which of its connections are in the status shown, if not all: `one of 2 connections`.
    pub fn affected_connections(&self) -> Option<String> {
        self.connections.affected()
    }
}

// === impl ConnectionCount ===

impl ConnectionCount {
    /// The count of a server with one connection.
    pub const ONE: Self = Self { total: 1, in_state: 1 };

    /// Returns which connections are in the status shown, if not all.
    pub fn affected(self) -> Option<String> {
        match self.in_state {
            all if all >= self.total => None,
            1 => Some(format!("one of {} connections", self.total)),
            some => Some(format!("{some} of {} connections", self.total)),
        }
    }
}

// === impl Severity ===

impl Severity {
    fn of(state: &ConnectionState) -> Self {
        match state {
            ConnectionState::Failed(_) => Self::Failed,
            ConnectionState::NeedsAuth(_) => Self::NeedsAuth,
            // A failed connection that is tried again.
            ConnectionState::Pending(pending) if pending.last.is_some() => Self::Failed,
            ConnectionState::Connected(_) if silent_since(state).is_some() => Self::Silent,
            _ => Self::Fine,
        }
    }
}

fn silent_since(state: &ConnectionState) -> Option<Instant> {
    state.live()?.silent_since()
}

/// The status that is shown for a connection besides the default one.
fn status_of(state: &ConnectionState) -> ServerStatus {
    match state {
        ConnectionState::Pending(pending) => match &pending.last {
            Some(error) => ServerStatus::Failed {
                error: error.clone(),
                last_tried: SystemTime::now(),
                retry_in: Some(Duration::ZERO),
            },
            None => ServerStatus::Pending,
        },
        state => ServerStatus::from_connection(state),
    }
}
