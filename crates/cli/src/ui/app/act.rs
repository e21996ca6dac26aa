//! The actions of the UI, and which are available in each view and window.
//!
//! Used by `input::keys`, by the bar at the bottom and by the mouse, so that all three agree. `perform` carries actions
//! out.

use switchboard_core::permission::PermissionAnswer;

use super::form::{Form, Purpose};
use super::hub_model::LinkState;
use super::list::Move;
use super::problems::ProblemRow;
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
    /// Closes the window; else takes away marks, or ends search, order and filter.
    Close,
    Find,
    /// Sorts the list by the next order.
    Sort,
    /// Shows only rows of the next state.
    Filter,
    /// Marks the row for actions on several, or takes its mark away.
    Mark,
    /// Copies the row, the marked rows or the window to the clipboard.
    Copy,
    /// Shows the row or the window as JSON.
    Json,
    /// Opens the command line with this text.
    Command(&'static str),
    Server(ServerAct, String),
    /// An action on all marked servers in whose state it is possible.
    Marked(ServerAct),
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
    /// An answer to a permission question.
    Permission(PermissionAnswer),
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

/// The actions available now: first those on the row or window, then those on the list.
pub(crate) fn choice_groups(model: &Model) -> [Vec<Choice>; 2] {
    match model.windows.last() {
        Some(window) => [in_window(model, &window.kind), Vec::new()],
        None => {
            let mut on_row = on_row(model);
            if matches!(model.known.link, LinkState::Lost { .. }) {
                on_row.insert(0, choice("S", "start a hub", Act::StartHub));
            }
            [on_row, on_list(model)]
        }
    }
}

/// The actions available now.
pub(crate) fn choices(model: &Model) -> Vec<Choice> {
    choice_groups(model).into_iter().flatten().collect()
}

fn on_row(model: &Model) -> Vec<Choice> {
    let mut choices = Vec::new();
    match model.view {
        View::Servers if !model.list().marked.is_empty() => {
            if !matches!(model.known.link, LinkState::Open) {
                return choices;
            }
            choices.extend([
                choice("e", "enable", Act::Marked(ServerAct::Enable)),
                choice("d", "disable", Act::Marked(ServerAct::Disable)),
                choice("r", "reconnect", Act::Marked(ServerAct::Reconnect)),
            ]);
        }
        View::Servers => {
            let of_chosen = model.chosen_server().map(|name| of_server(model, name));
            choices.extend(of_chosen.into_iter().flatten());
            choices.push(choice("n", "new", Act::Add));
        }
        View::Tools => choices.push(choice("Enter", "call", Act::Open)),
        View::Prompts => choices.push(choice("Enter", "fill in", Act::Open)),
        View::Resources => choices.push(choice("Enter", "read", Act::Open)),
        View::Questions => choices.extend(match model.chosen_answer() {
            Some(answer) => Some(choice("x", "forget the answer", Act::Forget(answer.id.clone()))),
            None if model.known.questions.is_empty() => None,
            None => Some(choice("Enter", "answer", Act::Open)),
        }),
        View::Calls => choices
            .extend([choice("Enter", "details", Act::Open), choice("r", "run again", Act::Repeat)]),
        View::Problems => choices.extend(of_trouble(model)),
    }
    choices
}

fn on_list(model: &Model) -> Vec<Choice> {
    let mut choices = vec![choice("/", "find", Act::Find)];
    if model.view.orders().len() > 1 {
        choices.push(choice("s", "sort", Act::Sort));
    }
    if matches!(model.view, View::Servers | View::Calls) {
        choices.push(choice("f", "filter", Act::Filter));
    }
    if model.view.can_mark() {
        choices.push(choice("Space", "mark", Act::Mark));
    }
    choices.extend([
        choice("y", "copy", Act::Copy),
        choice("J", "JSON", Act::Json),
        choice(":", "command", Act::Command("")),
        choice("?", "help", Act::Help),
        choice("q", "quit", Act::Quit),
    ]);
    choices
}

/// The actions for the selected problem.
fn of_trouble(model: &Model) -> Vec<Choice> {
    let troubles = model.troubles();
    let chosen = model.list().chosen(troubles.len());
    match troubles.get(chosen) {
        Some(ProblemRow::Server(server)) => of_server(model, &server.name),
        Some(ProblemRow::Approval(case)) => {
            let act = Act::Server(ServerAct::Review, case.name.clone());
            vec![choice("a", "review", act)]
        }
        Some(ProblemRow::Problem(problem)) if problem.server.is_some() => {
            vec![choice("Enter", "details", Act::Open)]
        }
        _ => Vec::new(),
    }
}

/// Whether an action is possible in a server's state.
pub(super) fn is_possible(act: ServerAct, state: &str) -> bool {
    match act {
        ServerAct::Enable => state == "disabled",
        ServerAct::Disable => state != "disabled",
        ServerAct::Reconnect | ServerAct::Log => {
            matches!(state, "connected" | "idle" | "failed" | "pending" | "needs-auth")
        }
        ServerAct::SignIn => state == "needs-auth",
        ServerAct::SignOut => matches!(state, "connected" | "idle"),
        ServerAct::Review | ServerAct::Tools | ServerAct::Edit | ServerAct::Remove => true,
    }
}

/// The actions on a server in its current state; none without a hub.
fn of_server(model: &Model, name: &str) -> Vec<Choice> {
    let Some(server) = model.known.server(name) else { return Vec::new() };
    if !matches!(model.known.link, LinkState::Open) {
        return Vec::new();
    }
    let is_remote = matches!(server.transport.as_deref(), Some("http" | "sse"));
    let waits = model.known.approvals.iter().any(|case| case.name == name);
    let all = [
        (waits, "a", "review", ServerAct::Review),
        (true, "i", "sign in", ServerAct::SignIn),
        (true, "e", "enable", ServerAct::Enable),
        (true, "r", "reconnect", ServerAct::Reconnect),
        (true, "d", "disable", ServerAct::Disable),
        (true, "l", "log", ServerAct::Log),
        (server.tool_count > 0, "t", "tools", ServerAct::Tools),
        (true, "c", "change", ServerAct::Edit),
        (is_remote, "o", "sign out", ServerAct::SignOut),
        (true, "x", "remove", ServerAct::Remove),
    ];
    let possible =
        all.into_iter().filter(|(fits, _, _, act)| *fits && is_possible(*act, &server.state));
    possible
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
        WindowKind::Record(_) => vec![choice("r", "run again", Act::Repeat)],
        WindowKind::Question { id } => of_question(model, id),
        WindowKind::SignIn { .. } => vec![choice("o", "open in the browser", Act::Visit)],
        WindowKind::Remove { .. } => vec![choice("y", "remove it", Act::RemoveIt)],
        WindowKind::Form(form) => of_form(form),
        WindowKind::Entry(entry) if entry.writing == Writing::Allowed => {
            vec![choice("^S", "save", Act::Submit)]
        }
        WindowKind::Help
        | WindowKind::Log { .. }
        | WindowKind::Json { .. }
        | WindowKind::Entry(_) => Vec::new(),
    };
    if kind.can_copy() {
        choices.push(choice("y", "copy", Act::Copy));
    }
    if kind.has_json() {
        choices.push(choice("J", "JSON", Act::Json));
    }
    choices.push(choice("Esc", "close", Act::Close));
    choices
}

