//! The report of an hour's traffic: totals, and each minute, tool, server and client; and its JSON form.
//!
//! Made by `traffic` from its counts. Used by the hub's admin API and by the fronts, which read it. It names things as
//! servers and clients do: names are sanitized here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_wire::sanitize;

use super::{BYTES_PER_TOKEN, CallCounts, CountedMinute, TRAFFIC_MINUTES};

/// The most tools, servers and clients in a report: those with the most calls.
const MAX_REPORTED: usize = 500;

/// The traffic of the last hour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficReport {
    /// All calls.
    pub total: TrafficCounts,
    /// Each of the 60 minutes, oldest first; the last one is not over yet.
    pub minutes: Vec<TrafficMinute>,
    /// Tools that were called, most calls first.
    pub tools: Vec<ToolTraffic>,
    /// Servers that were called, most calls first.
    pub servers: Vec<ServerTraffic>,
    /// Clients that called, most calls first.
    pub clients: Vec<ClientTraffic>,
}

/// How calls ended, and how long they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficCounts {
    /// Calls that have ended.
    pub calls: u64,
    /// Calls that failed, or whose tool reported an error.
    pub errors: u64,
    /// Calls that permission refused.
    pub refused: u64,
    /// Calls that their client dropped.
    pub cancelled: u64,
    /// The estimated number of tokens of arguments and results.
    pub tokens: u64,
    /// The latency of calls that were carried out, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyReport>,
}

/// Percentiles of latencies, in microseconds, right within an eighth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LatencyReport {
    /// How many calls were measured.
    pub calls: u64,
    /// The median.
    pub p50_micros: u64,
    /// The 95th percentile.
    pub p95_micros: u64,
    /// The 99th percentile.
    pub p99_micros: u64,
}

/// The calls that ended in one minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficMinute {
    /// When the minute began, in seconds since 1970.
    pub time: u64,
    /// The counts of the minute.
    #[serde(flatten)]
    pub counts: TrafficCounts,
}

/// The calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolTraffic {
    /// The full name of the tool.
    pub name: String,
    /// Its server.
    pub server: String,
    /// The counts of the hour.
    #[serde(flatten)]
    pub counts: TrafficCounts,
    /// Calls in each of the 60 minutes.
    pub per_minute: Vec<u64>,
}

/// The calls of one server: of tools, prompts and resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerTraffic {
    /// The server.
    pub server: String,
    /// The counts of the hour.
    #[serde(flatten)]
    pub counts: TrafficCounts,
    /// Calls in each of the 60 minutes.
    pub per_minute: Vec<u64>,
    /// The median latency in each of the 60 minutes, in microseconds; 0 without calls.
    #[serde(default)]
    pub p50_micros_per_minute: Vec<u64>,
}

/// The calls of all clients of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientTraffic {
    /// The name that the clients give; empty where they give none.
    pub client: String,
    /// The counts of the hour.
    #[serde(flatten)]
    pub counts: TrafficCounts,
    /// Calls in each of the 60 minutes.
    pub per_minute: Vec<u64>,
}

/// The counts of one name over the hour.
#[derive(Default)]
struct NameTotal {
    server: String,
    counts: CallCounts,
    per_minute: Vec<u64>,
    p50_micros_per_minute: Vec<u64>,
}

/// Names with their totals.
type Totals = BTreeMap<String, NameTotal>;

/// Builds the report of the hour that begins with the minute `first`.
pub(super) fn build<'a>(
    first: u64,
    counted: impl Iterator<Item = &'a CountedMinute>,
) -> TrafficReport {
    let mut total = CallCounts::default();
    let mut minutes: Vec<_> = (first..first + TRAFFIC_MINUTES as u64)
        .map(|number| TrafficMinute { time: number * 60, counts: TrafficCounts::default() })
        .collect();
    let (mut tools, mut servers, mut clients) = (Totals::new(), Totals::new(), Totals::new());
    for minute in counted {
        let Ok(at) = usize::try_from(minute.number - first) else { continue };
        total.add(&minute.total);
        if let Some(reported) = minutes.get_mut(at) {
            reported.counts = TrafficCounts::from_counts(&minute.total);
        }
        for (name, tool) in &minute.tools {
            let known = add(&mut tools, name, at, &tool.counts);
            known.server = sanitize::sanitize_line(&tool.server).into_owned();
        }
        for (name, counts) in &minute.servers {
            add(&mut servers, name, at, counts);
        }
        for (name, counts) in &minute.clients {
            add(&mut clients, name, at, counts);
        }
    }
    TrafficReport {
        total: TrafficCounts::from_counts(&total),
        minutes,
        tools: most_called(tools, |name, of| ToolTraffic {
            name,
            server: of.server,
            counts: TrafficCounts::from_counts(&of.counts),
            per_minute: of.per_minute,
        }),
        servers: most_called(servers, |server, of| ServerTraffic {
            server,
            counts: TrafficCounts::from_counts(&of.counts),
            per_minute: of.per_minute,
            p50_micros_per_minute: of.p50_micros_per_minute,
        }),
        clients: most_called(clients, |client, of| ClientTraffic {
            client,
            counts: TrafficCounts::from_counts(&of.counts),
            per_minute: of.per_minute,
        }),
    }
}

fn add<'a>(
    totals: &'a mut Totals,
    name: &str,
    at: usize,
    counts: &CallCounts,
) -> &'a mut NameTotal {
    let known = totals.entry(sanitize::sanitize_line(name).into_owned()).or_default();
    known.per_minute.resize(TRAFFIC_MINUTES, 0);
    known.p50_micros_per_minute.resize(TRAFFIC_MINUTES, 0);
    known.counts.add(counts);
    if let Some(calls) = known.per_minute.get_mut(at) {
        *calls += counts.calls;
    }
    if let Some(p50) = known.p50_micros_per_minute.get_mut(at) {
        *p50 = counts.latency.percentile(50);
    }
    known
}

fn most_called<T>(totals: Totals, report: impl Fn(String, NameTotal) -> T) -> Vec<T> {
    let mut all: Vec<_> = totals.into_iter().collect();
    // Stable: names with as many calls stay in order.
    all.sort_by_key(|(_, of)| std::cmp::Reverse(of.counts.calls));
    all.into_iter().take(MAX_REPORTED).map(|(name, of)| report(name, of)).collect()
}

// === impl TrafficCounts ===

impl TrafficCounts {
    fn from_counts(counts: &CallCounts) -> Self {
        let measured = counts.latency.calls();
        let latency = (measured > 0).then(|| LatencyReport {
            calls: measured,
            p50_micros: counts.latency.percentile(50),
            p95_micros: counts.latency.percentile(95),
            p99_micros: counts.latency.percentile(99),
        });
        Self {
            calls: counts.calls,
            errors: counts.errors,
            refused: counts.refused,
            cancelled: counts.cancelled,
            tokens: counts.bytes / BYTES_PER_TOKEN as u64,
            latency,
        }
    }
}
