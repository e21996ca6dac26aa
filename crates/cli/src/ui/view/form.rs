//! The window of a form: fields, completions, and progress or result of its call.
//!
//! Used by `view`. Results are formatted by `result`.

use ratatui_core::text::{Line, Span};
use serde_json::Value;
use switchboard_wire::json::Raw;

use super::Content;
use super::page::Page;
use super::result;
use super::text::{Tone, clean, tail, wide, wrap};
use crate::ui::app::{CallState, FieldInput, Form, FormField, Purpose, TrackedCall};
use crate::units;
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
    let needed = if blank.field.is_required { " (required)" } else { "" };
    let name = Tone::Strong.style();
    page.line(Line::from(vec![
        Span::styled(clean(&blank.field.title), name),
        Span::styled(needed, Tone::Faint.style()),
    ]));
    let room = width.saturating_sub(INDENT_COLUMNS + 2);
    let marker = if is_here { "> " } else { "  " };
    let mut column = INDENT_COLUMNS;
    match &blank.given {
        FieldInput::Text(typed) => {
            let input = if typed.is_empty() {
                Span::styled(clean(&blank.field.expected()), Tone::Faint.style())
            } else {
                column += wide(&tail(&typed.before(), room));
                Span::styled(clean(&tail(&typed.text(), room)), Tone::Accent.style())
            };
            page.line(Line::from(vec![Span::raw(marker), input]));
        }
        FieldInput::One(chosen) => {
            write_choices(one(blank, *chosen, is_here), marker, room, page);
        }
        FieldInput::Several { ticked, at } => {
            write_choices(several(blank, ticked, is_here.then_some(*at)), marker, room, page);
        }
    }
    u16::try_from(column).unwrap_or(0)
}

/// Writes choices on as many lines as they need; a choice that is longer than a line is wrapped.
fn write_choices(choices: Vec<(String, Tone)>, marker: &str, room: usize, page: &mut Page) {
    let indentation = " ".repeat(INDENT_COLUMNS);
    let mut spans = vec![Span::raw(marker.to_owned())];
    let mut taken = 0;
    for (text, tone) in choices {
        for piece in wrap(&text, room) {
            let columns = wide(&piece);
            if taken > 0 && taken + columns > room {
                page.line(Line::from(std::mem::take(&mut spans)));
                spans.push(Span::raw(indentation.clone()));
                taken = 0;
            }
            spans.push(Span::styled(piece, tone.style()));
            spans.push(Span::raw("  "));
            taken += columns + 2;
        }
    }
    page.line(Line::from(spans));
}

/// The choices, with the chosen one in brackets.
fn one(blank: &FormField, chosen: Option<usize>, is_here: bool) -> Vec<(String, Tone)> {
    let label = |(number, label): (usize, &str)| {
        if chosen == Some(number) {
            (format!("[{}]", clean(label)), Tone::Accent)
        } else {
            (format!(" {} ", clean(label)), Tone::Faint)
        }
    };
    let mut choices: Vec<_> = blank.labels().into_iter().enumerate().map(label).collect();
    if is_here {
        choices.push(("← →".to_owned(), Tone::Faint));
    }
    choices
}

/// The choices, each with a check box.
fn several(blank: &FormField, ticked: &[bool], at: Option<usize>) -> Vec<(String, Tone)> {
    let label = |(number, label): (usize, &str)| {
        let is_ticked = ticked.get(number).copied().unwrap_or_default();
        let tone = match (at == Some(number), is_ticked) {
            (true, _) => Tone::Chosen,
            (false, true) => Tone::Accent,
            (false, false) => Tone::Faint,
        };
        let mark = if is_ticked { 'x' } else { ' ' };
        (format!("[{mark}] {}", clean(label)), tone)
    };
    let mut choices: Vec<_> = blank.labels().into_iter().enumerate().map(label).collect();
    if at.is_some() {
        choices.push(("← → Space".to_owned(), Tone::Faint));
    }
    choices
}

fn offers(offered: &[String], page: &mut Page) {
    if !offered.is_empty() {
        let shown: Vec<_> = offered.iter().take(MAX_OFFERS).map(String::as_str).collect();
        page.text(&indented(&format!("^N completes: {}", shown.join(", "))), Tone::Accent);
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
                ("✘ the tool reported an error after", Tone::Bad)
            } else {
                ("✔ done in", Tone::Good)
            };
            page.text(&format!("{said} {}", units::duration(*took)), tone);
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
    match progress.map(Raw::from) {
        Some(params) => wait::progress_line("running", &params),
        None => "running …".to_owned(),
    }
}
