//! Snapshots of a workspace: each server with its state, one catalog, and all problems.
//!
//! Used by the gateway, the commands, the terminal UI and `dispatch`. Building them is in `snapshot::build`; their
//! JSON form is in `remote`.

mod all_connections;
pub(super) mod build;
pub(super) mod extensions;
pub(super) mod recent_calls;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use switchboard_config::{Scope, ServerReadiness as Configuration, SourceLocation};
use switchboard_wire::Remedy;
use switchboard_wire::client::ServerFacts;

use tokio::time::Instant;

use crate::catalog::Catalog;
use crate::connection::{Connection, ConnectionError, ConnectionState, ConnectionStats};
use crate::problem::EngineProblem;

use crate::engine::supervisor::applied::{AppliedServer, AppliedState};

pub use all_connections::ConnectionCount;
pub use extensions::{ClientExtensions, DescribedExtensions, ExtensionReport, ServerExtensions};

/// The state of a workspace at one moment. Immutable; take a new one to see changes.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceSnapshot {
    /// Every server that is shown, highest precedence first.
    pub servers: Vec<ServerSnapshot>,
    /// The tools, prompts and resources of the servers.
    pub catalog: Arc<Catalog>,
    /// Problems with servers' lists, hooks and rules.
    pub problems: Vec<EngineProblem>,
    /// The ids of the attached sessions.
    pub sessions: Vec<String>,
    /// The extensions that clients and servers declare.
    pub extensions: ExtensionReport,
    /// The numbers of the applied state and of the lists that the catalog was made from.
    pub(in crate::engine) made_of: Vec<u64>,
}

/// The state of one server.
#[derive(Debug, Clone)]
pub struct ServerSnapshot {
    /// The server's name.
    pub name: String,
    /// The scope of its entry.
    pub scope: Scope,
    /// The location of its entry, or of its discovery.
    pub at: Option<SourceLocation>,
    /// The transport; absent where the entry cannot be used.
    pub transport: Option<&'static str>,
    /// The status: the worst among its connections.
    pub status: ServerStatus,
    /// How many connections the server has, and how many are in that status.
    pub connections: ConnectionCount,
    /// The server's facts from the handshake, while connected; of an idle server, those of its last session.
    pub facts: Option<Arc<ServerFacts>>,
    /// How long connecting took, while connected.
    pub connect_took: Option<Duration>,
    /// Since when a connected server has answered no probe.
    pub silent_since: Option<SystemTime>,
    /// How long it took for the latest liveness check, of one that is connected and answered; the slowest connection counts.
    pub answer_took: Option<Duration>,
    /// Counts and times; absent for a server that is never started.
    pub stats: Option<ConnectionStats>,
    /// How many tools of the server are shown.
    pub tools: usize,
    /// The cost of their definitions, in estimated tokens.
    pub cost: usize,
    /// Whether the server's lists have arrived.
    pub lists: ListsArrival,
}

/// Whether the lists of a server have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListsArrival {
    /// The lists are known.
    There,
    /// The lists are expected.
    Coming,
    /// A client's first list has waited for them in vain.
    Overdue,
    /// The lists are not expected.
    Never,
}

/// The status of a server.
#[derive(Debug, Clone)]
pub enum ServerStatus {
    /// The server is being connected.
    Pending,
    /// The server is connected.
    Connected,
    /// The server is not started: its lists are known, and the first call that needs it starts it.
    Idle {
        /// When its lists were read.
        lists_read_at: SystemTime,
    },
    /// The server could not be reached, or was lost.
    Failed {
        /// The error.
        error: ConnectionError,
        /// When connecting was last tried.
        last_tried: SystemTime,
        /// How long until the next attempt; absent where none is planned.
        retry_in: Option<Duration>,
    },
    /// A person has to sign in.
    NeedsAuth {
        /// The reason.
        reason: String,
    },
    /// The server is switched off.
    Disabled(Option<String>),
    /// A person has to approve the server first.
    AwaitingApproval,
    /// A person, or a file, rejected the server.
    Rejected(Option<String>),
    /// The policy blocks the server.
    Blocked(Option<String>),
    /// The entry cannot be used.
    Invalid(Option<String>),
}

// === impl ServerStatus ===

impl ServerStatus {
    /// Returns a stable word for the status.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Idle { .. } => "idle",
            Self::Failed { .. } => "failed",
            Self::NeedsAuth { .. } => "needs-auth",
            Self::Disabled(_) => "disabled",
            Self::AwaitingApproval => "awaiting-approval",
            Self::Rejected(_) => "rejected",
            Self::Blocked(_) => "blocked",
            Self::Invalid(_) => "invalid",
        }
    }

    fn from_connection(state: &ConnectionState) -> Self {
        match state {
            ConnectionState::Pending(_) | ConnectionState::Stopped => Self::Pending,
            ConnectionState::Connected(_) => Self::Connected,
            ConnectionState::Idle(idle) => Self::Idle { lists_read_at: idle.lists_read_at },
            ConnectionState::Failed(failed) => Self::Failed {
                error: failed.error.clone(),
                last_tried: system_time(failed.since),
                retry_in: failed.retry_at.map(|at| at.saturating_duration_since(Instant::now())),
            },
            ConnectionState::NeedsAuth(needs) => Self::NeedsAuth { reason: needs.reason.clone() },
        }
    }

    fn from_configuration(state: &Configuration) -> Self {
        let why = state.reason().map(|reason| reason.why.clone());
        match state {
            Configuration::Ready(_) => Self::Pending,
            Configuration::Disabled(_) => Self::Disabled(why),
            Configuration::AwaitingApproval { .. } => Self::AwaitingApproval,
            Configuration::Rejected(_) => Self::Rejected(why),
            Configuration::Blocked(_) => Self::Blocked(why),
            Configuration::Invalid(_) => Self::Invalid(why),
        }
    }
}

