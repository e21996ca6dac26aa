//! The screen of `switchboard top`, and its table as text for a pipe.
//!
//! Used by `ui::top` and `commands::top`. It computes no rates (`ui::top::table` does).

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use switchboard_core::traffic::TrafficReport;

use super::paint;
use super::sparkline::sparkline;
use super::text::{Cell, Tone, Width, cut, row, wide};
use crate::show;
use crate::ui::top::Top;
use crate::ui::top::table::{RowLevel, TopRow};
use crate::units;

/// The rows around the table: summary, two sparklines, blank, heading, blank, keys.
pub(crate) const FRAME_ROWS: u16 = 7;
/// The narrowest screen with a sparkline in each row.
const MIN_SPARKLINE_COLUMNS: usize = 110;
/// The columns of those sparklines: one for two minutes.
const SPARKLINE_COLUMNS: usize = 30;
/// The narrowest name column.
const MIN_NAME_COLUMNS: usize = 16;
/// The columns of numbers, with their headings.
const NUMBERS: [(&str, usize); 7] = [
    ("CALLS/MIN", 9),
    ("CALLS", 7),
    ("ERRORS", 6),
    ("P50", 7),
    ("P95", 7),
    ("P99", 7),
    ("TOKENS", 9),
];

/// Draws the screen.
pub(crate) fn draw(top: &Top, buffer: &mut Buffer) {
    let area = buffer.area;
    let width = usize::from(area.width);
    let at = |y: u16, height: u16| {
        let y = y.min(area.height);
        Rect { y: area.y + y, height: height.min(area.height - y), ..area }
    };
    let rows = top.rows();
    let summary = match (rows.first(), &top.problem) {
        (Some(total), _) => summary(total),
        (None, Some(why)) => format!("✘ {why}; retrying"),
        (None, None) => "… connecting to the hub".to_owned(),
    };
    let mut lines = vec![Line::styled(cut(&format!(" {summary}"), width), Tone::Strong.style())];
    if let (Some(report), Some(total)) = (top.report(), rows.first()) {
        lines.extend(graphs(report, total, width));
    }
    paint(&lines, 0, at(0, 3), buffer);
    paint(&[heading(width)], 0, at(4, 1), buffer);
    let height = area.height.saturating_sub(FRAME_ROWS);
    let shown = rows.iter().skip(top.offset).take(height.into());
    paint(&shown.map(|row| line(row, width)).collect::<Vec<_>>(), 0, at(5, height), buffer);
    let tools = if top.are_tools_hidden { "show tools" } else { "hide tools" };
    let keys = format!(
        " s sort (by {})  t {tools}  ↑ ↓ scroll  q quit   counts: last hour",
        top.order.label()
    );
    let keys = Line::styled(cut(&keys, width), Tone::Faint.style());
    paint(&[keys], 0, at(area.height.saturating_sub(1), 1), buffer);
}

/// The table as text; names are not cut.
pub(crate) fn text(rows: &[TopRow]) -> Vec<String> {
    let numbers: usize = NUMBERS.iter().map(|(_, columns)| columns + 1).sum();
    let names = rows.iter().map(|row| wide(&name(row))).max().unwrap_or(0);
    let width = names.max(MIN_NAME_COLUMNS) + numbers;
    // No sparklines: they are for people who look at a screen.
    let width = width.min(MIN_SPARKLINE_COLUMNS - 1).max(names + numbers);
    let lines = std::iter::once(row(&heading_cells(), width))
        .chain(rows.iter().map(|of| row(&cells(of), width)));
    lines.map(|line| line.to_string().trim_end().to_owned()).collect()
}

fn summary(total: &TopRow) -> String {
    let counts = &total.counts;
    let latency = counts.latency.map(|latency| {
        format!(
            " · p50 {}, p99 {}",
            units::micros(latency.p50_micros),
            units::micros(latency.p99_micros)
        )
    });
    format!(
        "{} calls/min · {}, {}{} · {} tokens",
        rate(total.calls_per_minute),
        show::count(as_usize(counts.calls), "call"),
        show::count(as_usize(counts.errors), "error"),
        latency.unwrap_or_default(),
        show::group_thousands(as_usize(counts.tokens)),
    )
}

