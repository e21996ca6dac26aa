//! The selection as text for the clipboard and as JSON: the row, the marked rows, or the open window.
//!
//! Used by `perform` and `act`. The terminal writes the clipboard (`ui::terminal`). Nothing here was redacted less
//! than on the screen.

use serde_json::{Value, json};
use switchboard_core::remote::RemoteServer;

use super::act::is_possible;
use super::window::Window;
use super::{
    ApprovalCase, Effect, HubModel, Item, ItemKind, Model, ProblemRow, Record, ServerAct, View,
    WaitingQuestion, WindowKind,
};
use crate::show;

/// The most characters of a copied text that the message shows.
const MAX_SHOWN_CHARS: usize = 40;

// === impl Model ===

impl Model {
    /// Copies the window, the marked rows or the row under the cursor.
    pub(super) fn copy(&mut self) -> Vec<Effect> {
        let text = match self.windows.last() {
            Some(window) => window_text(&window.kind, &self.known),
            None => self.rows_text(),
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            self.complain("there is nothing to copy");
            return Vec::new();
        };
        let shown = text.lines().next().unwrap_or_default();
        let more = if text.lines().nth(1).is_some() { " …" } else { "" };
        self.say(format!("copied {}{more}", show::shorten(shown, MAX_SHOWN_CHARS)));
        vec![Effect::Copy(text)]
    }

    fn rows_text(&self) -> Option<String> {
        let marked = &self.list().marked;
        if marked.is_empty() {
            let row = self.list().chosen(self.lengths().0);
            return self.row_text(row);
        }
        let keys = self.row_keys();
        let rows = keys.iter().enumerate().filter(|(_, key)| marked.contains(*key));
        let texts: Vec<_> = rows.filter_map(|(row, _)| self.row_text(row)).collect();
        Some(texts.join("\n"))
    }

    fn row_text(&self, row: usize) -> Option<String> {
        match self.view {
            View::Servers => self.servers().get(row).map(|server| server_text(server)),
            View::Tools | View::Prompts | View::Resources => {
                self.items().get(row).map(|item| item_text(item))
            }
            View::Questions => match self.questions().get(row) {
                Some(asked) => Some(question_text(asked)),
                None => self.chosen_answer().map(|answer| answer.tool.clone()),
            },
            View::Calls => self.calls().get(row).map(|call| call.line.name.clone()),
            View::Problems => {
                self.troubles().get(row).map(|row| format!("{}: {}", row.title(), row.why()))
            }
        }
    }

    /// Opens a window with the row or window as JSON.
    pub(super) fn show_json(&mut self) {
        let shown = match self.windows.last() {
            Some(window) => window_json(&window.kind, &self.known),
            None => self.row_json(),
        };
        if let Some((title, value)) = shown {
            self.windows.push(Window::new(WindowKind::Json { title, text: show::block(&value) }));
        }
    }

    fn row_json(&self) -> Option<(String, Value)> {
        let row = self.list().chosen(self.lengths().0);
        match self.view {
            View::Servers => self.servers().get(row).map(|server| server_json(server)),
            View::Tools | View::Prompts | View::Resources => {
                let item = self.items().get(row).copied()?;
                Some((item.name.clone(), item.raw.decode().unwrap_or_default()))
            }
            View::Questions => match self.questions().get(row) {
                Some(asked) => Some(question_json(asked)),
                None => self.chosen_answer().map(|answer| (answer.tool.clone(), to_json(answer))),
            },
            View::Calls => {
                self.calls().get(row).map(|call| (call.line.name.clone(), to_json(&call.line)))
            }
            View::Problems => self.troubles().get(row).map(|row| match row {
                ProblemRow::Server(server) => server_json(server),
                ProblemRow::Approval(case) => approval_json(case),
                ProblemRow::Problem(problem) => (row.title(), to_json(problem)),
            }),
        }
    }

    /// Carries out an action on all marked servers in whose state it is possible.
    pub(super) fn with_marked(&mut self, act: ServerAct) -> Vec<Effect> {
        let marked = std::mem::take(&mut self.list_mut().marked);
        let servers = self.known.servers.iter().filter(|server| marked.contains(&server.name));
        let possible = servers.filter(|server| is_possible(act, &server.state));
        let names: Vec<_> = possible.map(|server| server.name.clone()).collect();
        if names.is_empty() {
            self.complain("none of the marked servers is in a state for this");
        }
        names.iter().flat_map(|name| self.with_server(act, name)).collect()
    }
}

