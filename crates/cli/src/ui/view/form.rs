//! The window of a form: fields, completions, and progress or result of its call.
//!
//! Used by `view`. Results are formatted by `result`.

use ratatui_core::text::{Line, Span};
use serde_json::Value;
use switchboard_wire::json::Raw;

use super::Content;
use super::page::Page;
use super::result;
use super::text::{Tone, clean, tail, wide};
use crate::ui::app::{CallState, FieldInput, Form, FormField, Purpose, TrackedCall};
use crate::wait;

/// The indentation of fields.
const INDENT_COLUMNS: usize = 2;
/// The most completions that are shown.
const MAX_OFFERS: usize = 8;

pub(super) fn content(form: &Form, width: usize) -> Content {
    let mut page = Page::new(width);
    page.text(&form.text, Tone::Plain);
    page.gap();
    for (name, text) in &form.about {
        page.fact(name, text);
    }
    page.gap();
    let mut focus = None;
    for (number, blank) in form.blanks.iter().enumerate() {
        let is_here = number == form.focus;
        let column = field(blank, is_here, width, &mut page);
        if is_here {
            focus = Some((page.length() - 1, column));
            offers(&form.offered, &mut page);
        }
        let description = blank.field.description.as_deref().unwrap_or_default();
        page.text(&indented(description), Tone::Faint);
    }
    page.gap();
    page.text(form.problem.as_deref().unwrap_or_default(), Tone::Bad);
    button(form, &mut page);
    if form.is_on_button() {
        focus = Some((page.length() - 1, 2));
    }
    let outcome = form.calling.as_ref().map(|calling| {
        page.gap();
        let outcome = page.length();
        write_call_outcome(calling, &form.purpose, &mut page);
        outcome
    });
    Content { title: form.title.clone(), lines: page.lines(), focus, outcome }
}

/// Draws a field: its title, then its input. Returns the column of the cursor.
fn field(blank: &FormField, is_here: bool, width: usize, page: &mut Page) -> u16 {
    let needed = if blank.field.is_required { " (needed)" } else { "" };
    let name = Tone::Strong.style();
    page.line(Line::from(vec![
        Span::styled(clean(&blank.field.title), name),
        Span::styled(needed, Tone::Faint.style()),
    ]));
    let room = width.saturating_sub(INDENT_COLUMNS + 2);
    let marker = if is_here { "> " } else { "  " };
    let mut spans = vec![Span::raw(marker)];
    let mut column = INDENT_COLUMNS;
    match &blank.given {
        FieldInput::Text(typed) if typed.is_empty() => {
            spans.push(Span::styled(clean(&blank.field.expected()), Tone::Faint.style()));
        }
        FieldInput::Text(typed) => {
            spans.push(Span::styled(clean(&tail(&typed.text(), room)), Tone::Accent.style()));
            column += wide(&tail(&typed.before(), room));
        }
        FieldInput::One(chosen) => spans.extend(one(blank, *chosen, is_here)),
        FieldInput::Several { ticked, at } => {
            spans.extend(several(blank, ticked, is_here.then_some(*at)));
        }
    }
    page.line(Line::from(spans));
    u16::try_from(column).unwrap_or(0)
}

/// The choices, with the selected one in brackets.
fn one(blank: &FormField, chosen: Option<usize>, is_here: bool) -> Vec<Span<'static>> {
    let label = |(number, label): (usize, &str)| {
        if chosen == Some(number) {
            Span::styled(format!("[{}] ", clean(label)), Tone::Accent.style())
        } else {
            Span::styled(format!(" {}  ", clean(label)), Tone::Faint.style())
        }
    };
    let mut spans: Vec<_> = blank.labels().into_iter().enumerate().map(label).collect();
    if is_here {
        spans.push(Span::styled(" ← →", Tone::Faint.style()));
    }
    spans
}

/// The choices, each with a check box.
fn several(blank: &FormField, ticked: &[bool], at: Option<usize>) -> Vec<Span<'static>> {
    let label = |(number, label): (usize, &str)| {
        let is_ticked = ticked.get(number).copied().unwrap_or_default();
        let tone = match (at == Some(number), is_ticked) {
            (true, _) => Tone::Chosen,
            (false, true) => Tone::Accent,
            (false, false) => Tone::Faint,
        };
        let mark = if is_ticked { 'x' } else { ' ' };
        [Span::styled(format!("[{mark}] {}", clean(label)), tone.style()), Span::raw("  ")]
    };
    let mut spans: Vec<_> = blank.labels().into_iter().enumerate().flat_map(label).collect();
    if at.is_some() {
        spans.push(Span::styled("← → Space", Tone::Faint.style()));
    }
    spans
}

fn offers(offered: &[String], page: &mut Page) {
    if !offered.is_empty() {
        let shown: Vec<_> = offered.iter().take(MAX_OFFERS).map(String::as_str).collect();
        page.text(&indented(&format!("^N takes: {}", shown.join(", "))), Tone::Accent);
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn button(form: &Form, page: &mut Page) {
    let tone = if form.is_on_button() { Tone::Chosen } else { Tone::Strong };
    let spans = [Span::raw("  "), Span::styled(format!("[ {} ]", form.verb()), tone.style())];
    page.line(Line::from(spans.to_vec()));
}

/// The progress of a call, or its result.
fn write_call_outcome(calling: &TrackedCall, purpose: &Purpose, page: &mut Page) {
    match &calling.state {
        CallState::Underway { progress } => page.text(&underway(progress.as_ref()), Tone::Warn),
        CallState::Cancelled => page.text("⊘ cancelled", Tone::Warn),
        CallState::Failed(wrong) => {
            page.text(&format!("✘ {}", wrong.title), Tone::Bad);
            let hint = wrong.hint.as_ref().map(|hint| format!("hint: {hint}"));
            page.text(hint.as_deref().unwrap_or_default(), Tone::Plain);
        }
        CallState::Done { result, note, took } => {
            let is_error = result.get("isError") == Some(&Value::Bool(true));
            let (said, tone) = if is_error {
                ("✘ the tool reports an error, after", Tone::Bad)
            } else {
                ("✔ done in", Tone::Good)
            };
            page.text(&format!("{said} {} ms", took.as_millis()), tone);
            page.text(note.as_deref().unwrap_or_default(), Tone::Faint);
            page.gap();
            match purpose {
                Purpose::Prompt { .. } => result::messages(result, page),
                Purpose::Resource { .. } => result::contents(result, page),
                _ => result::result(result, page),
            }
        }
    }
}

fn underway(progress: Option<&Value>) -> String {
    let params = progress.and_then(|params| Raw::from_value(params).ok());
    match params {
        Some(params) => wait::progress_line("calling", &params),
        None => "calling …".to_owned(),
    }
}
