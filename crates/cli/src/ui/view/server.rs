//! The windows of one server: details with processes, log, sign-in.
//!
//! Used by `view`.

use std::collections::VecDeque;

use switchboard_core::remote::{RemoteServer, RemoteStats};
use switchboard_core::traffic::ServerTraffic;

use super::page::Page;
use super::servers::{state, target, why};
use super::sparkline::sparkline;
use super::text::Tone;
use crate::show;
use crate::ui::app::{Model, Process, server_state};
use crate::units;

pub(super) fn page(model: &Model, name: &str, page: &mut Page) -> String {
    let title = format!("server {name}");
    let Some(server) = model.known.server(name) else {
        page.text("This server is no longer configured.", Tone::Faint);
        return title;
    };
    let (shown, tone) = state(server_state(server));
    page.toned("State", shown, tone);
    page.fact("Affects", server.connection_count().affected().unwrap_or_default());
    let moment = |millis: Option<u64>| millis.map(|millis| model.zone.moment_of_millis(millis));
    page.fact("Lists read", moment(server.lists_read_at).unwrap_or_default());
    page.fact("No answer since", moment(server.silent_since).unwrap_or_default());
    page.toned("Why", why(server).unwrap_or_default(), tone);
    let hint = server.error.as_ref().and_then(|error| error.hint.clone());
    page.fact("What to do", hint.unwrap_or_default());
    page.fact("Last tried", moment(server.last_tried_at).unwrap_or_default());
    page.fact("Next attempt in", server.retry_in_millis.map(units::millis).unwrap_or_default());
    page.gap();
    configured(server, page);
    spoken(server, page);
    if let Some(stats) = &server.stats {
        counted(stats, page);
    }
    if let Some(traffic) = model.known.server_traffic(name) {
        write_traffic(traffic, page);
    }
    page.fact("Used by", model.known.users(name).join(", "));
    tree(model.known.processes(name), page);
    title
}

fn configured(server: &RemoteServer, page: &mut Page) {
    page.fact("Scope", server.scope.name());
    let at = server.at.as_ref().map(|at| format!("{}:{}", at.origin, at.line));
    page.fact("File", at.unwrap_or_default());
    page.fact("Transport", server.transport.as_deref().unwrap_or_default());
    let label = if server.entry.as_ref().is_some_and(|entry| entry["url"].is_string()) {
        "URL"
    } else {
        "Command"
    };
    page.fact(label, target(server));
}

fn spoken(server: &RemoteServer, page: &mut Page) {
    let names = [server.server_name.as_deref(), server.server_version.as_deref()];
    page.fact("Reported name", names.into_iter().flatten().collect::<Vec<_>>().join(" "));
    let era = server.era.as_deref().unwrap_or_default();
    let protocol = server.protocol.as_ref().map(|protocol| format!("{protocol}, {era}"));
    page.fact("Protocol", protocol.unwrap_or_default());
    page.fact("Offers", server.offers.join(", "));
    page.fact("Connected in", server.connect_millis.map(units::millis).unwrap_or_default());
    if server.tool_count > 0 {
        let tools = show::count(server.tool_count, "tool");
        page.fact("Tools", format!("{tools}, {} tokens", show::group_thousands(server.cost)));
    }
}

fn counted(stats: &RemoteStats, page: &mut Page) {
    page.fact("Running calls", stats.calls_in_flight.to_string());
    page.fact("Restarts", stats.restarts.to_string());
    let pids: Vec<_> = stats
        .pids
        .iter()
        .chain(stats.pid.iter().filter(|_| stats.pids.is_empty()))
        .map(u32::to_string)
        .collect();
    page.fact("Process", pids.join(", "));
    let trouble = stats.last_error.as_ref().map(|error| error.causes.join(": "));
    page.fact("Last error", trouble.unwrap_or_default());
}

/// The calls and latencies of the last hour, each with a bar for one minute or several.
fn write_traffic(traffic: &ServerTraffic, page: &mut Page) {
    let counts = &traffic.counts;
    let number = |count: u64, noun| show::count(usize::try_from(count).unwrap_or(usize::MAX), noun);
    let parts = [
        number(counts.calls, "call"),
        number(counts.errors, "error"),
        number(counts.tokens, "token"),
    ];
    page.fact("Last hour", parts.join(" · "));
    page.bars("Calls", &sparkline(&traffic.per_minute, page.fact_columns()));
    if let Some(latency) = &counts.latency {
        let [p50, p95, p99] =
            [latency.p50_micros, latency.p95_micros, latency.p99_micros].map(units::micros);
        page.fact("Latency", format!("p50 {p50} · p95 {p95} · p99 {p99}"));
        page.bars("p50", &sparkline(&traffic.p50_micros_per_minute, page.fact_columns()));
    }
}

/// The processes, each below its parent.
fn tree(processes: &[Process], page: &mut Page) {
    if processes.is_empty() {
        return;
    }
    let memory: u64 = processes.iter().map(|process| process.resident).sum();
    page.fact("Memory", units::memory(memory));
    page.heading("Processes");
    let is_root = |process: &&Process| {
        !processes.iter().any(|other| Some(other.pid) == process.parent && other.pid != process.pid)
    };
    for root in processes.iter().filter(is_root) {
        branch(root, processes, 0, page);
    }
}

fn branch(process: &Process, all: &[Process], depth: usize, page: &mut Page) {
    let name = format!("{}{}", "  ".repeat(depth.min(16)), process.pid);
    page.fact(&name, format!("{:<24} {}", process.name, units::memory(process.resident)));
    // Limits the depth: parent ids could form a cycle.
    if depth < all.len() {
        let children = all.iter().filter(|child| child.parent == Some(process.pid));
        children
            .filter(|child| child.pid != process.pid)
            .for_each(|child| branch(child, all, depth + 1, page));
    }
}

/// The log of the server's standard error.
pub(super) fn log(server: &str, lines: &VecDeque<String>, page: &mut Page) -> String {
    if lines.is_empty() {
        page.text("Nothing logged yet. New lines appear here.", Tone::Faint);
    }
    for line in lines {
        page.text(line, Tone::Plain);
    }
    format!("log of {server}")
}

/// The sign-in page, and whether the sign-in is complete.
pub(super) fn sign_in(model: &Model, server: &str, at: &str, page: &mut Page) -> String {
    let word = model.known.server(server).map_or("", |server| server.state.as_str());
    if matches!(word, "connected" | "idle") {
        page.text("✔ Signed in and connected.", Tone::Good);
    } else {
        let url = crate::ask::page(at);
        let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
        page.text("Sign in on a page of this host:", Tone::Plain);
        page.gap();
        page.text(&format!("  {host}"), Tone::Strong);
        page.gap();
        page.text(at, Tone::Accent);
        page.gap();
        page.text(
            "Press o to open it in your browser. This window shows when you are signed in.",
            Tone::Faint,
        );
    }
    page.gap();
    let (word, tone) = state(word);
    page.toned("State", word, tone);
    format!("sign in to {server}")
}
