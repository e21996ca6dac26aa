//! The actions of the UI, and which are available in each view and window.
//!
//! Used by `input::keys`, by the bar at the bottom and by the mouse, so that all three agree. `perform` carries actions
//! out.

use super::form::Purpose;
use super::hub_model::LinkState;
use super::list::Move;
use super::problems::{ProblemRow, troubles};
use super::window::{WindowKind, Writing};
use super::{Model, View};
use crate::ask::page;

/// An action of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Quit,
    Suspend,
    Redraw,
    Help,
    Turn(View),
    NextView,
    ViewBefore,
    Go(Move),
    /// Opens the selected row.
    Open,
    /// Closes the window, or ends the search.
    Close,
    Find,
    /// Opens the command line with this text.
    Command(&'static str),
    Server(ServerAct, String),
    Add,
    Decide(ReviewVerdict),
    /// Answers a question.
    Say(AnswerChoice),
    /// Forgets the remembered answer with this id.
    Forget(String),
    /// Opens the page of the window in the browser.
    Visit,
    /// Submits the form or saves the entry.
    Submit,
    CancelCall,
    /// Repeats a past call.
    Repeat,
    RemoveIt,
    StartHub,
}

/// An action on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerAct {
    Enable,
    Disable,
    Reconnect,
    Review,
    SignIn,
    SignOut,
    Tools,
    Log,
    Edit,
    Remove,
}

/// The decision about an item that awaits approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewVerdict {
    Approve,
    Reject,
}

/// The answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerChoice {
    Once,
    Session,
    Project,
    Always,
    Deny,
    Never,
    Accept,
    Decline,
    Cancel,
    Refuse,
}

/// An available action with its key and label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The name of the key.
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    pub(crate) act: Act,
}

const fn choice(key: &'static str, label: &'static str, act: Act) -> Choice {
    Choice { key, label, act }
}

/// The actions available now, most specific first.
pub(crate) fn choices(model: &Model) -> Vec<Choice> {
    let mut choices = match model.windows.last() {
        Some(window) => in_window(model, &window.kind),
        None => in_view(model),
    };
    if matches!(model.known.link, LinkState::Lost { .. }) && model.windows.is_empty() {
        choices.insert(0, choice("S", "start a hub", Act::StartHub));
    }
    choices
}

fn in_view(model: &Model) -> Vec<Choice> {
    let mut choices = Vec::new();
    match model.view {
        View::Servers => {
            choices.extend(
                model.chosen_server().map(|name| of_server(model, name)).into_iter().flatten(),
            );
            choices.push(choice("n", "new", Act::Add));
        }
        View::Tools => choices.push(choice("Enter", "call", Act::Open)),
        View::Prompts => choices.push(choice("Enter", "fill in", Act::Open)),
        View::Resources => choices.push(choice("Enter", "read", Act::Open)),
        View::Queue => choices.push(match model.chosen_answer() {
            Some(answer) => choice("x", "forget the answer", Act::Forget(answer.id.clone())),
            None => choice("Enter", "answer", Act::Open),
        }),
        View::Activity => {
            choices
                .extend([choice("Enter", "open", Act::Open), choice("r", "repeat", Act::Repeat)]);
        }
        View::Problems => choices.extend(of_trouble(model)),
    }
    let everywhere = [
        choice("?", "help", Act::Help),
        choice("f", "find", Act::Find),
        choice(":", "command", Act::Command("")),
        choice("q", "quit", Act::Quit),
    ];
    choices.into_iter().chain(everywhere).collect()
}

/// The actions for the selected problem.
fn of_trouble(model: &Model) -> Vec<Choice> {
    let troubles = troubles(&model.known);
    let chosen = model.list().chosen(troubles.len());
    match troubles.get(chosen) {
        Some(ProblemRow::Server(server)) => of_server(model, &server.name),
        Some(ProblemRow::Approval(case)) => {
            let act = Act::Server(ServerAct::Review, case.name.clone());
            vec![choice("a", "review", act)]
        }
        Some(ProblemRow::Problem(problem)) if problem.server.is_some() => {
            vec![choice("Enter", "open", Act::Open)]
        }
        _ => Vec::new(),
    }
}

