//! The rows of `switchboard top`: the total, the servers, and the tools of each, with their rates.
//!
//! Used by `top` and by `commands::top`; `view::top` draws the rows. It counts no calls: the hub does, by the minute.

use std::cmp::Reverse;
use std::time::Duration;

use switchboard_core::traffic::{TrafficCounts, TrafficMinute, TrafficReport};

/// Seconds of one minute, as a factor of rates.
const MINUTE: f64 = 60.0;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopRow {
    pub(crate) name: String,
    pub(crate) level: RowLevel,
    pub(crate) calls_per_minute: f64,
    /// The counts of the last hour.
    pub(crate) counts: TrafficCounts,
    /// Calls in each of the last 60 minutes, oldest first.
    pub(crate) per_minute: Vec<u64>,
}

/// The thing that a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLevel {
    Total,
    Server,
    Tool,
}

/// The order of the servers, and of the tools of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TopOrder {
    /// Most calls first.
    #[default]
    Calls,
    Rate,
    Errors,
    /// Slowest first, by p99.
    Latency,
    Tokens,
    Name,
}

/// An earlier report, and how long ago it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Earlier<'a> {
    pub(crate) report: &'a TrafficReport,
    pub(crate) ago: Duration,
}

/// The rows of a report, in order: the total, then each server with its tools. Rates are those since `earlier`;
/// without it, those of the last one to two minutes at `now`, in seconds since 1970.
pub(crate) fn rows(
    report: &TrafficReport,
    earlier: Option<Earlier<'_>>,
    now: u64,
    order: TopOrder,
) -> Vec<TopRow> {
    let rates = Rates { report, earlier, now };
    let mut rows = vec![rates.total()];
    let mut servers: Vec<_> = report
        .servers
        .iter()
        .map(|server| {
            let before = earlier.and_then(|earlier| {
                earlier.report.servers.iter().find(|known| known.server == server.server)
            });
            let before = before.map_or(&[][..], |known| &known.per_minute);
            rates.row(&server.server, RowLevel::Server, server.counts, &server.per_minute, before)
        })
        .collect();
    order.sort(&mut servers);
    for server in servers {
        let name = server.name.clone();
        rows.push(server);
        let of_server = report.tools.iter().filter(|tool| tool.server == name);
        let mut tools: Vec<_> = of_server
            .map(|tool| {
                let before = earlier.and_then(|earlier| {
                    earlier.report.tools.iter().find(|known| known.name == tool.name)
                });
                let before = before.map_or(&[][..], |known| &known.per_minute);
                rates.row(&tool.name, RowLevel::Tool, tool.counts, &tool.per_minute, before)
            })
            .collect();
        order.sort(&mut tools);
        rows.extend(tools);
    }
    rows
}

/// What rates are computed from.
struct Rates<'a> {
    report: &'a TrafficReport,
    earlier: Option<Earlier<'a>>,
    now: u64,
}

// === impl Rates ===

impl Rates<'_> {
    fn total(&self) -> TopRow {
        let calls = |minutes: &[TrafficMinute]| -> Vec<u64> {
            minutes.iter().map(|minute| minute.counts.calls).collect()
        };
        let before = self.earlier.map(|earlier| calls(&earlier.report.minutes)).unwrap_or_default();
        let per_minute = calls(&self.report.minutes);
        self.row("all", RowLevel::Total, self.report.total, &per_minute, &before)
    }

    fn row(
        &self,
        name: &str,
        level: RowLevel,
        counts: TrafficCounts,
        per_minute: &[u64],
        before: &[u64],
    ) -> TopRow {
        let (calls, seconds) = match &self.earlier {
            Some(earlier) => {
                (self.calls_since(earlier, per_minute, before), earlier.ago.as_secs_f64())
            }
            None => self.latest_calls(per_minute),
        };
        TopRow {
            name: name.to_owned(),
            level,
            calls_per_minute: if seconds > 0.0 { as_f64(calls) * MINUTE / seconds } else { 0.0 },
            counts,
            per_minute: per_minute.to_vec(),
        }
    }

    /// The calls since an earlier report: those of its last minute that it did not have yet, and of later minutes.
    fn calls_since(&self, earlier: &Earlier<'_>, per_minute: &[u64], before: &[u64]) -> u64 {
        let last = earlier.report.minutes.last().map_or(0, |minute| minute.time);
        let minutes = self.report.minutes.iter().zip(per_minute);
        let since: u64 =
            minutes.filter(|(minute, _)| minute.time >= last).map(|(_, calls)| calls).sum();
        since.saturating_sub(before.last().copied().unwrap_or(0))
    }

    /// The calls of the last minute and of the one that is not over, and the seconds of both.
    fn latest_calls(&self, per_minute: &[u64]) -> (u64, f64) {
        let began = self.report.minutes.last().map_or(self.now, |minute| minute.time);
        let elapsed = self.now.saturating_sub(began).min(60);
        (per_minute.iter().rev().take(2).sum(), MINUTE + as_f64(elapsed))
    }
}

