//! The Calls view: past calls with client, decision and outcome; and the page of one call.
//!
//! Used by `view`. The data come from the audit log, through the admin API.

use ratatui_core::text::Line as Row;
use serde_json::Value;
use switchboard_core::audit::AuditCallLine;

use super::page::Page;
use super::result;
use super::text::{Cell, Tone, Width, row};
use crate::show;
use crate::ui::app::{Model, Record};
use crate::units::{self, DisplayZone};

/// The columns of the longest outcome, `✘ tool error`.
const OUTCOME_COLUMNS: usize = 12;
/// The columns of a duration above a minute, `1 min 15 s`.
const TOOK_COLUMNS: usize = 10;
/// The columns of the longest decision.
const MAX_DECISION_COLUMNS: usize = 34;
/// The place of the client among the columns.
const CLIENT_COLUMN: usize = 3;
/// The narrowest list with a column for the client.
const MIN_CLIENT_LIST_COLUMNS: usize = 100;
/// The principal of the person who runs the hub.
const LOCAL_PRINCIPAL: &str = "local";

pub(super) fn head(width: usize) -> Row<'static> {
    let texts = ["TIME", "OUTCOME", "CALL", "CLIENT", "DECISION", "TOOK"].map(str::to_owned);
    row(&cells(texts, [Tone::Faint; 6], width), width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Row<'static>> {
    let calls = model.calls();
    let shown = calls.into_iter().skip(top).take(height);
    shown.map(|call| one(&call.line, model.zone, width)).collect()
}

fn one(line: &AuditCallLine, zone: DisplayZone, width: usize) -> Row<'static> {
    let (outcome, tone) = outcome(&line.outcome);
    let client = if line.client.is_empty() { &line.principal } else { &line.client };
    let texts = [
        zone.clock(&line.time),
        outcome,
        named(line).to_owned(),
        client.clone(),
        decided(line),
        units::micros(line.micros),
    ];
    let tones = [Tone::Faint, tone, Tone::Strong, Tone::Plain, Tone::Plain, Tone::Plain];
    row(&cells(texts, tones, width), width)
}

/// The cells of a row. A narrow list has no column for the client, which the page of the call shows.
fn cells(texts: [String; 6], tones: [Tone; 6], width: usize) -> Vec<Cell> {
    let widths = [
        Width::Columns(8),
        Width::Columns(OUTCOME_COLUMNS),
        Width::Rest,
        Width::Columns((width / 8).min(20)),
        Width::Columns((width / 4).clamp(16, MAX_DECISION_COLUMNS)),
        Width::Columns(TOOK_COLUMNS),
    ];
    let is_wide = width >= MIN_CLIENT_LIST_COLUMNS;
    let columns = texts.into_iter().zip(widths).zip(tones).enumerate();
    let columns = columns.filter(|(number, _)| is_wide || *number != CLIENT_COLUMN);
    columns.map(|(_, ((text, width), tone))| Cell::new(text, width, tone)).collect()
}

fn outcome(word: &str) -> (String, Tone) {
    let (symbol, tone) = match word {
        "ok" => ('✔', Tone::Good),
        "asked" => ('?', Tone::Plain),
        "cancelled" => ('⊘', Tone::Warn),
        _ => ('✘', Tone::Bad),
    };
    (format!("{symbol} {}", word.replace('-', " ")), tone)
}

fn named(line: &AuditCallLine) -> &str {
    if line.name.is_empty() { &line.method } else { &line.name }
}

/// The decision about a call and its reason, in the words of the console (`calls.js`).
pub(super) fn decided(line: &AuditCallLine) -> String {
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
        Some("agent") => ", not a tool of the agent",
        Some("not-for-models") => ", not for models",
        Some("not-for-apps") => ", not for apps",
        Some("not-lent") => ", the entry is not lent",
        Some("nobody-asked") => ", the mode does not ask",
        Some(other) => return format!("{decision} by {other}"),
    };
    format!("{decision}{reason}")
}

/// The page of one call, with parameters and result if they are known.
pub(super) fn page(record: &Record, zone: DisplayZone, page: &mut Page) -> String {
    let title = summary(record, zone, page);
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
pub(super) fn summary(record: &Record, zone: DisplayZone, page: &mut Page) -> String {
    let line = &record.call.line;
    let (word, tone) = outcome(&line.outcome);
    page.toned("Outcome", word, tone);
    page.toned("Error", line.error.as_deref().unwrap_or_default(), tone);
    page.fact("When", zone.moment(&line.time));
    let principal = Some(&*line.principal).filter(|principal| *principal != LOCAL_PRINCIPAL);
    let who = [&*line.client, principal.unwrap_or_default(), &*line.transport];
    let who = who.into_iter().filter(|who| !who.is_empty()).collect::<Vec<_>>();
    page.fact("Client", who.join(", "));
    page.fact("Session", &line.session);
    page.fact("Folder", &line.workspace);
    page.fact("Server", &line.server);
    page.fact("Method", &line.method);
    let decision = [&*decided(line), line.rule.as_deref().unwrap_or_default()].join(" ");
    page.fact("Decision", decision.trim());
    page.fact("Rule", line.at.as_deref().unwrap_or_default());
    page.fact("Took", units::micros(line.micros));
    let (sent, received) = (units::size(line.sent), units::size(line.received));
    page.fact("Size", format!("{sent} sent, {received} received"));
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
