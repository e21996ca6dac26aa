//! Traffic: the calls of the last hour, counted by minute, tool, server and client.
//!
//! Used by the hub's admin API (`GET /traffic`), and through it by the console, the terminal UI and `switchboard top`;
//! filled by the engine with each call that ends. Kept in memory only, bounded in time and in the number of names. It
//! holds no arguments and no results; the audit log has the single calls.

mod histogram;
mod report;

use std::collections::{HashMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::audit::{CallEnd, CallRecord};
use histogram::LatencyHistogram;

pub use report::{
    ClientTraffic, LatencyReport, ServerTraffic, ToolTraffic, TrafficCounts, TrafficMinute,
    TrafficReport,
};

/// How many minutes are kept, the current one included.
pub const TRAFFIC_MINUTES: usize = 60;
/// The most tools, servers and clients that are counted apart in one minute. Calls of others are in the totals.
const MAX_NAMES_PER_MINUTE: usize = 256;
/// Characters that count as one token, here as in the catalog.
const BYTES_PER_TOKEN: usize = 4;

/// The counted calls of the last hour.
#[derive(Debug, Default)]
pub(crate) struct TrafficCounter(Mutex<VecDeque<CountedMinute>>);

/// The calls that ended in one minute.
#[derive(Debug, Default)]
struct CountedMinute {
    /// Minutes since 1970.
    number: u64,
    total: CallCounts,
    /// By full name; with the server of the tool.
    tools: HashMap<Box<str>, CountedTool>,
    servers: HashMap<Box<str>, CallCounts>,
    clients: HashMap<Box<str>, CallCounts>,
}

#[derive(Debug, Default)]
struct CountedTool {
    server: Box<str>,
    counts: CallCounts,
}

/// How calls ended, and how long they took.
#[derive(Debug, Default, Clone)]
struct CallCounts {
    calls: u64,
    errors: u64,
    refused: u64,
    cancelled: u64,
    bytes: u64,
    latency: LatencyHistogram,
}

// === impl TrafficCounter ===

impl TrafficCounter {
    /// Counts a call that has ended.
    pub(crate) fn record(&self, called: &CallRecord) {
        self.record_at(called, minute_of(called.at + called.duration));
    }

    fn record_at(&self, called: &CallRecord, minute: u64) {
        let mut minutes = self.0.lock();
        // A clock that was set back must not open a minute before the latest one.
        if minutes.back().is_none_or(|latest| latest.number < minute) {
            minutes.push_back(CountedMinute { number: minute, ..CountedMinute::default() });
            let oldest = minute.saturating_sub(TRAFFIC_MINUTES as u64 - 1);
            while minutes.front().is_some_and(|first| first.number < oldest) {
                minutes.pop_front();
            }
        }
        if let Some(latest) = minutes.back_mut() {
            latest.record(called);
        }
    }

    /// Reports the hour that ends now.
    pub(crate) fn report(&self) -> TrafficReport {
        self.report_at(minute_of(SystemTime::now()))
    }

    fn report_at(&self, minute: u64) -> TrafficReport {
        let minutes = self.0.lock();
        let last = minutes.back().map_or(minute, |latest| latest.number.max(minute));
        let first = last.saturating_sub(TRAFFIC_MINUTES as u64 - 1);
        report::build(first, minutes.iter().filter(|counted| counted.number >= first))
    }
}

// === impl CountedMinute ===

impl CountedMinute {
    fn record(&mut self, called: &CallRecord) {
        self.total.record(called);
        if let Some(counts) = entry(&mut self.clients, &called.caller.client) {
            counts.record(called);
        }
        if called.server.is_empty() {
            return;
        }
        if let Some(counts) = entry(&mut self.servers, &called.server) {
            counts.record(called);
        }
        if called.method == "tools/call"
            && let Some(tool) = entry(&mut self.tools, &called.name)
        {
            if *tool.server != *called.server {
                tool.server = called.server.as_str().into();
            }
            tool.counts.record(called);
        }
    }
}

/// The entry of a name; `None` for a new name beyond the bound.
fn entry<'a, T: Default>(counted: &'a mut HashMap<Box<str>, T>, name: &str) -> Option<&'a mut T> {
    if !counted.contains_key(name) {
        if counted.len() >= MAX_NAMES_PER_MINUTE {
            return None;
        }
        counted.insert(name.into(), T::default());
    }
    counted.get_mut(name)
}

fn minute_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60
}

// === impl CallCounts ===

