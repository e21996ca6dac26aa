//! The windows of one server: details with processes, log, sign-in.
//!
//! Used by `view`; `activity` and `result` use `bytes`.

use std::collections::VecDeque;

use switchboard_core::remote::{RemoteServer, RemoteStats};

use super::page::Page;
use super::servers::{state, why, word};
use super::text::Tone;
use crate::show;
use crate::ui::app::{Model, Process};

pub(super) fn page(model: &Model, name: &str, page: &mut Page) -> String {
    let title = format!("server {name}");
    let Some(server) = model.known.server(name) else {
        page.text("It is gone.", Tone::Faint);
        return title;
    };
    let (shown, tone) = state(word(server));
    page.toned("State", shown, tone);
    page.fact("Affects", server.connection_count().affected().unwrap_or_default());
    let moment = |millis: Option<u64>| millis.map(|millis| show::moment(millis / 1000));
    page.fact("No answer since", moment(server.silent_since).unwrap_or_default());
    page.toned("Why", why(server).unwrap_or_default(), tone);
    let hint = server.error.as_ref().and_then(|error| error.hint.clone());
    page.fact("What to do", hint.unwrap_or_default());
    page.fact("Last tried", moment(server.last_tried_at).unwrap_or_default());
    let retry = server.retry_in_millis.map(|millis| format!("in {} s", millis.div_ceil(1000)));
    page.fact("Tried again", retry.unwrap_or_default());
    page.gap();
    configured(server, page);
    spoken(server, page);
    if let Some(stats) = &server.stats {
        counted(stats, page);
    }
    page.fact("Used by", model.known.users(name).join(", "));
    tree(model.known.processes(name), page);
    title
}

fn configured(server: &RemoteServer, page: &mut Page) {
    page.fact("Scope", server.scope.name());
    let at = server.at.as_ref().map(|at| format!("{}:{}", at.origin, at.line));
    page.fact("File", at.unwrap_or_default());
    page.fact("Via", server.transport.as_deref().unwrap_or_default());
}

fn spoken(server: &RemoteServer, page: &mut Page) {
    let names = [server.server_name.as_deref(), server.server_version.as_deref()];
    page.fact("Calls itself", names.into_iter().flatten().collect::<Vec<_>>().join(" "));
    let era = server.era.as_deref().unwrap_or_default();
    let protocol = server.protocol.as_ref().map(|protocol| format!("{protocol}, {era}"));
    page.fact("Protocol", protocol.unwrap_or_default());
    page.fact("Offers", server.offers.join(", "));
    let took = server.connect_millis.map(|millis| format!("{millis} ms"));
    page.fact("Connected in", took.unwrap_or_default());
    if server.tool_count > 0 {
        let tools = show::count(server.tool_count, "tool");
        page.fact(
            "Tools",
            format!("{tools}, which cost {} tokens", show::group_thousands(server.cost)),
        );
    }
}

fn counted(stats: &RemoteStats, page: &mut Page) {
    page.fact("Calls in flight", stats.calls_in_flight.to_string());
    let latency = stats.latency.map(|latency| {
        format!(
            "half within {} ms, all but one of a hundred within {} ms",
            latency.p50_millis, latency.p99_millis
        )
    });
    page.fact("Latency", latency.unwrap_or_default());
    page.fact("Restarts", stats.restarts.to_string());
    let pids: Vec<_> = stats
        .pids
        .iter()
        .chain(stats.pid.iter().filter(|_| stats.pids.is_empty()))
        .map(u32::to_string)
        .collect();
    page.fact("Process", pids.join(", "));
    let trouble = stats.last_error.as_ref().map(|error| error.causes.join(": "));
    page.fact("Last trouble", trouble.unwrap_or_default());
}

/// The processes, each below its parent.
fn tree(processes: &[Process], page: &mut Page) {
    if processes.is_empty() {
        return;
    }
    let memory: u64 = processes.iter().map(|process| process.resident).sum();
    page.fact("Memory", bytes(memory));
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
    page.fact(&name, format!("{:<24} {}", process.name, bytes(process.resident)));
    // Limits the depth: parent ids could form a cycle.
    if depth < all.len() {
        let children = all.iter().filter(|child| child.parent == Some(process.pid));
        children
            .filter(|child| child.pid != process.pid)
            .for_each(|child| branch(child, all, depth + 1, page));
    }
}

/// A size in a readable unit.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The log of the server's standard error.
pub(super) fn log(server: &str, lines: &VecDeque<String>, page: &mut Page) -> String {
    if lines.is_empty() {
        page.text("It has written nothing.", Tone::Faint);
    }
    for line in lines {
        page.text(line, Tone::Plain);
    }
    format!("log of {server}")
}

/// The sign-in page, and whether the sign-in is complete.
pub(super) fn sign_in(model: &Model, server: &str, at: &str, page: &mut Page) -> String {
    let word = model.known.server(server).map_or("", |server| server.state.as_str());
    if word == "connected" {
        page.text("✔ Signed in, and connected.", Tone::Good);
    } else {
        let url = crate::ask::page(at);
        let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
        page.text("You sign in at a page of", Tone::Plain);
        page.gap();
        page.text(&format!("  {host}"), Tone::Strong);
        page.gap();
        page.text(at, Tone::Accent);
        page.gap();
        page.text(
            "o opens it in your browser. This window says when you are signed in.",
            Tone::Faint,
        );
    }
    page.gap();
    let (word, tone) = state(word);
    page.toned("State", word, tone);
    format!("sign in to {server}")
}
