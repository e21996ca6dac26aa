//! Carries out the actions of the person: changes the model, and returns requests as effects.
//!
//! Used by `update` and `input::line`. Which actions are available is decided in `act`.

use serde_json::{Value, json};
use switchboard_hub::admin::client::escaped;

use super::form::Purpose;
use super::server::save;
use super::window::Window;
use super::{
    Act, Effect, Form, Item, LinkState, List, Method, Model, Path, ProblemRow, Record, Request,
    RequestFailure, RequestIntent, ReviewVerdict, Scroll, TextLine, TrackedCall, Typing, View,
    WindowKind, tracked_call,
};
use crate::ui::input::{self, words};
use crate::ui::view;

/// The most tools with remembered arguments.
const MAX_REMEMBERED_ARGUMENTS: usize = 200;

impl Model {
    /// Carries out an action.
    pub(crate) fn perform(&mut self, act: Act) -> Vec<Effect> {
        match act {
            Act::Quit => return vec![Effect::Quit],
            Act::Suspend => return vec![Effect::Suspend],
            Act::Redraw => return vec![Effect::Redraw],
            Act::StartHub => return vec![Effect::StartHub],
            Act::Help => self.windows.push(Window::new(WindowKind::Help)),
            Act::Turn(view) => return self.turn(view),
            Act::NextView => return self.turn(self.view.further(1)),
            Act::ViewBefore => return self.turn(self.view.further(View::ALL.len() - 1)),
            Act::Go(step) => self.go(step),
            Act::Open => return self.open(),
            Act::Close => return self.leave(),
            Act::Find => self.typing = Typing::Find,
            Act::Sort => self.sort(),
            Act::Filter => self.filter(),
            Act::Mark => self.mark(),
            Act::Copy => return self.copy(),
            Act::Json => self.show_json(),
            Act::Command(begin) => self.typing = Typing::Line(TextLine::new(begin)),
            Act::Server(act, name) => return self.with_server(act, &name),
            Act::Marked(act) => return self.with_marked(act),
            Act::Add => self.windows.push(Window::new(WindowKind::Form(Box::new(adding())))),
            Act::Decide(verdict) => return self.decide(verdict),
            Act::Say(answer) => return self.answer(answer),
            Act::Forget(id) => return self.forget(&id),
            Act::Visit => return self.visit(),
            Act::Submit => return self.submit(),
            Act::CancelCall => return self.cancel_call(),
            Act::Repeat => self.repeat(),
            Act::RemoveIt => return self.remove(),
        }
        Vec::new()
    }

    pub(super) fn go(&mut self, step: super::Move) {
        let Some(window) = self.windows.last() else {
            let (length, height) = (self.lengths().0, view::rows(self));
            return self.list_mut().go(step, length, height);
        };
        let extent = view::extent(self, window);
        let page = extent.height.max(2) - 1;
        let to = match step {
            super::Move::Up => extent.offset.saturating_sub(1),
            super::Move::Down => extent.offset + 1,
            super::Move::PageUp => extent.offset.saturating_sub(page),
            super::Move::PageDown => extent.offset + page,
            super::Move::First => 0,
            super::Move::Last => extent.length,
        };
        let lowest = extent.length.saturating_sub(extent.height);
        let is_log = matches!(window.kind, WindowKind::Log { .. });
        let scroll = if is_log && to >= lowest { Scroll::End } else { Scroll::At(to.min(lowest)) };
        if let Some(window) = self.windows.last_mut() {
            window.scroll = scroll;
        }
    }

    /// Leaves the command line, else closes the window, else takes away marks, else ends search, filter and order.
    fn leave(&mut self) -> Vec<Effect> {
        match (&self.typing, self.windows.is_empty()) {
            (Typing::Line(_), _) => self.typing = Typing::Nowhere,
            (Typing::Nowhere, false) => return self.close(),
            (Typing::Nowhere, true) if !self.list().marked.is_empty() => {
                self.list_mut().marked.clear();
            }
            (Typing::Find | Typing::Nowhere, _) => {
                self.typing = Typing::Nowhere;
                *self.list_mut() = List::default();
            }
        }
        Vec::new()
    }