// === impl WorkspaceSnapshot ===

impl WorkspaceSnapshot {
    /// Returns the servers with a connection or lists that are still expected.
    pub fn servers_coming(&self) -> impl Iterator<Item = &ServerSnapshot> {
        self.servers.iter().filter(|server| server.is_coming())
    }

    /// Returns the servers that a client's first list waits for: expected ones that no list has waited for in vain.
    pub fn servers_awaited(&self) -> impl Iterator<Item = &ServerSnapshot> {
        self.servers_coming().filter(|server| server.lists != ListsArrival::Overdue)
    }

    /// Returns the servers that are not hidden and have resources, by their capabilities or their lists.
    pub fn servers_with_resources(&self) -> impl Iterator<Item = &str> {
        let declares = |name: &str| {
            let facts = self.server(name).and_then(|view| view.facts.as_ref());
            facts.is_some_and(|facts| facts.has_capability(&["resources"]))
        };
        self.catalog
            .servers()
            .filter(move |name| declares(name) || self.catalog.has_resources(name))
    }

    /// Returns the server of this name: the one that is started, else the first.
    pub fn server(&self, name: &str) -> Option<&ServerSnapshot> {
        let mut named = self.servers.iter().filter(|server| server.name == name);
        let first = named.clone().next();
        named.find(|server| server.stats.is_some()).or(first)
    }
}

// === impl ServerSnapshot ===

impl ServerSnapshot {
    /// Whether a connection or lists are still expected.
    pub fn is_coming(&self) -> bool {
        match self.status {
            ServerStatus::Pending => self.stats.is_some(),
            // Another connection may have failed.
            ServerStatus::Connected
            // Kept lists are parsed on another thread.
            | ServerStatus::Idle { .. }
            | ServerStatus::Failed { .. }
            | ServerStatus::NeedsAuth { .. } => self.lists == ListsArrival::Coming,
            _ => false,
        }
    }

    /// Returns the class of the next step for a server that failed.
    pub fn remedy(&self) -> Option<Remedy> {
        match &self.status {
            ServerStatus::Failed { error, .. } => Some(error.remedy()),
            ServerStatus::NeedsAuth { .. } => Some(Remedy::SignIn),
            _ => None,
        }
    }
}

/// Returns the state of a workspace's servers, without their tools.
pub(in crate::engine) fn server_snapshots(
    applied: &AppliedState,
    lists: impl Fn(&AppliedServer) -> ListsArrival,
) -> Vec<ServerSnapshot> {
    let mut views: Vec<ServerSnapshot> = Vec::new();
    for server in &applied.desired.servers {
        let placed = server.entry().and_then(|_| applied.server(&server.name));
        let view = match placed {
            Some(placed) => running_server(placed, lists(placed)),
            None => ServerSnapshot {
                name: server.name.clone(),
                scope: server.scope,
                at: None,
                transport: None,
                status: ServerStatus::from_configuration(&server.state),
                connections: ConnectionCount::ONE,
                facts: None,
                connect_took: None,
                silent_since: None,
                answer_took: None,
                stats: None,
                tools: 0,
                cost: 0,
                lists: ListsArrival::Never,
            },
        };
        views.push(ServerSnapshot { at: Some(server.at.clone()), ..view });
    }
    views
}

fn running_server(placed: &AppliedServer, lists: ListsArrival) -> ServerSnapshot {
    let state = placed.connection.state();
    let live = match &state {
        ConnectionState::Connected(live) => Some(live),
        _ => None,
    };
    ServerSnapshot {
        name: placed.name.clone(),
        scope: placed.scope,
        at: None,
        transport: Some(placed.transport),
        status: ServerStatus::from_connection(&state),
        connections: ConnectionCount::ONE,
        facts: match &state {
            ConnectionState::Idle(_) => placed.connection.facts(),
            _ => live.map(|live| live.facts.clone()),
        },
        connect_took: live.map(|live| live.connect_took),
        silent_since: live.and_then(|live| live.silent_since()).map(system_time),
        answer_took: live.and_then(|live| live.answer_took()),
        stats: Some(placed.connection.stats()),
        tools: 0,
        cost: 0,
        lists: lists_arrival(&placed.connection, &state, lists),
    }
}

/// Whether the lists of a connection in this state have arrived; `lists` says it of a connection that is up.
fn lists_arrival(
    connection: &Connection,
    state: &ConnectionState,
    lists: ListsArrival,
) -> ListsArrival {
    match (state, lists) {
        (_, ListsArrival::There) if state.live().is_some() => ListsArrival::There,
        (ConnectionState::Connected(live), _) if live.silent_since().is_some() => {
            ListsArrival::Never
        }
        (ConnectionState::Connected(_) | ConnectionState::Pending(_), _)
            if connection.is_overdue() =>
        {
            ListsArrival::Overdue
        }
        (ConnectionState::Connected(_) | ConnectionState::Idle(_), lists) => lists,
        _ => ListsArrival::Never,
    }
}

/// Converts to the wall clock.
fn system_time(at: Instant) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(at.elapsed()).unwrap_or(now)
}