/// The calls and the median latency of each minute.
fn graphs(report: &TrafficReport, total: &TopRow, width: usize) -> [Line<'static>; 2] {
    let columns = width.saturating_sub(10).min(60);
    let p50 = |minute: &switchboard_core::traffic::TrafficMinute| {
        minute.counts.latency.map_or(0, |latency| latency.p50_micros)
    };
    let p50: Vec<_> = report.minutes.iter().map(p50).collect();
    [("calls", sparkline(&total.per_minute, columns)), ("p50", sparkline(&p50, columns))]
        .map(|(label, bars)| Line::styled(format!(" {label:<6} {bars}"), Tone::Accent.style()))
}

fn heading(width: usize) -> Line<'static> {
    let mut cells = heading_cells();
    if width >= MIN_SPARKLINE_COLUMNS {
        cells.push(Cell::new("CALLS, LAST HOUR", Width::Columns(SPARKLINE_COLUMNS), Tone::Faint));
    }
    row(&cells, width)
}

fn line(of: &TopRow, width: usize) -> Line<'static> {
    let mut cells = cells(of);
    if width >= MIN_SPARKLINE_COLUMNS {
        let bars = sparkline(&of.per_minute, SPARKLINE_COLUMNS);
        cells.push(Cell::new(bars, Width::Columns(SPARKLINE_COLUMNS), Tone::Accent));
    }
    row(&cells, width)
}

fn heading_cells() -> Vec<Cell> {
    let numbers = NUMBERS.iter().map(|(title, columns)| number(title, *columns, Tone::Faint));
    std::iter::once(Cell::new("SERVER, TOOL", Width::Rest, Tone::Faint)).chain(numbers).collect()
}

fn cells(of: &TopRow) -> Vec<Cell> {
    let counts = &of.counts;
    let latency = |micros: fn(&switchboard_core::traffic::LatencyReport) -> u64| {
        counts
            .latency
            .as_ref()
            .map_or_else(|| "-".to_owned(), |latency| latency_text(micros(latency)))
    };
    let texts = [
        rate(of.calls_per_minute),
        show::group_thousands(as_usize(counts.calls)),
        show::group_thousands(as_usize(counts.errors)),
        latency(|latency| latency.p50_micros),
        latency(|latency| latency.p95_micros),
        latency(|latency| latency.p99_micros),
        show::group_thousands(as_usize(counts.tokens)),
    ];
    let tone = match of.level {
        RowLevel::Total | RowLevel::Server => Tone::Strong,
        RowLevel::Tool => Tone::Plain,
    };
    let mut cells = vec![Cell::new(name(of), Width::Rest, tone)];
    for ((title, columns), text) in NUMBERS.iter().zip(texts) {
        let is_failing = *title == "ERRORS" && counts.errors > 0;
        cells.push(number(&text, *columns, if is_failing { Tone::Bad } else { Tone::Plain }));
    }
    cells
}

fn number(text: &str, columns: usize, tone: Tone) -> Cell {
    Cell::new(format!("{text:>columns$}"), Width::Columns(columns), tone)
}

/// A latency in the width of its column: from one minute on without seconds.
fn latency_text(micros: u64) -> String {
    match micros.saturating_add(500_000) / 60_000_000 {
        0 => units::micros(micros),
        minutes => format!("{minutes} min"),
    }
}

/// The name of a row; tools stand below their server.
fn name(row: &TopRow) -> String {
    match row.level {
        RowLevel::Total | RowLevel::Server => row.name.clone(),
        RowLevel::Tool => format!("  {}", row.name),
    }
}

/// A rate with one digit after the point where it is small.
fn rate(calls_per_minute: f64) -> String {
    if calls_per_minute < 100.0 {
        format!("{calls_per_minute:.1}")
    } else {
        format!("{calls_per_minute:.0}")
    }
}

fn as_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
