//! The state of the UI and its update function, without I/O.
//!
//! [`Model::update`] takes an [`Event`] and returns [`Effect`]s. Used by `ui`, which runs the effects, and by `view`,
//! which draws the model. It reads no key, draws no cell and sends no request, so that tests are data.

mod act;
mod answer;
mod event;
mod form;
mod hub_model;
mod list;
mod perform;
mod problems;
mod rows;
mod selection;
mod server;
mod text_line;
mod tracked_call;
mod update;
mod window;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub(crate) use act::{Act, AnswerChoice, Choice, ReviewVerdict, ServerAct, choice_groups, choices};
pub(crate) use event::{
    CallUpdate, Effect, Event, Method, Path, Request, RequestIntent, ServersUpdate,
};
pub(crate) use form::{FieldInput, Form, FormField, Purpose};
pub(crate) use hub_model::{
    ApprovalCase, Catalog, HubModel, HubSummary, Item, ItemKind, LinkState, MAX_CALLS_KEPT,
    PastCall, Process, RequestFailure, WaitingQuestion,
};
pub(crate) use list::{List, Move};
pub(crate) use problems::{ProblemRow, troubles};
pub(crate) use rows::server_state;
pub(crate) use text_line::TextLine;
pub(crate) use tracked_call::{CallState, TrackedCall};
pub(crate) use window::{Entry, Record, Scroll, Window, WindowKind, Writing};

use super::input::History;
use crate::units::DisplayZone;

/// The whole state of the UI.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) known: HubModel,
    pub(crate) view: View,
    lists: [List; View::ALL.len()],
    pub(crate) typing: Typing,
    /// Open windows, the top one last.
    pub(crate) windows: Vec<Window>,
    pub(crate) notice: Option<Notice>,
    pub(crate) history: History,
    pub(crate) notify: Notify,
    pub(crate) zone: DisplayZone,
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    /// The number of the latest call.
    last: u64,
    /// The ticket of the running completion request, and the value it was sent for.
    completing: Option<(u64, String)>,
    /// The last texts of each tool's form, by tool name.
    filled: HashMap<String, Vec<String>>,
}

/// One of the seven views.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum View {
    #[default]
    Servers,
    Tools,
    Prompts,
    Resources,
    Questions,
    Calls,
    Problems,
}

/// The target of typed letters.
#[derive(Debug, Clone, Default)]
pub(crate) enum Typing {
    /// Letters are commands.
    #[default]
    Nowhere,
    /// The search text of the list.
    Find,
    /// The command line.
    Line(TextLine),
}

/// A message, shown until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    Good(String),
    Bad(String),
}

/// Whether new questions raise a desktop notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Notify {
    #[default]
    Nobody,
    Desktop,
}

// === impl View ===

impl View {
    /// All views, in the order of their numbers.
    pub(crate) const ALL: [Self; 7] = [
        Self::Servers,
        Self::Tools,
        Self::Prompts,
        Self::Resources,
        Self::Questions,
        Self::Calls,
        Self::Problems,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Servers => "Servers",
            Self::Tools => "Tools",
            Self::Prompts => "Prompts",
            Self::Resources => "Resources",
            Self::Questions => "Questions",
            Self::Calls => "Calls",
            Self::Problems => "Problems",
        }
    }

    /// The view `steps` further on, wrapping around.
    pub(crate) fn further(self, steps: usize) -> Self {
        Self::ALL[(self as usize + steps) % Self::ALL.len()]
    }
}

// === impl Model ===

impl Model {
    pub(crate) fn new(size: (u16, u16), notify: Notify, history: History) -> Self {
        Self { history, notify, size, ..Self::default() }
    }

    /// The list of the current view.
    pub(crate) fn list(&self) -> &List {
        &self.lists[self.view as usize]
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.view as usize]
    }

    pub(crate) fn window(&self) -> Option<&Window> {
        self.windows.last()
    }

    fn form_mut(&mut self) -> Option<&mut Form> {
        match self.windows.last_mut() {
            Some(Window { kind: WindowKind::Form(form), .. }) => Some(form),
            _ => None,
        }
    }

    fn ticket(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice::Good(text.into()));
    }

    /// Shows an error message.
    pub(crate) fn complain(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice::Bad(text.into()));
    }
}