fn of_form(form: &Form) -> Vec<Choice> {
    let is_running = form.calling.as_ref().is_some_and(super::TrackedCall::is_underway);
    let mut choices = vec![choice("^S", form.verb(), Act::Submit)];
    if is_running {
        choices.push(choice("^X", "cancel the call", Act::CancelCall));
    }
    if form.outcome_json().is_some() {
        choices.push(choice("^Y", "copy the result", Act::Copy));
    }
    match form.purpose {
        Purpose::Answer { .. } => choices.extend([
            choice("^D", "decline", Act::Say(AnswerChoice::Decline)),
            choice("^X", "cancel", Act::Say(AnswerChoice::Cancel)),
        ]),
        Purpose::Sampling { .. } => {
            choices.push(choice("^D", "refuse", Act::Say(AnswerChoice::Refuse)));
        }
        _ => {}
    }
    choices
}

fn of_question(model: &Model, id: &str) -> Vec<Choice> {
    let Some(asked) = model.known.question(id) else { return Vec::new() };
    let text = |pointer| asked.about.pointer(pointer).and_then(serde_json::Value::as_str);
    if text("/kind") == Some("permission") {
        let keys = ["o", "s", "p", "a", "d", "n"];
        return keys
            .into_iter()
            .zip(PermissionAnswer::ALL)
            .map(|(key, answer)| {
                choice(key, answer.label(), Act::Say(AnswerChoice::Permission(answer)))
            })
            .collect();
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