/// The actions on a server in its current state.
fn of_server(model: &Model, name: &str) -> Vec<Choice> {
    let Some(server) = model.known.server(name) else { return Vec::new() };
    let state = server.state.as_str();
    let is_remote = matches!(server.transport.as_deref(), Some("http" | "sse"));
    let runs = matches!(state, "connected" | "failed" | "pending" | "needs-auth");
    let waits = model.known.approvals.iter().any(|case| case.name == name);
    let all = [
        (waits, "a", "review", ServerAct::Review),
        (state == "needs-auth", "i", "sign in", ServerAct::SignIn),
        (state == "disabled", "e", "enable", ServerAct::Enable),
        (runs, "r", "reconnect", ServerAct::Reconnect),
        (state != "disabled", "d", "disable", ServerAct::Disable),
        (runs, "l", "log", ServerAct::Log),
        (server.tool_count > 0, "t", "tools", ServerAct::Tools),
        (true, "c", "change", ServerAct::Edit),
        (is_remote && state == "connected", "o", "sign out", ServerAct::SignOut),
        (true, "x", "remove", ServerAct::Remove),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there
        .map(|(_, key, label, act)| choice(key, label, Act::Server(act, name.to_owned())))
        .collect()
}

fn in_window(model: &Model, kind: &WindowKind) -> Vec<Choice> {
    let mut choices = match kind {
        WindowKind::Server { name } => of_server(model, name),
        WindowKind::Review { .. } => vec![
            choice("a", "approve", Act::Decide(ReviewVerdict::Approve)),
            choice("r", "reject", Act::Decide(ReviewVerdict::Reject)),
        ],
        WindowKind::Record(_) => vec![choice("r", "repeat", Act::Repeat)],
        WindowKind::Question { id } => of_question(model, id),
        WindowKind::SignIn { .. } => vec![choice("o", "open in the browser", Act::Visit)],
        WindowKind::Remove { .. } => vec![choice("y", "remove it", Act::RemoveIt)],
        WindowKind::Form(form) => {
            let is_underway = form.calling.as_ref().is_some_and(super::TrackedCall::is_underway);
            let mut choices = vec![choice("^S", form.verb(), Act::Submit)];
            if is_underway {
                choices.push(choice("^X", "cancel the call", Act::CancelCall));
            }
            match form.purpose {
                Purpose::Answer { .. } => choices.extend([
                    choice("^D", "decline", Act::Say(AnswerChoice::Decline)),
                    choice("^X", "cancel it", Act::Say(AnswerChoice::Cancel)),
                ]),
                Purpose::Sampling { .. } => {
                    choices.push(choice("^D", "refuse", Act::Say(AnswerChoice::Refuse)));
                }
                _ => {}
            }
            choices
        }
        WindowKind::Entry(entry) if entry.writing == Writing::Allowed => {
            vec![choice("^S", "save", Act::Submit)]
        }
        WindowKind::Help | WindowKind::Log { .. } | WindowKind::Entry(_) => Vec::new(),
    };
    choices.push(choice("Esc", "close", Act::Close));
    choices
}

fn of_question(model: &Model, id: &str) -> Vec<Choice> {
    let Some(asked) = model.known.question(id) else { return Vec::new() };
    let text = |pointer| asked.about.pointer(pointer).and_then(serde_json::Value::as_str);
    if text("/kind") == Some("permission") {
        return vec![
            choice("o", "once", Act::Say(AnswerChoice::Once)),
            choice("s", "session", Act::Say(AnswerChoice::Session)),
            choice("p", "project", Act::Say(AnswerChoice::Project)),
            choice("a", "always", Act::Say(AnswerChoice::Always)),
            choice("d", "deny", Act::Say(AnswerChoice::Deny)),
            choice("n", "never", Act::Say(AnswerChoice::Never)),
        ];
    }
    let mut choices = Vec::new();
    if text("/params/url").and_then(page).is_some() {
        choices.push(choice("o", "open the page", Act::Say(AnswerChoice::Accept)));
    }
    choices.extend([
        choice("d", "decline", Act::Say(AnswerChoice::Decline)),
        choice("c", "cancel", Act::Say(AnswerChoice::Cancel)),
    ]);
    choices
}