// === impl TopOrder ===

impl TopOrder {
    const ALL: [Self; 6] =
        [Self::Calls, Self::Rate, Self::Errors, Self::Latency, Self::Tokens, Self::Name];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Rate => "calls per minute",
            Self::Errors => "errors",
            Self::Latency => "p99",
            Self::Tokens => "tokens",
            Self::Name => "name",
        }
    }

    pub(crate) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    fn sort(self, rows: &mut [TopRow]) {
        match self {
            Self::Calls => rows.sort_by_key(|row| Reverse(row.counts.calls)),
            Self::Rate => {
                rows.sort_by(|one, other| other.calls_per_minute.total_cmp(&one.calls_per_minute));
            }
            Self::Errors => rows.sort_by_key(|row| Reverse(row.counts.errors)),
            Self::Latency => rows
                .sort_by_key(|row| Reverse(row.counts.latency.map(|latency| latency.p99_micros))),
            Self::Tokens => rows.sort_by_key(|row| Reverse(row.counts.tokens)),
            Self::Name => rows.sort_by(|one, other| one.name.cmp(&other.name)),
        }
    }
}

/// Counts are far below 2^52.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A report whose last minute begins at `time`, with these calls in the last two minutes of `kiosk`.
    pub(crate) fn report(time: u64, last_two: [u64; 2]) -> TrafficReport {
        let mut per_minute = vec![0; 58];
        per_minute.extend(last_two);
        let calls: u64 = last_two.iter().sum();
        let latency =
            json!({ "calls": calls, "p50Micros": 1_200, "p95Micros": 9_000, "p99Micros": 31_000 });
        let counts = json!({
            "calls": calls, "errors": 1, "refused": 0, "cancelled": 0, "tokens": 12_345, "latency": latency,
        });
        let with = |more: serde_json::Value| {
            let mut merged = counts.clone();
            merged.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            merged
        };
        let minutes: Vec<_> = per_minute
            .iter()
            .zip(0..)
            .map(|(calls, at): (&u64, u64)| {
                json!({ "time": time + 60 * at - 59 * 60, "calls": calls, "errors": 0, "refused": 0, "cancelled": 0, "tokens": 0 })
            })
            .collect();
        let report = json!({
            "total": counts, "minutes": minutes, "clients": [],
            "tools": [
                with(json!({ "name": "mcp__kiosk__order", "server": "kiosk", "perMinute": per_minute })),
                with(json!({ "name": "mcp__kiosk__count", "server": "kiosk", "calls": 1, "errors": 0, "perMinute": vec![0; 60] })),
            ],
            "servers": [
                with(json!({ "server": "kiosk", "perMinute": per_minute })),
                { "server": "docs", "calls": 1, "errors": 1, "refused": 0, "cancelled": 0, "tokens": 3, "perMinute": vec![0; 60] },
            ],
        });
        serde_json::from_value(report).unwrap()
    }

    fn shown(rows: &[TopRow]) -> Vec<String> {
        rows.iter().map(|row| format!("{} {:.1}", row.name, row.calls_per_minute)).collect()
    }

    #[test]
    fn rates_are_those_since_the_earlier_report() {
        let before = report(6_000, [4, 2]);
        let same_minute = report(6_000, [4, 7]);
        let next_minute = report(6_060, [7, 3]);
        let ago = Duration::from_secs(10);
        for (report, expected) in [(&before, 0.0), (&same_minute, 30.0), (&next_minute, 48.0)] {
            let earlier = Some(Earlier { report: &before, ago });
            let rows = rows(report, earlier, 6_100, TopOrder::Calls);
            let rate = |at: usize| rows[at].calls_per_minute;
            assert!((rate(0) - expected).abs() < 0.001, "{}", rate(0));
            assert!((rate(1) - expected).abs() < 0.001, "{}", rate(1));
        }
        // Without one, the rate of the last minute and of the current one, 30 seconds old.
        let rows = rows(&before, None, 6_030, TopOrder::Calls);
        assert_eq!(
            shown(&rows),
            ["all 4.0", "kiosk 4.0", "mcp__kiosk__order 4.0", "mcp__kiosk__count 0.0", "docs 0.0"]
        );
    }

    #[test]
    fn rows_are_sorted_within_their_level() {
        let report = report(6_000, [4, 2]);
        let names = |order| -> Vec<String> {
            rows(&report, None, 6_030, order).into_iter().map(|row| row.name).collect()
        };
        assert_eq!(
            names(TopOrder::Name),
            ["all", "docs", "kiosk", "mcp__kiosk__count", "mcp__kiosk__order"]
        );
        assert_eq!(names(TopOrder::Errors)[1..3], ["kiosk", "mcp__kiosk__order"]);
        let orders: Vec<_> =
            std::iter::successors(Some(TopOrder::default()), |order| Some(order.next()))
                .take(7)
                .collect();
        assert_eq!(orders[0], orders[6]);
    }
}
