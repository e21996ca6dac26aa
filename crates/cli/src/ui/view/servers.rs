//! The Servers view, one line for each server.
//!
//! Used by `view`; `server` uses its state words.

use ratatui_core::text::Line;
use switchboard_core::remote::RemoteServer;

use super::text::{Cell, Tone, Width, row};
use crate::show;
use crate::ui::app::Model;

/// The width of the name column on a screen this wide.
fn name(width: usize) -> Width {
    Width::Columns((width / 5).clamp(16, 32))
}

pub(super) fn head(width: usize) -> Line<'static> {
    let cells = [
        Cell::new("STATE", Width::Columns(20), Tone::Faint),
        Cell::new("NAME", name(width), Tone::Faint),
        Cell::new("SCOPE", Width::Columns(7), Tone::Faint),
        Cell::new("VIA", Width::Columns(5), Tone::Faint),
        Cell::new("TOOLS  TOKENS CALLS P50/P99", Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Line<'static>> {
    let servers = model.servers();
    servers.into_iter().skip(top).take(height).map(|server| one(server, width)).collect()
}

fn one(server: &RemoteServer, width: usize) -> Line<'static> {
    let (state, tone) = state(word(server));
    let cells = [
        Cell::new(state, Width::Columns(20), tone),
        Cell::new(&server.name, name(width), Tone::Strong),
        Cell::new(server.scope.name(), Width::Columns(7), Tone::Plain),
        Cell::new(server.transport.as_deref().unwrap_or("-"), Width::Columns(5), Tone::Plain),
        Cell::new(numbers(server), Width::Rest, Tone::Plain),
    ];
    row(&cells, width)
}

/// The state of a server as a word; a connected server may be silent.
pub(super) fn word(server: &RemoteServer) -> &str {
    if server.silent_since.is_some() { "silent" } else { &server.state }
}

/// A state as a symbol and a word.
pub(super) fn state(word: &str) -> (String, Tone) {
    let (symbol, shown, tone) = match word {
        "connected" => ('✔', word, Tone::Good),
        "silent" => ('!', "does not answer", Tone::Warn),
        "needs-auth" => ('!', "needs sign-in", Tone::Warn),
        "awaiting-approval" => ('⏸', "awaiting approval", Tone::Warn),
        "failed" | "invalid" | "blocked" | "rejected" => ('✘', word, Tone::Bad),
        "disabled" => ('⊘', word, Tone::Faint),
        "pending" => ('…', "connecting", Tone::Plain),
        other => ('·', other, Tone::Plain),
    };
    (format!("{symbol} {shown}"), tone)
}

/// The counts of a connected server; otherwise the reason of its state.
fn numbers(server: &RemoteServer) -> String {
    if let Some(why) = why(server) {
        return why;
    }
    let Some(stats) = &server.stats else { return String::new() };
    let latency =
        stats.latency.map(|latency| format!("{}/{} ms", latency.p50_millis, latency.p99_millis));
    let restarts = match stats.restarts {
        0 => String::new(),
        restarts => format!(
            " · {}",
            show::count(usize::try_from(restarts).unwrap_or(usize::MAX), "restart")
        ),
    };
    format!(
        "{:>5} {:>7} {:>5} {}{restarts}",
        server.tool_count,
        show::group_thousands(server.cost),
        stats.calls_in_flight,
        latency.unwrap_or_else(|| "-".to_owned()),
    )
}

/// The reason of a server's state, on one line.
pub(super) fn why(server: &RemoteServer) -> Option<String> {
    let error = server.error.as_ref().map(|error| error.causes.join(": "));
    server.why.clone().or(error).filter(|why| !why.is_empty())
}