    fn open(&mut self) -> Vec<Effect> {
        let chosen = self.list().chosen(self.lengths().0);
        let kind = match self.view {
            View::Servers => {
                self.chosen_server().map(|name| WindowKind::Server { name: name.to_owned() })
            }
            View::Tools | View::Prompts | View::Resources => {
                let form = self.items().get(chosen).map(|item| self.form_of(item));
                form.map(|form| WindowKind::Form(Box::new(form)))
            }
            View::Questions => {
                if let Some(asked) = self.questions().get(chosen).map(|asked| (*asked).clone()) {
                    self.open_question(&asked);
                }
                None
            }
            View::Calls => {
                let call = self.calls().get(chosen).map(|call| (*call).clone());
                call.map(|call| WindowKind::Record(Box::new(Record { call, said: None })))
            }
            View::Problems => match self.troubles().get(chosen) {
                Some(ProblemRow::Server(server)) => {
                    Some(WindowKind::Server { name: server.name.clone() })
                }
                Some(ProblemRow::Approval(case)) => {
                    Some(WindowKind::Review { name: case.name.clone() })
                }
                Some(ProblemRow::Problem(problem)) => {
                    problem.server.clone().map(|name| WindowKind::Server { name })
                }
                None => None,
            },
        };
        self.windows.extend(kind.map(Window::new));
        let said = self.look_at_call();
        self.look_at_processes().into_iter().chain(said).collect()
    }

    /// Fetches the processes of the server in the top window.
    pub(super) fn look_at_processes(&self) -> Vec<Effect> {
        let Some(Window { kind: WindowKind::Server { name }, .. }) = self.windows.last() else {
            return Vec::new();
        };
        if self.known.link != LinkState::Open {
            return Vec::new();
        }
        let path = Path::Workspace(format!("servers/{}/processes", escaped(name)));
        let wish = RequestIntent::Processes { server: name.clone() };
        vec![Effect::Ask(Request { wish, method: Method::Get, path, body: None })]
    }

    /// Fetches parameters and result of the call in the top window, if the hub still has them.
    fn look_at_call(&self) -> Option<Effect> {
        let Some(Window { kind: WindowKind::Record(record), .. }) = self.windows.last() else {
            return None;
        };
        let id = record.call.id.clone()?;
        let path = Path::Hub(format!("activity/{}", escaped(&id)));
        Some(Effect::Ask(Request {
            wish: RequestIntent::CallContent { id },
            method: Method::Get,
            path,
            body: None,
        }))
    }

    /// The form of an item, with the texts of its last use.
    fn form_of(&self, item: &Item) -> Form {
        let mut form = Form::of(item);
        if let Some(filled) = self.filled.get(&item.name) {
            form.fill(filled);
        }
        form
    }

    /// Opens the form of a past call with its arguments: from the hub if it still has them, else from the form's last
    /// use.
    fn repeat(&mut self) {
        let (call, said) = match self.windows.last().map(|window| &window.kind) {
            Some(WindowKind::Record(record)) => (Some(&record.call), record.said.as_ref()),
            _ => {
                let calls = self.calls();
                (calls.get(self.list().chosen(calls.len())).copied(), None)
            }
        };
        let Some(call) = call else { return };
        let (name, id) = (call.line.name.clone(), call.id.clone());
        let arguments = said.and_then(|said| said.pointer("/params/arguments")).cloned();
        let known = &self.known;
        let mut all = known.tools.iter().chain(&known.prompts).chain(&known.resources);
        let Some(mut form) = all.find(|item| item.name == name).map(|item| self.form_of(item))
        else {
            return self.complain(format!("{name} is not in the catalog"));
        };
        if let Some(arguments) = arguments {
            form.refill(&arguments);
            form.repeats = id;
        }
        self.windows.push(Window::new(WindowKind::Form(Box::new(form))));
    }

