//! The state of one server as JSON ([`ServerSnapshot`]).
//!
//! Used by `remote::snapshot`, the hub's admin interface and the terminal UI.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_config::{Scope, SourceLocation};
use switchboard_wire::client::ServerFacts;
use switchboard_wire::json::Raw;
use switchboard_wire::{Error as WireError, RemoteError, Version, sanitize};

use super::ErrorAdvice;
use crate::connection::{self, ConnectionError};
use crate::engine::{ConnectionCount, ListsArrival, ServerSnapshot, ServerStatus};

/// A [`ServerSnapshot`] as JSON. Members that the state does not have are absent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteServer {
    /// The server's name.
    pub name: String,
    /// The scope of its entry.
    pub scope: Scope,
    /// The location of its entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<SourceLocation>,
    /// The transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// `command` with `args`, or `url`, of its entry, as written and redacted; the hub's admin interface adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Value>,
    /// The state as one word: the worst state among the server's connections.
    pub state: String,
    /// How many connections the server has; absent for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// How many connections are in that state; absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_connections: Option<usize>,
    /// Why the server is not started, or who has to sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What to do about an entry that is invalid; the hub's admin interface adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Why the server failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RemoteError>,
    /// When connecting was last tried, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tried_at: Option<u64>,
    /// How long until the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_in_millis: Option<u64>,
    /// When the lists of an idle server were read, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists_read_at: Option<u64>,
    /// Since when the connected server has answered nothing, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<u64>,
    /// How long it took for the latest liveness check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_millis: Option<u64>,
    /// The name that the server gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The version that the server gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// The negotiated version of MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The era of that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The server's capabilities: `tools`, `prompts` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
    /// How long connecting took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_millis: Option<u64>,
    /// Whether its lists are there: `there`, `coming`, `overdue`, `never`.
    pub lists: ListsArrival,
    /// How many tools of the server are shown.
    pub tool_count: usize,
    /// The cost of their definitions, in estimated tokens.
    pub cost: usize,
    /// Counts and times; absent for a server that is never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<RemoteStats>,
}

/// Counts and times of a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteStats {
    /// How many sessions there were.
    pub connects: u64,
    /// How many sessions there were after the first.
    pub restarts: u64,
    /// Calls in flight now.
    pub calls_in_flight: usize,
    /// The latency of the latest calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<RemoteLatency>,
    /// The id of the server's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The ids of its processes, if there are several: one for each connection that has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// The last error of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<RemoteError>,
}

/// The latency of the latest calls.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteLatency {
    /// How many calls were measured.
    pub calls: usize,
    /// The median.
    pub p50_millis: u64,
    /// The 99th percentile.
    pub p99_millis: u64,
}

/// The words for transports.
const KNOWN_TRANSPORTS: [&str; 7] = ["stdio", "http", "sse", "ws", "sse-ide", "ws-ide", "sdk"];

// === impl RemoteServer ===

impl RemoteServer {
    /// Converts a server of a snapshot, with advice on its error.
    pub fn from_view(view: &ServerSnapshot, advice: &dyn ErrorAdvice) -> Self {
        let tell = |error: &ConnectionError| remote_error(view, error, advice);
        let why = match &view.status {
            ServerStatus::NeedsAuth { reason } => Some(clean(reason)),
            ServerStatus::Disabled(why)
            | ServerStatus::Rejected(why)
            | ServerStatus::Blocked(why)
            | ServerStatus::Invalid(why) => why.as_deref().map(clean),
            _ => None,
        };
        let (error, last_tried, retry_in) = match &view.status {
            ServerStatus::Failed { error, last_tried, retry_in } => {
                (Some(tell(error)), Some(*last_tried), *retry_in)
            }
            _ => (None, None, None),
        };
        let facts = view.facts.as_deref();
        let ConnectionCount { total, in_state } = view.connections;
        Self {
            name: view.name.clone(),
            scope: view.scope,
            at: view.at.clone(),
            transport: view.transport.map(ToOwned::to_owned),
            entry: None,
            state: view.status.word().to_owned(),
            connections: Some(total).filter(|total| *total > 1),
            affected_connections: Some(in_state).filter(|in_state| *in_state < total),
            why,
            hint: None,
            error,
            last_tried_at: last_tried.map(unix_millis),
            retry_in_millis: retry_in.map(millis),
            lists_read_at: match view.status {
                ServerStatus::Idle { lists_read_at } => Some(unix_millis(lists_read_at)),
                _ => None,
            },
            silent_since: view.silent_since.map(unix_millis),
            answer_millis: view.answer_took.map(millis),
            server_name: facts.and_then(ServerFacts::name).as_deref().map(clean),
            server_version: facts.and_then(ServerFacts::server_version).as_deref().map(clean),
            protocol: facts.map(|facts| facts.version.to_string()),
            era: facts.map(|facts| facts.era().to_string()),
            offers: facts.map(offers).unwrap_or_default(),
            connect_millis: view.connect_took.map(millis),
            lists: view.lists,
            tool_count: view.tools,
            cost: view.cost,
            stats: view.stats.as_ref().map(|stats| RemoteStats::from_stats(stats, tell)),
        }
    }

