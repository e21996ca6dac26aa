//! The Servers view, one line for each server; on a wide screen with its command or URL.
//!
//! Used by `view`; `server` and `bars` use its state words.

use ratatui_core::text::Line;
use switchboard_core::remote::RemoteServer;
use switchboard_core::traffic::LatencyReport;

use super::text::{Cell, Tone, Width, row};
use crate::show;
use crate::ui::app::{Model, server_state};

/// The narrowest list with commands and URLs.
const MIN_TARGET_LIST_COLUMNS: usize = 94;
/// The columns of the numbers: `TOOLS  TOKENS CALLS P50/P99`.
const NUMBER_COLUMNS: usize = 28;

/// The width of the name column in a list this wide.
fn name(width: usize) -> Width {
    Width::Columns((width / 5).clamp(16, 24))
}

/// The columns before the numbers.
fn first_cells(width: usize, texts: [&str; 4], tones: [Tone; 3]) -> Vec<Cell> {
    let [state, named, scope, transport] = texts;
    let [state_tone, name_tone, tone] = tones;
    let mut cells = vec![
        Cell::new(state, Width::Columns(19), state_tone),
        Cell::new(named, name(width), name_tone),
        Cell::new(scope, Width::Columns(7), tone),
    ];
    // The narrow list beside a preview leaves out the transport, which the preview shows.
    if width >= 80 {
        cells.push(Cell::new(transport, Width::Columns(5), tone));
    }
    cells
}

pub(super) fn head(width: usize) -> Line<'static> {
    let mut cells = first_cells(width, ["  STATE", "NAME", "SCOPE", "VIA"], [Tone::Faint; 3]);
    let numbers = "TOOLS  TOKENS CALLS P50/P99";
    if width >= MIN_TARGET_LIST_COLUMNS {
        cells.push(Cell::new(numbers, Width::Columns(NUMBER_COLUMNS), Tone::Faint));
        cells.push(Cell::new("COMMAND OR URL", Width::Rest, Tone::Faint));
    } else {
        cells.push(Cell::new(numbers, Width::Rest, Tone::Faint));
    }
    row(&cells, width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Line<'static>> {
    let marked = &model.list().marked;
    let line = |server: &RemoteServer| one(model, server, marked.contains(&server.name), width);
    model.servers().into_iter().skip(top).take(height).map(line).collect()
}

fn one(model: &Model, server: &RemoteServer, is_marked: bool, width: usize) -> Line<'static> {
    let (state, tone) = state(server_state(server));
    let named = if is_marked { format!("» {}", server.name) } else { server.name.clone() };
    let transport = server.transport.as_deref().unwrap_or("-");
    let texts = [&*state, &*named, server.scope.name(), transport];
    let mut cells = first_cells(width, texts, [tone, Tone::Strong, Tone::Plain]);
    match why(server) {
        Some(why) => cells.push(Cell::new(why, Width::Rest, Tone::Plain)),
        None if width >= MIN_TARGET_LIST_COLUMNS => {
            cells.push(Cell::new(
                numbers(model, server),
                Width::Columns(NUMBER_COLUMNS),
                Tone::Plain,
            ));
            cells.push(Cell::new(target(server), Width::Rest, Tone::Faint));
        }
        None => cells.push(Cell::new(numbers(model, server), Width::Rest, Tone::Plain)),
    }
    row(&cells, width)
}

/// A state as a symbol and a word.
pub(super) fn state(word: &str) -> (String, Tone) {
    let (symbol, tone) = match word {
        "connected" | "idle" => ('✔', Tone::Good),
        "silent" | "needs-auth" => ('!', Tone::Warn),
        "awaiting-approval" => ('⏸', Tone::Warn),
        "failed" | "invalid" | "blocked" | "rejected" => ('✘', Tone::Bad),
        "disabled" => ('⊘', Tone::Faint),
        "pending" => ('…', Tone::Plain),
        "unknown" => ('?', Tone::Faint),
        _ => ('·', Tone::Plain),
    };
    (format!("{symbol} {}", show::state_word(word)), tone)
}

/// The tools of a server, and its calls in the last hour.
fn numbers(model: &Model, server: &RemoteServer) -> String {
    if server.stats.is_none() {
        return String::new();
    }
    let counts = model.known.server_traffic(&server.name).map(|traffic| traffic.counts);
    let latency = counts.and_then(|counts| counts.latency);
    format!(
        "{:>5} {:>7} {:>5} {}",
        server.tool_count,
        show::group_thousands(server.cost),
        counts.map_or(0, |counts| counts.calls),
        latency.map_or_else(|| "-".to_owned(), percentiles),
    )
}

/// The median and the 99th percentile in milliseconds.
fn percentiles(latency: LatencyReport) -> String {
    let millis = |micros: u64| match micros {
        0..1_000 => "<1".to_owned(),
        micros => ((micros + 500) / 1_000).to_string(),
    };
    match (millis(latency.p50_micros), millis(latency.p99_micros)) {
        (p50, p99) if p50 == p99 => format!("{p50} ms"),
        (p50, p99) => format!("{p50}/{p99} ms"),
    }
}

/// The command line or URL of a server, redacted.
pub(super) fn target(server: &RemoteServer) -> String {
    server.entry.as_ref().map(show::target).unwrap_or_default()
}

/// The reason of a server's state, on one line.
pub(super) fn why(server: &RemoteServer) -> Option<String> {
    let error = server.error.as_ref().map(|error| error.causes.join(": "));
    server.why.clone().or(error).filter(|why| !why.is_empty())
}