    /// Submits the form or saves the entry of the top window.
    fn submit(&mut self) -> Vec<Effect> {
        match self.windows.last_mut().map(|window| &mut window.kind) {
            Some(WindowKind::Entry(entry)) => {
                let parsed: Result<Value, _> = serde_json::from_str(&entry.text.text());
                match parsed {
                    Ok(value) => vec![save(&entry.server, &entry.scope, &value)],
                    Err(error) => {
                        entry.problem = Some(format!("not valid JSON: {error}"));
                        Vec::new()
                    }
                }
            }
            Some(WindowKind::Form(form)) => {
                form.problem = None;
                match form.value() {
                    Ok(value) => self.submit_form(&value),
                    Err((field, why)) => {
                        form.focus = field;
                        form.problem = Some(why);
                        Vec::new()
                    }
                }
            }
            _ => Vec::new(),
        }
    }

    fn submit_form(&mut self, value: &Value) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(form) = self.form_mut() else { return Vec::new() };
        match form.purpose.clone() {
            Purpose::Answer { id } => {
                self.reply(&id, json!({ "action": "accept", "content": value }))
            }
            Purpose::Sampling { id } => {
                let text = value.get("text").cloned().unwrap_or_default();
                let content = json!({ "type": "text", "text": text });
                let result =
                    json!({ "role": "assistant", "model": "a person", "content": content });
                self.reply(&id, json!({ "action": "result", "result": result }))
            }
            Purpose::Add => vec![add(value)],
            purpose => {
                let earlier = form.calling.replace(TrackedCall::new(ticket));
                let (texts, repeats) = (form.texts(), form.repeats.clone());
                self.remember(&purpose, texts);
                if let Some(window) = self.windows.last_mut() {
                    window.scroll = Scroll::Outcome;
                }
                let earlier = earlier.filter(TrackedCall::is_underway);
                let cancel = earlier.map(|calling| Effect::Cancel { ticket: calling.ticket });
                let call = tracked_call::body(&purpose, value).map(|body| Effect::Call {
                    ticket,
                    body,
                    repeats,
                });
                cancel.into_iter().chain(call).collect()
            }
        }
    }

    fn remember(&mut self, purpose: &Purpose, texts: Vec<String>) {
        let (Purpose::Tool { name } | Purpose::Prompt { name, .. }) = purpose else { return };
        if self.filled.len() >= MAX_REMEMBERED_ARGUMENTS {
            self.filled.clear();
        }
        self.filled.insert(name.clone(), texts);
    }

    fn cancel_call(&mut self) -> Vec<Effect> {
        let Some(form) = self.form_mut() else { return Vec::new() };
        let Some(calling) = form.calling.as_mut().filter(|calling| calling.is_underway()) else {
            return Vec::new();
        };
        calling.state = super::CallState::Cancelled;
        vec![Effect::Cancel { ticket: calling.ticket }]
    }

    /// Asks the server for completions of the focused field, one request at a time.
    pub(super) fn complete(&mut self) -> Vec<Effect> {
        if self.completing.is_some() {
            return Vec::new();
        }
        let ticket = self.ticket();
        let Some(Window { kind: WindowKind::Form(form), .. }) = self.windows.last() else {
            return Vec::new();
        };
        let (Purpose::Prompt { server, .. } | Purpose::Resource { server, .. }) = &form.purpose
        else {
            return Vec::new();
        };
        if !self.known.completes(server) {
            return Vec::new();
        }
        let Some(body) = tracked_call::completion(form) else { return Vec::new() };
        let value = form.texts().swap_remove(form.focus);
        self.completing = Some((ticket, value));
        vec![Effect::Call { ticket, body, repeats: None }]
    }

    fn decide(&mut self, verdict: ReviewVerdict) -> Vec<Effect> {
        let Some(Window { kind: WindowKind::Review { name }, .. }) = self.windows.last() else {
            return Vec::new();
        };
        let Some(case) = self.known.approvals.iter().find(|case| case.name == *name) else {
            self.complain(RequestFailure::new("this item no longer awaits approval").line());
            return Vec::new();
        };
        let (word, done) = match verdict {
            ReviewVerdict::Approve => ("approve", format!("approved {}", case.name)),
            ReviewVerdict::Reject => ("reject", format!("rejected {}", case.name)),
        };
        let body = json!({ "name": case.name, "digest": case.digest, "verdict": word });
        let path = Path::Workspace("approvals".to_owned());
        self.windows.pop();
        let (wish, method, body) = (RequestIntent::Say(done), Method::Post, Some(body));
        vec![Effect::Ask(Request { wish, method, path, body })]
    }

    fn forget(&self, id: &str) -> Vec<Effect> {
        let Some(answer) = self.known.answers.iter().find(|answer| answer.id == id) else {
            return Vec::new();
        };
        let said = format!("forgot the answer for {} of {}", answer.tool, answer.server);
        let path = Path::Hub(format!("answers/{}", escaped(id)));
        let (wish, method) = (RequestIntent::Say(said), Method::Delete);
        vec![Effect::Ask(Request { wish, method, path, body: None })]
    }

    /// Runs a command line.
    pub(crate) fn run(&mut self, line: &str) -> Vec<Effect> {
        match input::read(line, &self.known) {
            Ok(command) => self.obey(command),
            Err(why) => {
                self.complain(why);
                Vec::new()
            }
        }
    }

    fn obey(&mut self, command: input::Command) -> Vec<Effect> {
        use input::Command;
        match command {
            Command::Act(act) => self.perform(act),
            Command::Servers(acts) => {
                let turned = self.turn(View::Servers);
                let acts = acts.into_iter().flat_map(|(act, name)| self.with_server(act, &name));
                let acts: Vec<_> = acts.collect();
                turned.into_iter().chain(acts).collect()
            }
            Command::Prompt { name, arguments } => {
                let Some(item) = self.known.prompt(&name) else { return Vec::new() };
                let mut form = Form::of(item);
                form.fill(&arguments);
                self.place(form)
            }
            Command::Read { server, uri } => self.place(Form::reading(&uri, &server, &uri, None)),
        }
    }

    /// Opens a form and submits it, unless a required value is missing.
    fn place(&mut self, mut form: Form) -> Vec<Effect> {
        let missing = form.value().err();
        form.focus = missing.as_ref().map_or(form.blanks.len(), |(field, _)| *field);
        self.windows.push(Window::new(WindowKind::Form(Box::new(form))));
        if missing.is_some() { Vec::new() } else { self.submit() }
    }
}