impl CallCounts {
    fn record(&mut self, called: &CallRecord) {
        self.calls += 1;
        match called.end {
            CallEnd::Result | CallEnd::NeedsInput => {}
            CallEnd::ToolError | CallEnd::Failed(_) => self.errors += 1,
            CallEnd::Refused => self.refused += 1,
            CallEnd::Dropped => self.cancelled += 1,
        }
        self.bytes += (called.sent + called.received) as u64;
        // The time that a person took to answer is no latency. A call that was refused reached no server, and one that was dropped has no end to measure.
        if matches!(called.end, CallEnd::Result | CallEnd::ToolError | CallEnd::Failed(_)) {
            self.latency.record(called.duration.saturating_sub(called.stages.person_time()));
        }
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.refused += other.refused;
        self.cancelled += other.cancelled;
        self.bytes += other.bytes;
        self.latency.add(&other.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::CallerIdentity;
    use std::sync::Arc;
    use std::time::Duration;

    fn call(server: &str, name: &str, end: CallEnd, millis: u64) -> CallRecord {
        CallRecord {
            at: UNIX_EPOCH,
            caller: Arc::new(CallerIdentity {
                workspace: "/app".into(),
                session: "s".to_owned(),
                client: "editor".to_owned(),
                principal: crate::principal::Principal::local(),
                transport: "socket",
            }),
            server: server.to_owned(),
            secrets: Arc::default(),
            method: "tools/call".into(),
            name: name.to_owned(),
            decision: None,
            end,
            duration: Duration::from_millis(millis),
            stages: crate::audit::StageTimes::default(),
            sent: 40,
            received: 60,
            recent_id: None,
        }
    }

    #[test]
    fn calls_are_counted_by_minute_tool_server_and_client() {
        let traffic = TrafficCounter::default();
        traffic.record_at(&call("kiosk", "mcp__kiosk__count", CallEnd::Result, 10), 100);
        traffic.record_at(&call("kiosk", "mcp__kiosk__count", CallEnd::Failed("timeout"), 10), 101);
        traffic.record_at(&call("kiosk", "mcp__kiosk__order", CallEnd::Refused, 1), 101);
        traffic.record_at(&call("", "nothing", CallEnd::Failed("not-found"), 1), 101);
        let report = traffic.report_at(102);
        assert_eq!(report.minutes.len(), TRAFFIC_MINUTES);
        let tail = &report.minutes[TRAFFIC_MINUTES - 3..];
        assert_eq!(tail.iter().map(|minute| minute.counts.calls).collect::<Vec<_>>(), [1, 3, 0]);
        assert_eq!(tail[0].time, 6000);
        let total = &report.total;
        assert_eq!((total.calls, total.errors, total.refused), (4, 2, 1));
        assert_eq!(total.tokens, 100);
        let count = report.tools.iter().find(|tool| tool.name == "mcp__kiosk__count").unwrap();
        assert_eq!(
            (count.server.as_str(), count.counts.calls, count.counts.errors),
            ("kiosk", 2, 1)
        );
        assert_eq!(count.counts.latency.unwrap().calls, 2);
        assert_eq!(report.tools.len(), 2, "a tool without a server was counted");
        assert_eq!((report.servers[0].counts.calls, report.servers.len()), (3, 1));
        assert_eq!(report.servers[0].per_minute[TRAFFIC_MINUTES - 3..], [1, 2, 0]);
        let p50 = &report.servers[0].p50_micros_per_minute[TRAFFIC_MINUTES - 3..];
        assert_eq!((p50[0], p50[2]), (p50[1], 0));
        assert!(p50[0].abs_diff(10_000) < 1_250, "{p50:?}");
        assert_eq!(
            (report.clients[0].client.as_str(), report.clients[0].counts.calls),
            ("editor", 4)
        );
    }

    #[test]
    fn an_hour_and_so_many_names_are_kept_and_no_more() {
        let traffic = TrafficCounter::default();
        for minute in 0..200 {
            traffic.record_at(&call("kiosk", "t", CallEnd::Result, 1), minute);
        }
        // A clock that is set back counts in the latest minute.
        traffic.record_at(&call("kiosk", "t", CallEnd::Result, 1), 3);
        assert_eq!(traffic.0.lock().len(), TRAFFIC_MINUTES);
        assert_eq!(traffic.report_at(199).total.calls, TRAFFIC_MINUTES as u64 + 1);
        assert_eq!(traffic.report_at(199 + 59).total.calls, 2, "calls of an hour ago are reported");
        for number in 0..2 * MAX_NAMES_PER_MINUTE {
            traffic.record_at(&call("kiosk", &number.to_string(), CallEnd::Result, 1), 500);
        }
        let report = traffic.report_at(500);
        assert_eq!(report.tools.len(), MAX_NAMES_PER_MINUTE);
        assert_eq!(report.total.calls, 2 * MAX_NAMES_PER_MINUTE as u64, "the totals count all");
    }
}
