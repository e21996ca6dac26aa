//! The Questions view: questions that wait, and remembered answers below them; and the page of one question.
//!
//! Used by `view`. Forms are drawn by `form`.

use ratatui_core::text::Line;
use serde_json::Value;
use switchboard_core::permission::{
    AnswerLifetime, AskReason, DecisionReason, LastingAnswer, PermissionAnswer,
    describe_annotations, permission_sentence,
};

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
    let questions = model.questions().into_iter().map(|asked| one(asked, width));
    let answers = model.answers().into_iter().map(|answer| remembered(answer, width));
    questions.chain(answers).skip(top).take(height).collect()
}

fn remembered(answer: &LastingAnswer, width: usize) -> Line<'static> {
    let rule = match &answer.question {
        AskReason::Rule(rule) => format!(" (rule {rule})"),
        AskReason::Undecided => String::new(),
    };
    let question = format!("{}: {}{rule}", answer.tool, remembered_words(answer));
    let cells = [
        Cell::new("answered", Width::Columns(12), Tone::Faint),
        Cell::new(&answer.server, Width::Columns(16), Tone::Plain),
        Cell::new("-", Width::Columns(14), Tone::Faint),
        Cell::new(question, Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}

/// A remembered answer in the words of the choices.
fn remembered_words(answer: &LastingAnswer) -> String {
    match (answer.answer, &answer.project) {
        (AnswerLifetime::Project, Some(project)) => format!("Always allow in {project}"),
        (lifetime, _) => PermissionAnswer::from(lifetime).label().to_owned(),
    }
}

/// The page of a remembered answer.
pub(super) fn answer_page(answer: &LastingAnswer, page: &mut Page) -> String {
    page.fact("Server", &answer.server);
    page.fact("Tool", &answer.tool);
    page.fact("Answer", remembered_words(answer));
    if let AskReason::Rule(rule) = &answer.question {
        page.fact("Asked by rule", rule);
    }
    page.gap();
    page.text("Press x to forget the answer; the next call asks again.", Tone::Faint);
    "Remembered answer".to_owned()
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
        // The client is in a column of its own.
        "permission" => {
            let verb = if asked.is_ours() { "want" } else { "wants" };
            ("permission", format!("{verb} to call {}", asked.text("/tool")))
        }
        "elicitation" if asked.text("/params/mode") == "url" => {
            ("page", asked.text("/params/message").to_owned())
        }
        "elicitation" => ("form", asked.text("/params/message").to_owned()),
        "sampling" => ("sampling", "a model should answer; you can answer instead".to_owned()),
        _ => ("?", "unknown to this version".to_owned()),
    }
}

/// The page of a question that is answered with yes or no.
pub(super) fn page(model: &Model, id: &str, page: &mut Page) -> String {
    let Some(asked) = model.known.question(id) else {
        page.text("This question has been answered, or was withdrawn.", Tone::Faint);
        return "question".to_owned();
    };
    match asked.text("/kind") {
        "permission" => permission(asked, page),
        "elicitation" => visit(asked, page),
        _ => {
            page.text("This version does not know this kind of question.", Tone::Plain);
            page.text(&show::block(&asked.about), Tone::Faint);
        }
    }
    format!("question from {}", asked.server)
}

fn permission(asked: &WaitingQuestion, page: &mut Page) {
    page.text(&sentence(asked), Tone::Strong);
    page.gap();
    page.fact("Tool", asked.text("/tool"));
    page.fact("Client", asked.client.as_deref().unwrap_or_default());
    page.fact("The tool", claims(asked));
    let because = asked.about.get("because").cloned().unwrap_or_default();
    let because =
        serde_json::from_value::<DecisionReason>(because).map(|because| because.to_string());
    page.fact("Asked because", because.unwrap_or_default());
    page.fact("Rule to allow it", asked.text("/allow"));
    page.heading("Arguments");
    let arguments = asked.about.get("arguments").unwrap_or(&Value::Null);
    page.text(&show::block(arguments), Tone::Accent);
}

/// The question as a sentence.
fn sentence(asked: &WaitingQuestion) -> String {
    let (tool, server) = (asked.text("/tool"), &asked.server);
    match &asked.client {
        None if asked.is_ours() => format!("You want to call {tool} on {server}."),
        client => permission_sentence(client.as_deref(), tool, server),
    }
}

/// The meaning of the tool's annotations.
fn claims(asked: &WaitingQuestion) -> String {
    let annotations = asked.about.get("annotations").cloned().unwrap_or_default();
    describe_annotations(serde_json::from_value(annotations).unwrap_or_default())
}

/// A page to visit: its host is shown before anything opens.
fn visit(asked: &WaitingQuestion, page: &mut Page) {
    page.text(asked.text("/params/message"), Tone::Plain);
    page.gap();
    let address = asked.text("/params/url");
    let Some(url) = crate::ask::page(address) else {
        page.text(
            "The server sent an address that is not a web page. It will not be opened:",
            Tone::Bad,
        );
        page.text(address, Tone::Plain);
        return;
    };
    let host = url.host_str().unwrap_or_default();
    page.text("The server asks you to visit a page of this host:", Tone::Plain);
    page.gap();
    page.text(&format!("  {host}"), Tone::Strong);
    page.gap();
    if url.scheme() == "http" {
        page.text("! The connection is not encrypted (http).", Tone::Warn);
    }
    if host.split('.').any(|label| label.starts_with("xn--")) {
        page.text("! The host name contains characters that can look like others.", Tone::Warn);
    }
    page.text(url.as_str(), Tone::Accent);
}
