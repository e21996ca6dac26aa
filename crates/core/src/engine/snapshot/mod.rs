//! What a workspace looks like now: every server with its state and why, one catalog, everything that is wrong.

mod all_connections;
pub(super) mod build;
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

/// A workspace at one moment. It never changes; ask for another.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceSnapshot {
    /// Every server that is shown, greatest precedence first.
    pub servers: Vec<ServerSnapshot>,
    /// Their tools, prompts and resources.
    pub catalog: Arc<Catalog>,
    /// Everything that is wrong with servers' lists, hooks and rules.
    pub problems: Vec<EngineProblem>,
    /// The sessions that are there.
    pub sessions: Vec<String>,
    /// What was applied, and which lists, the catalog was made of.
    pub(in crate::engine) made_of: Vec<u64>,
}

/// One server.
#[derive(Debug, Clone)]
pub struct ServerSnapshot {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub scope: Scope,
    /// Where its entry stands, or where it was found.
    pub at: Option<SourceLocation>,
    /// How it is reached; absent where the entry cannot be used.
    pub transport: Option<&'static str>,
    /// Its state: the worst among its connections.
    pub status: ServerStatus,
    /// How many connections it has, and how many are in that state.
    pub connections: ConnectionCount,
    /// What it said of itself, while connected.
    pub facts: Option<Arc<ServerFacts>>,
    /// How long connecting took, while connected.
    pub connect_took: Option<Duration>,
    /// Since when it has answered nothing, of one that is connected and was asked.
    pub silent_since: Option<SystemTime>,
    /// How long it took for the latest liveness check, of one that is connected and answered; the slowest connection counts.
    pub answer_took: Option<Duration>,
    /// Counts and times; absent for one that is never started.
    pub stats: Option<ConnectionStats>,
    /// How many tools are shown of it.
    pub tools: usize,
    /// What their definitions cost, in estimated tokens.
    pub cost: usize,
    /// Whether its lists are there.
    pub lists: ListsArrival,
}

/// Whether something has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListsArrival {
    /// It is there.
    There,
    /// It is on its way.
    Coming,
    /// A first list has waited for it in vain.
    Overdue,
    /// It is not expected.
    Never,
}

/// The state of a server.
#[derive(Debug, Clone)]
pub enum ServerStatus {
    /// It is being connected to.
    Pending,
    /// It is connected.
    Connected,
    /// It could not be reached, or was lost.
    Failed {
        /// Why.
        error: ConnectionError,
        /// When it was last tried.
        last_tried: SystemTime,
        /// When it is tried again; absent where it is not tried by itself.
        retry_in: Option<Duration>,
    },
    /// Somebody has to sign in.
    NeedsAuth {
        /// Why.
        reason: String,
    },
    /// It is switched off.
    Disabled(Option<String>),
    /// A person has to look at it first.
    AwaitingApproval,
    /// A person, or a file, refused it.
    Rejected(Option<String>),
    /// Policy does not let it run.
    Blocked(Option<String>),
    /// Its entry cannot be used.
    Invalid(Option<String>),
}

// === impl Status ===

impl ServerStatus {
    /// A stable word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected => "connected",
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

// === impl Snapshot ===

impl WorkspaceSnapshot {
    /// The servers that something is still expected of: a connection, or its lists.
    pub fn servers_coming(&self) -> impl Iterator<Item = &ServerSnapshot> {
        self.servers.iter().filter(|server| server.is_coming())
    }

    /// The servers among them that a first list waits for: those that no list has waited for in vain.
    pub fn servers_awaited(&self) -> impl Iterator<Item = &ServerSnapshot> {
        self.servers_coming().filter(|server| server.lists != ListsArrival::Overdue)
    }

    /// The servers that are not hidden and have resources, by what they say of themselves or by their lists.
    pub fn servers_with_resources(&self) -> impl Iterator<Item = &str> {
        let declares = |name: &str| {
            let facts = self.server(name).and_then(|view| view.facts.as_ref());
            facts.is_some_and(|facts| facts.has_capability(&["resources"]))
        };
        self.catalog
            .servers()
            .filter(move |name| declares(name) || self.catalog.has_resources(name))
    }

    /// What is shown under this name and counts.
    pub fn server(&self, name: &str) -> Option<&ServerSnapshot> {
        let mut named = self.servers.iter().filter(|server| server.name == name);
        let first = named.clone().next();
        named.find(|server| server.stats.is_some()).or(first)
    }
}

// === impl ServerSnapshot ===

impl ServerSnapshot {
    /// Whether a connection or lists are still on their way.
    pub fn is_coming(&self) -> bool {
        match self.status {
            ServerStatus::Pending => self.stats.is_some(),
            // Another connection may have failed.
            ServerStatus::Connected
            | ServerStatus::Failed { .. }
            | ServerStatus::NeedsAuth { .. } => self.lists == ListsArrival::Coming,
            _ => false,
        }
    }

    /// What would help a server that failed.
    pub fn remedy(&self) -> Option<Remedy> {
        match &self.status {
            ServerStatus::Failed { error, .. } => Some(error.remedy()),
            ServerStatus::NeedsAuth { .. } => Some(Remedy::SignIn),
            _ => None,
        }
    }
}

/// What a workspace's servers look like, but for their tools.
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
        facts: live.map(|live| live.facts.clone()),
        connect_took: live.map(|live| live.connect_took),
        silent_since: live.and_then(|live| live.silent_since()).map(system_time),
        answer_took: live.and_then(|live| live.answer_took()),
        stats: Some(placed.connection.stats()),
        tools: 0,
        cost: 0,
        lists: lists_arrival(&placed.connection, &state, lists),
    }
}

/// Whether the lists of a connection in this state are there; `lists` says it of one that is up.
fn lists_arrival(
    connection: &Connection,
    state: &ConnectionState,
    lists: ListsArrival,
) -> ListsArrival {
    match (state, lists) {
        (ConnectionState::Connected(_), ListsArrival::There) => ListsArrival::There,
        (ConnectionState::Connected(live), _) if live.silent_since().is_some() => {
            ListsArrival::Never
        }
        (ConnectionState::Connected(_) | ConnectionState::Pending(_), _)
            if connection.is_overdue() =>
        {
            ListsArrival::Overdue
        }
        (ConnectionState::Connected(_), lists) => lists,
        _ => ListsArrival::Never,
    }
}

/// The time on the clock that people read.
fn system_time(at: Instant) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(at.elapsed()).unwrap_or(now)
}
