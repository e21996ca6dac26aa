//! The Queue view: questions that wait, and remembered answers below them; and the page of one question.
//!
//! Used by `view`. Forms are drawn by `form`.

use ratatui_core::text::Line;
use serde_json::Value;
use switchboard_core::catalog::ToolAnnotations;
use switchboard_core::permission::{AnswerLifetime, AskReason, DecisionReason, LastingAnswer};

use super::page::Page;
use super::text::{Cell, Tone, Width, row};
use crate::show;
use crate::ui::app::{Model, WaitingQuestion};

pub(super) fn head(width: usize) -> Line<'static> {
    let cells = [
        Cell::new("WHAT", Width::Columns(12), Tone::Faint),
        Cell::new("SERVER", Width::Columns(16), Tone::Faint),
        Cell::new("CLIENT", Width::Columns(14), Tone::Faint),
        Cell::new("QUESTION", Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Line<'static>> {
    let questions = model.known.questions.iter().map(|asked| one(asked, width));
    let answers = model.known.answers.iter().map(|answer| remembered(answer, width));
    questions.chain(answers).skip(top).take(height).collect()
}

fn remembered(answer: &LastingAnswer, width: usize) -> Line<'static> {
    let lasts = match answer.answer {
        AnswerLifetime::Project => "project".to_owned(),
        lasting => lasting.to_string(),
    };
    let rule = match &answer.question {
        AskReason::Rule(rule) => format!(" (rule {rule})"),
        AskReason::Undecided => String::new(),
    };
    let place = answer.project.as_ref().map(|project| format!(" in {project}"));
    let question = format!("may {} be called?{rule}{}", answer.tool, place.unwrap_or_default());
    let cells = [
        Cell::new(lasts, Width::Columns(12), Tone::Faint),
        Cell::new(&answer.server, Width::Columns(16), Tone::Plain),
        Cell::new("answered", Width::Columns(14), Tone::Faint),
        Cell::new(question, Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}

fn one(asked: &WaitingQuestion, width: usize) -> Line<'static> {
    let (what, question) = in_words(asked);
    let client = asked.client.as_deref().unwrap_or(if asked.is_ours() { "you" } else { "-" });
    let cells = [
        Cell::new(what, Width::Columns(12), Tone::Warn),
        Cell::new(&asked.server, Width::Columns(16), Tone::Strong),
        Cell::new(client, Width::Columns(14), Tone::Plain),
        Cell::new(question, Width::Rest, Tone::Plain),
    ];
    row(&cells, width)
}

/// The kind of a question, and the question on one line.
fn in_words(asked: &WaitingQuestion) -> (&'static str, String) {
    match asked.text("/kind") {
        "permission" => ("permission", format!("may {} be called?", asked.text("/tool"))),
        "elicitation" if asked.text("/params/mode") == "url" => {
            ("page", asked.text("/params/message").to_owned())
        }
        "elicitation" => ("form", asked.text("/params/message").to_owned()),
        "sampling" => ("model", "what would a model say?".to_owned()),
        _ => ("?", "something that this version does not know".to_owned()),
    }
}

/// The page of a question that is answered with yes or no.
pub(super) fn page(model: &Model, id: &str, page: &mut Page) -> String {
    let Some(asked) = model.known.question(id) else {
        page.text("It no longer waits.", Tone::Faint);
        return "question".to_owned();
    };
    match asked.text("/kind") {
        "permission" => permission(asked, page),
        "elicitation" => visit(asked, page),
        _ => {
            page.text("This version does not know what is asked.", Tone::Plain);
            page.text(&show::block(&asked.about), Tone::Faint);
        }
    }
    format!("{} asks", asked.server)
}

fn permission(asked: &WaitingQuestion, page: &mut Page) {
    page.text(&format!("May {} do this?", asked.server), Tone::Strong);
    page.gap();
    page.fact("Tool", asked.text("/tool"));
    page.fact("Asked by", asked.client.as_deref().unwrap_or_default());
    page.fact("It", says(asked));
    let because = asked.about.get("because").cloned().unwrap_or_default();
    let because =
        serde_json::from_value::<DecisionReason>(because).map(|because| because.to_string());
    page.fact("Asked because", because.unwrap_or_default());
    page.fact("Rule to allow it", asked.text("/allow"));
    page.heading("Arguments");
    let arguments = asked.about.get("arguments").unwrap_or(&Value::Null);
    page.text(&show::block(arguments), Tone::Accent);
}

/// The annotations of the tool, and the worst case if it has none.
fn says(asked: &WaitingQuestion) -> String {
    let annotations = asked.about.get("annotations").cloned().unwrap_or_default();
    let annotations: ToolAnnotations = serde_json::from_value(annotations).unwrap_or_default();
    let says = [
        (annotations.is_destructive(), "may destroy something"),
        (annotations.read_only_hint == Some(true), "says that it only reads"),
        (annotations.open_world_hint == Some(true), "reaches beyond this machine"),
    ];
    says.into_iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, what)| what)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A page to visit: its host is shown before anything opens.
fn visit(asked: &WaitingQuestion, page: &mut Page) {
    page.text(asked.text("/params/message"), Tone::Plain);
    page.gap();
    let address = asked.text("/params/url");
    let Some(url) = crate::ask::page(address) else {
        page.text("It names an address that is no page, and that is not opened:", Tone::Bad);
        page.text(address, Tone::Plain);
        return;
    };
    let host = url.host_str().unwrap_or_default();
    page.text("It wants you to visit a page of", Tone::Plain);
    page.gap();
    page.text(&format!("  {host}"), Tone::Strong);
    page.gap();
    if url.scheme() == "http" {
        page.text("! The connection to it is not encrypted.", Tone::Warn);
    }
    if host.split('.').any(|label| label.starts_with("xn--")) {
        page.text("! Its name is written with letters of other scripts.", Tone::Warn);
    }
    page.text(url.as_str(), Tone::Accent);
}