    /// Converts to a server of a snapshot. A state that this version does not know counts as pending.
    pub fn into_view(self) -> ServerSnapshot {
        let why = self.why.clone();
        let status = match (self.state.as_str(), self.error.clone()) {
            ("connected", _) => ServerStatus::Connected,
            ("idle", _) => ServerStatus::Idle {
                lists_read_at: self.lists_read_at.map_or_else(SystemTime::now, system_time),
            },
            ("failed", Some(error)) => ServerStatus::Failed {
                error: connection_error(error),
                last_tried: self.last_tried_at.map_or_else(SystemTime::now, system_time),
                retry_in: self.retry_in_millis.map(Duration::from_millis),
            },
            ("needs-auth", _) => ServerStatus::NeedsAuth { reason: why.unwrap_or_default() },
            ("disabled", _) => ServerStatus::Disabled(why),
            ("awaiting-approval", _) => ServerStatus::AwaitingApproval,
            ("rejected", _) => ServerStatus::Rejected(why),
            ("blocked", _) => ServerStatus::Blocked(why),
            ("invalid", _) => ServerStatus::Invalid(why),
            _ => ServerStatus::Pending,
        };
        let connections = self.connection_count();
        let known = |word: &str| KNOWN_TRANSPORTS.into_iter().find(|known| *known == word);
        ServerSnapshot {
            facts: self.facts().map(Arc::new),
            name: self.name,
            scope: self.scope,
            at: self.at,
            transport: self.transport.as_deref().and_then(known),
            status,
            connections,
            connect_took: self.connect_millis.map(Duration::from_millis),
            silent_since: self.silent_since.map(system_time),
            answer_took: self.answer_millis.map(Duration::from_millis),
            stats: self.stats.map(RemoteStats::into_stats),
            tools: self.tool_count,
            cost: self.cost,
            lists: self.lists,
        }
    }

    /// Returns how many connections the server has, and how many are in the state shown.
    pub fn connection_count(&self) -> ConnectionCount {
        let total = self.connections.unwrap_or(1);
        ConnectionCount { total, in_state: self.affected_connections.unwrap_or(total) }
    }

    fn facts(&self) -> Option<ServerFacts> {
        let version: Version = self.protocol.as_deref()?.parse().ok()?;
        let info = json!({ "name": self.server_name, "version": self.server_version });
        let offers: BTreeSet<&String> = self.offers.iter().collect();
        let offers = offers.into_iter().map(|name| (name, Raw::empty_object()));
        Some(ServerFacts {
            version,
            info: Some(Raw::from(info)),
            capabilities: Raw::object(offers),
            instructions: None,
        })
    }
}

/// Returns the names of a server's capabilities.
fn offers(facts: &ServerFacts) -> Vec<String> {
    let capabilities: BTreeMap<String, Raw> = facts.capabilities.decode().unwrap_or_default();
    let names = capabilities.keys().filter(|name| facts.has_capability(&[name.as_str()]));
    names.map(|name| clean(name)).collect()
}

// === impl RemoteStats ===

impl RemoteStats {
    fn from_stats(
        stats: &connection::ConnectionStats,
        tell: impl Fn(&ConnectionError) -> RemoteError,
    ) -> Self {
        Self {
            connects: stats.connects,
            restarts: stats.restarts,
            calls_in_flight: stats.calls_in_flight,
            latency: stats.latency.map(|latency| RemoteLatency {
                calls: latency.calls,
                p50_millis: millis(latency.p50),
                p99_millis: millis(latency.p99),
            }),
            pid: stats.pid,
            pids: if stats.pids.len() > 1 { stats.pids.clone() } else { Vec::new() },
            last_error: stats.last_error.as_ref().map(tell),
        }
    }