// === impl WindowKind ===

impl WindowKind {
    /// Whether `y` copies something of the window. In a form, letters are text.
    pub(crate) fn can_copy(&self) -> bool {
        matches!(
            self,
            Self::Server { .. }
                | Self::Log { .. }
                | Self::Record(_)
                | Self::Question { .. }
                | Self::SignIn { .. }
                | Self::Json { .. }
        )
    }

    /// Whether the window can be shown as JSON.
    pub(crate) fn has_json(&self) -> bool {
        matches!(
            self,
            Self::Server { .. } | Self::Record(_) | Self::Question { .. } | Self::Review { .. }
        )
    }
}

fn window_text(kind: &WindowKind, known: &HubModel) -> Option<String> {
    match kind {
        WindowKind::Server { name } => known.server(name).map(server_text),
        WindowKind::Log { lines, .. } => {
            Some(lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n"))
        }
        WindowKind::Record(record) => Some(call_text(record)),
        WindowKind::Question { id } => known.question(id).map(question_text),
        WindowKind::SignIn { page, .. } => Some(page.clone()),
        WindowKind::Json { text, .. } => Some(text.clone()),
        WindowKind::Form(form) => form.outcome_json().map(result_text),
        WindowKind::Help
        | WindowKind::Review { .. }
        | WindowKind::Remove { .. }
        | WindowKind::Entry(_) => None,
    }
}

fn window_json(kind: &WindowKind, known: &HubModel) -> Option<(String, Value)> {
    match kind {
        WindowKind::Server { name } => known.server(name).map(server_json),
        WindowKind::Record(record) => {
            let mut value = to_json(&record.call.line);
            if let (Some(members), Some(Value::Object(said))) =
                (value.as_object_mut(), record.said.clone())
            {
                members.extend(said);
            }
            Some((record.call.line.name.clone(), value))
        }
        WindowKind::Question { id } => known.question(id).map(question_json),
        WindowKind::Review { name } => {
            known.approvals.iter().find(|case| case.name == *name).map(approval_json)
        }
        _ => None,
    }
}

/// The command line or URL, or the name of a server without either.
fn server_text(server: &RemoteServer) -> String {
    let target = server.entry.as_ref().map(show::target).filter(|target| !target.is_empty());
    target.unwrap_or_else(|| server.name.clone())
}

fn server_json(server: &RemoteServer) -> (String, Value) {
    (server.name.clone(), to_json(server))
}

fn item_text(item: &Item) -> String {
    match item.kind {
        ItemKind::Prompt => format!("/{}", item.name),
        ItemKind::Tool | ItemKind::Resource | ItemKind::Template => item.name.clone(),
    }
}

fn question_text(asked: &WaitingQuestion) -> String {
    let texts = [asked.text("/allow"), asked.text("/params/url"), asked.text("/params/message")];
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}

fn question_json(asked: &WaitingQuestion) -> (String, Value) {
    let value = json!({
        "id": asked.id, "server": asked.server, "client": asked.client, "about": asked.about,
    });
    (format!("question of {}", asked.server), value)
}

fn approval_json(case: &ApprovalCase) -> (String, Value) {
    let value = json!({
        "kind": case.kind, "name": case.name, "at": case.at, "content": case.content,
        "secrets": case.secrets, "digest": case.digest,
    });
    (case.name.clone(), value)
}

/// The command that makes a call again, if its arguments are known; else its name.
fn call_text(record: &Record) -> String {
    let line = &record.call.line;
    let arguments = record.said.as_ref().and_then(|said| said.pointer("/params/arguments"));
    match (&*line.method, arguments) {
        ("tools/call", Some(arguments)) => {
            format!(
                "switchboard call {} {}",
                show::word(&line.name),
                show::word(&arguments.to_string())
            )
        }
        ("tools/call", None) => format!("switchboard call {}", show::word(&line.name)),
        _ => line.name.clone(),
    }
}

/// The text of a result; a result without text as JSON.
fn result_text(result: &Value) -> String {
    let content = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<_> = content.filter_map(|block| block["text"].as_str()).collect();
    if texts.is_empty() { format!("{result:#}") } else { texts.join("\n") }
}

fn to_json(value: &impl serde::Serialize) -> Value {
    // These types have text keys only, so they always have a JSON form.
    serde_json::to_value(value).unwrap_or_default()
}