/// The form to add a server.
fn adding() -> Form {
    let schema = json!({
        "required": ["what", "scope"],
        "properties": {
            "what": {
                "type": "string", "title": "Server",
                "description": "a URL, a command with its arguments, or JSON as its documentation shows it",
            },
            "name": { "type": "string", "title": "Name", "description": "not needed if the JSON has one" },
            "scope": {
                "type": "string", "title": "Scope", "default": "local",
                "oneOf": [
                    { "const": "local", "title": "local: this project, only you" },
                    { "const": "project", "title": "project: this project, everyone who works on it" },
                    { "const": "user", "title": "user: all your projects" },
                ],
            },
        },
    });
    Form::new("Add a server", Purpose::Add, &switchboard_wire::json::Raw::from(schema))
}

/// The request to add a server from the form: JSON, a URL, or a command with arguments.
fn add(filled: &Value) -> Effect {
    let text =
        |key: &str| filled.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let what = text("what");
    let mut body = json!({ "scope": text("scope") });
    if !text("name").is_empty() {
        body["name"] = json!(text("name"));
    }
    if what.starts_with('{') {
        body["snippet"] = json!(what);
    } else if crate::args::looks_like_url(&what) {
        body["url"] = json!(what);
    } else {
        let mut words = words(&what).into_iter();
        body["entry"] = json!({ "command": words.next(), "args": words.collect::<Vec<_>>() });
    }
    let path = Path::Workspace("servers".to_owned());
    Effect::Ask(Request { wish: RequestIntent::Add, method: Method::Post, path, body: Some(body) })
}
