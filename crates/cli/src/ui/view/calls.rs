//! The Calls view: past calls with client, decision and outcome; and the page of one call.
//!
//! Used by `view`. The data come from the audit log, through the admin API.

use ratatui_core::text::Line as Row;
use serde_json::Value;
use switchboard_core::audit::AuditCallLine;

use super::page::Page;
use super::result;
use super::server::bytes;
use super::text::{Cell, Tone, Width, row};
use crate::show;
use crate::ui::app::{Model, Record};

pub(super) fn head(width: usize) -> Row<'static> {
    let cells = [
        Cell::new("TIME", Width::Columns(8), Tone::Faint),
        Cell::new("OUTCOME", Width::Columns(11), Tone::Faint),
        Cell::new("CALL", Width::Rest, Tone::Faint),
        Cell::new("DECISION", Width::Columns(16), Tone::Faint),
        Cell::new("DURATION", Width::Columns(8), Tone::Faint),
    ];
    row(&cells, width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Row<'static>> {
    let calls = model.calls();
    calls.into_iter().skip(top).take(height).map(|call| one(&call.line, width)).collect()
}

fn one(line: &AuditCallLine, width: usize) -> Row<'static> {
    let (outcome, tone) = outcome(&line.outcome);
    let clock = line.time.get(11..19).unwrap_or(&line.time);
    let cells = [
        Cell::new(clock, Width::Columns(8), Tone::Faint),
        Cell::new(outcome, Width::Columns(11), tone),
        Cell::new(named(line), Width::Rest, Tone::Strong),
        Cell::new(decided(line), Width::Columns(16), Tone::Plain),
        Cell::new(took(line.micros), Width::Columns(8), Tone::Plain),
    ];
    row(&cells, width)
}

fn outcome(word: &str) -> (String, Tone) {
    match word {
        "ok" => (format!("✔ {word}"), Tone::Good),
        "asked" => (format!("? {word}"), Tone::Plain),
        "cancelled" => (format!("⊘ {word}"), Tone::Warn),
        _ => (format!("✘ {word}"), Tone::Bad),
    }
}

fn named(line: &AuditCallLine) -> &str {
    if line.name.is_empty() { &line.method } else { &line.name }
}

/// The decision about a call and its reason, in the words of the console (`calls.js`).
fn decided(line: &AuditCallLine) -> String {
    let Some(decision) = line.decision.as_deref() else { return String::new() };
    let decision = match decision {
        "allow" => "allowed",
        "deny" => "denied",
        "ask" => "asked",
        other => other,
    };
    let reason = match line.by.as_deref() {
        None => return decision.to_owned(),
        Some("rule") => " by rule",
        Some("mode") => " by mode",
        Some("hook") => " by hook",
        Some("person") => " by person",
        Some("classifier") => " by classifier",
        Some("remembered") => " by remembered answer",
        Some("client") => ", left to the client",
        Some("typed") => ", typed",
        Some("interaction") => ", the tool needs a person",
        Some("built-in") => ", built in",
        Some("unclear-settings") => ", the settings are unclear",
        Some("repeated-argument") => ", an argument is repeated",
        Some("not-for-models") => ", not for models",
        Some("not-for-apps") => ", not for apps",
        Some("nobody-asked") => ", the mode asks nobody",
        Some(other) => return format!("{decision} by {other}"),
    };
    format!("{decision}{reason}")
}

/// A duration with a unit and few digits.
pub(super) fn duration(time: std::time::Duration) -> String {
    took(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// A duration in microseconds with a unit and few digits.
pub(super) fn took(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

/// The page of one call, with parameters and result if they are known.
pub(super) fn page(record: &Record, page: &mut Page) -> String {
    let title = summary(record, page);
    match &record.said {
        Some(said) => spoken(&record.call.line, said, page),
        None => {
            page.gap();
            page.text(
                "The hub no longer has the arguments and the result. Press r to open the form with what you filled in last.",
                Tone::Faint,
            );
        }
    }
    title
}

/// All fields of the call's audit line.
pub(super) fn summary(record: &Record, page: &mut Page) -> String {
    let line = &record.call.line;
    let (word, tone) = outcome(&line.outcome);
    page.toned("Outcome", word, tone);
    page.toned("Error", line.error.as_deref().unwrap_or_default(), tone);
    page.fact("Time", &line.time);
    let who = [&*line.principal, &*line.client, &*line.transport];
    page.fact(
        "Caller",
        who.into_iter().filter(|who| !who.is_empty()).collect::<Vec<_>>().join(", "),
    );
    page.fact("Session", &line.session);
    page.fact("Folder", &line.workspace);
    page.fact("Server", &line.server);
    page.fact("Method", &line.method);
    page.fact("Decision", decided(line));
    page.fact("Rule", line.rule.as_deref().unwrap_or_default());
    page.fact("Rule defined at", line.at.as_deref().unwrap_or_default());
    page.fact("Duration", took(line.micros));
    page.fact("Size", format!("{} sent, {} received", bytes(line.sent), bytes(line.received)));
    named(line).to_owned()
}

/// Parameters and result of the call.
fn spoken(line: &AuditCallLine, said: &Value, page: &mut Page) {
    if let Some(params) = said.get("params") {
        page.heading("Request");
        page.text(&show::block(params), Tone::Accent);
    }
    let causes = said.pointer("/error/causes").and_then(Value::as_array).into_iter().flatten();
    for cause in causes.filter_map(Value::as_str) {
        page.toned("Cause", cause, Tone::Bad);
    }
    if let Some(result) = said.get("result") {
        page.heading("Result");
        match &*line.method {
            "prompts/get" => result::messages(result, page),
            "resources/read" => result::contents(result, page),
            _ => result::result(result, page),
        }
    }
}