    fn into_stats(self) -> connection::ConnectionStats {
        connection::ConnectionStats {
            connects: self.connects,
            restarts: self.restarts,
            last_error: self.last_error.map(connection_error),
            calls_in_flight: self.calls_in_flight,
            latency: self.latency.map(|latency| connection::CallLatency {
                calls: latency.calls,
                p50: Duration::from_millis(latency.p50_millis),
                p99: Duration::from_millis(latency.p99_millis),
            }),
            pid: self.pid,
            pids: if self.pids.is_empty() { self.pid.into_iter().collect() } else { self.pids },
        }
    }
}

fn remote_error(
    view: &ServerSnapshot,
    error: &ConnectionError,
    advice: &dyn ErrorAdvice,
) -> RemoteError {
    let told = match error {
        ConnectionError::Wire(error) => RemoteError::from_wire_error(error),
        error => RemoteError::from_error(error, error.remedy()),
    };
    RemoteError { hint: advice.on_connection(&view.name, view.transport, error), ..told }
}

fn connection_error(told: RemoteError) -> ConnectionError {
    ConnectionError::Wire(WireError::Remote(Arc::new(told)))
}

fn clean(text: &str) -> String {
    sanitize::sanitize_line(text).into_owned()
}

fn unix_millis(at: SystemTime) -> u64 {
    millis(at.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn system_time(unix_millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(unix_millis)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::NoAdvice;

    fn view(status: ServerStatus) -> ServerSnapshot {
        ServerSnapshot {
            name: "s".into(),
            scope: Scope::User,
            at: None,
            transport: Some("stdio"),
            status,
            connections: ConnectionCount { total: 3, in_state: 2 },
            facts: Some(Arc::new(ServerFacts {
                version: Version::LATEST,
                info: Raw::parse(r#"{"name":"S","version":"2"}"#).ok(),
                capabilities: Raw::parse(r#"{"tools":{"listChanged":true},"prompts":false}"#)
                    .unwrap(),
                instructions: None,
            })),
            connect_took: Some(Duration::from_millis(7)),
            silent_since: Some(system_time(1_700_000_000_456)),
            answer_took: Some(Duration::from_millis(3)),
            stats: Some(connection::ConnectionStats {
                pid: Some(4),
                pids: vec![4, 5],
                ..connection::ConnectionStats::default()
            }),
            tools: 3,
            cost: 99,
            lists: ListsArrival::There,
        }
    }

    #[test]
    fn servers_come_back_as_they_went() {
        let why = || Some("because".to_owned());
        let told = RemoteError {
            causes: vec!["it fell".into()],
            remedy: WireError::Closed.remedy(),
            hint: None,
            lacks_credentials: false,
        };
        for status in [
            ServerStatus::Pending,
            ServerStatus::Connected,
            ServerStatus::Idle { lists_read_at: system_time(1_700_000_000_789) },
            ServerStatus::Failed {
                error: connection_error(told),
                last_tried: system_time(1_700_000_000_123),
                retry_in: Some(Duration::from_secs(1)),
            },
            ServerStatus::NeedsAuth { reason: "sign in".into() },
            ServerStatus::Disabled(why()),
            ServerStatus::AwaitingApproval,
            ServerStatus::Rejected(why()),
            ServerStatus::Blocked(None),
            ServerStatus::Invalid(why()),
        ] {
            let text =
                serde_json::to_string(&RemoteServer::from_view(&view(status.clone()), &NoAdvice))
                    .unwrap();
            let back = serde_json::from_str::<RemoteServer>(&text).unwrap().into_view();
            assert_eq!(format!("{:?}", back.status), format!("{status:?}"));
            let facts = back.facts.unwrap();
            assert_eq!(facts.name().as_deref(), Some("S"));
            assert!(facts.has_capability(&["tools"]) && !facts.has_capability(&["prompts"]));
            assert_eq!(back.silent_since, Some(system_time(1_700_000_000_456)));
            assert_eq!(back.answer_took, Some(Duration::from_millis(3)));
            assert_eq!(back.connections, ConnectionCount { total: 3, in_state: 2 });
            let stats = back.stats.unwrap();
            assert_eq!((stats.pid, stats.pids), (Some(4), vec![4, 5]));
            assert_eq!((back.tools, back.cost, back.lists), (3, 99, ListsArrival::There));
        }
    }
}
