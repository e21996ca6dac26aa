//! `Model::update`: applies events to the model, and returns effects.
//!
//! Used by the main loop in `ui`. Actions of the person are in `perform`.

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use serde_json::Value;

use super::hub_model::{RequestFailure, WaitingQuestion};
use super::window::extend;
use super::{
    Act, CallUpdate, Effect, Entry, Event, LinkState, Model, Move, Notify, RequestIntent, Scroll,
    ServersUpdate, TrackedCall, Typing, View, Window, WindowKind, form, window,
};
use crate::ui::input::{self, Press};
use crate::ui::view::{self, Spot};

/// The rows that one turn of the mouse wheel scrolls.
const WHEEL_ROWS: usize = 3;

impl Model {
    /// Applies an event to the model; returns the effects to run.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) => return self.pressed(key),
            Event::Mouse(mouse) => return self.pointed(mouse),
            Event::Paste(text) => self.pasted(&text),
            Event::Resize(columns, rows) => self.size = (columns, rows),
            Event::Link(link) => self.linked(link),
            Event::Looked(look) => return self.keep_cursor(|model| model.looked(*look)),
            Event::Listed(catalog) => self.keep_cursor(|model| {
                model.known.tools = catalog.tools;
                model.known.prompts = catalog.prompts;
                model.known.resources = catalog.resources;
            }),
            Event::Questions(questions) => {
                // Questions of our own calls are not in the hub's queue, so they stay.
                self.known.questions.retain(WaitingQuestion::is_ours);
                for asked in questions {
                    self.known.add_question(asked);
                }
            }
            Event::Question(asked) => return self.asked(asked),
            Event::Answered { id } => self.answered(&id),
            Event::Traffic(traffic) => {
                self.keep_cursor(|model| model.known.traffic = *traffic);
            }
            Event::Calls(calls) => self.keep_cursor(|model| model.known.calls = calls),
            Event::Called(call) => self.keep_cursor(|model| model.known.add_call(*call)),
            Event::Call { ticket, news } => return self.heard(ticket, &news),
            Event::Done { wish, answer } => self.done(&wish, answer),
            Event::Log { server, lines } => self.logged(&server, lines),
            Event::End => return vec![Effect::Quit],
        }
        Vec::new()
    }

    fn linked(&mut self, link: LinkState) {
        if matches!(link, LinkState::Lost { .. }) {
            self.known.forget_hub();
        }
        self.known.link = link;
    }

    fn looked(&mut self, look: ServersUpdate) -> Vec<Effect> {
        let ServersUpdate { hub, servers, problems, approvals, answers } = look;
        let known = &mut self.known;
        known.hub = hub;
        known.servers = servers;
        known.problems = problems;
        known.approvals = approvals;
        known.answers = answers;
        self.look_at_processes()
    }

    fn asked(&mut self, asked: WaitingQuestion) -> Vec<Effect> {
        let told = format!("Switchboard: {} has a question", asked.server);
        self.known.add_question(asked);
        match self.notify {
            Notify::Desktop => vec![Effect::Notify(told)],
            Notify::Nobody => Vec::new(),
        }
    }

    /// Removes an answered question, and closes its window with a message.
    fn answered(&mut self, id: &str) {
        self.known.questions.retain(|asked| asked.id != id);
        let before = self.windows.len();
        self.windows.retain(|window| !window.kind.asks(id));
        if self.windows.len() < before {
            self.say("this question has been answered elsewhere, or was withdrawn");
        }
    }

    fn heard(&mut self, ticket: u64, news: &CallUpdate) -> Vec<Effect> {
        if self.completing.as_ref().is_some_and(|(completing, _)| *completing == ticket) {
            return self.offered(news);
        }
        if let CallUpdate::Question(asked) = news {
            self.known.add_question(asked.clone());
            self.open_question(asked);
            return Vec::new();
        }
        let is_over = !matches!(news, CallUpdate::Progress(_));
        let forms = self.windows.iter_mut().filter_map(|window| match &mut window.kind {
            WindowKind::Form(form) => Some((form, &mut window.scroll)),
            _ => None,
        });
        for (form, scroll) in forms {
            if let Some(calling) = form.calling.as_mut().filter(|calling| calling.ticket == ticket)
            {
                calling.apply_update(news.clone());
                if is_over {
                    *scroll = Scroll::Outcome;
                }
            }
        }
        Vec::new()
    }

    /// Takes the completions of a server. If the person has typed on meanwhile, asks again.
    fn offered(&mut self, news: &CallUpdate) -> Vec<Effect> {
        let result = match news {
            CallUpdate::Done { result, .. } => result,
            CallUpdate::Failed(_) => {
                // The person did not ask for completions, so a failure is not shown.
                self.completing = None;
                return Vec::new();
            }
            CallUpdate::Progress(_) | CallUpdate::Question(_) => return Vec::new(),
        };
        let asked = self.completing.take().map(|(_, value)| value);
        let values = result.pointer("/completion/values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        let values: Vec<_> = values.map(str::to_owned).collect();
        let Some(form) = self.form_mut() else { return Vec::new() };
        form.offered = values;
        let now = form.texts().get(form.focus).cloned();
        if now == asked { Vec::new() } else { self.complete() }
    }

    fn done(&mut self, wish: &RequestIntent, answer: Result<Value, RequestFailure>) {
        match (wish, answer) {
            (RequestIntent::Say(text), Ok(_)) => self.say(text.clone()),
            (RequestIntent::Entry { server }, Ok(told)) => {
                self.windows
                    .push(Window::new(WindowKind::Entry(Box::new(Entry::new(server, &told)))));
            }
            (RequestIntent::Save { server }, Ok(_)) => {
                self.windows.retain(
                    |window| !matches!(&window.kind, WindowKind::Entry(entry) if entry.server == *server),
                );
                self.say(format!("changed {server}"));
            }
            (RequestIntent::Add, Ok(told)) => {
                self.windows.retain(|window| !is_adding(window));
                let added = told.get("added").and_then(Value::as_array).into_iter().flatten();
                let names: Vec<_> = added.filter_map(added_name).collect();
                self.say(format!("added {}", names.join(", ")));
            }
            (RequestIntent::Add | RequestIntent::Save { .. }, Err(wrong)) => self.refused(&wrong),
            (RequestIntent::SignIn { server }, Ok(told)) => self.shown_where(server, &told),
            (RequestIntent::SignOut { server }, Ok(told)) => self.signed_out(server, &told),
            (RequestIntent::Processes { server }, Ok(told)) => {
                let told = told.get("processes").cloned().unwrap_or_default();
                let processes = serde_json::from_value(told).unwrap_or_default();
                self.known.processes = Some((server.clone(), processes));
            }
            (RequestIntent::CallContent { id }, Ok(told)) => self.said(id, &told),
            // Remote servers have no processes and old calls are no longer kept, so these failures are not shown.
            (RequestIntent::Processes { .. } | RequestIntent::CallContent { .. }, Err(_))
            | (RequestIntent::Answer { .. }, Ok(_)) => {}
            (_, Err(wrong)) => self.complain(wrong.line()),
        }
    }

    /// Puts parameters and result of a past call into its window.
    fn said(&mut self, id: &str, told: &Value) {
        for window in &mut self.windows {
            if let WindowKind::Record(record) = &mut window.kind
                && record.call.id.as_deref() == Some(id)
            {
                record.said = Some(told.clone());
            }
        }
    }

    /// Shows the hub's refusal beside the entry or form.
    fn refused(&mut self, wrong: &RequestFailure) {
        match self.windows.last_mut().map(|window| &mut window.kind) {
            Some(WindowKind::Entry(entry)) => entry.problem = Some(wrong.line()),
            Some(WindowKind::Form(form)) => form.problem = Some(wrong.line()),
            _ => self.complain(wrong.line()),
        }
    }

    fn logged(&mut self, of: &str, more: Vec<String>) {
        for window in &mut self.windows {
            if let WindowKind::Log { server, lines } = &mut window.kind
                && server == of
            {
                extend(lines, more);
                return;
            }
        }
    }

    fn pasted(&mut self, text: &str) {
        if let Typing::Line(line) = &mut self.typing {
            return line.paste(text);
        }
        if matches!(self.typing, Typing::Find) {
            return self.list_mut().find.paste(text);
        }
        match self.windows.last_mut().map(|window| &mut window.kind) {
            Some(WindowKind::Entry(entry)) => entry.text.paste(text),
            Some(WindowKind::Form(form)) => form.paste(text),
            _ => {}
        }
    }

    fn pressed(&mut self, mut key: KeyEvent) -> Vec<Effect> {
        // A slow terminal or quick fingers turn Esc and the next key into Alt and that key. Alt has no other meaning
        // here.
        if key.modifiers.contains(KeyModifiers::ALT) {
            key.modifiers.remove(KeyModifiers::ALT);
            let mut effects = self.pressed(KeyEvent::from(KeyCode::Esc));
            effects.extend(self.pressed(key));
            return effects;
        }
        self.notice = None;
        match input::key_meaning(self, key) {
            Some(Press::Act(act)) => self.perform(act),
            Some(Press::Typed) => self.typed(key),
            None => Vec::new(),
        }
    }

    /// Handles a key that edits text.
    fn typed(&mut self, key: KeyEvent) -> Vec<Effect> {
        match &mut self.typing {
            Typing::Line(_) => return self.press_line(key),
            Typing::Find => {
                if matches!(key.code, KeyCode::Enter) {
                    self.typing = Typing::Nowhere;
                } else if self.list_mut().find.press(key) {
                    self.list_mut().choose(0);
                }
                return Vec::new();
            }
            Typing::Nowhere => {}
        }
        match self.windows.last_mut() {
            Some(Window { kind: WindowKind::Entry(entry), .. }) => {
                entry.text.press(key);
                entry.problem = None;
                Vec::new()
            }
            Some(Window { kind: WindowKind::Form(_), scroll }) => {
                *scroll = Scroll::Focus;
                self.press_form(key)
            }
            _ => Vec::new(),
        }
    }

    fn press_form(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(form) = self.form_mut() else { return Vec::new() };
        match key.code {
            KeyCode::Enter if form.is_on_button() => return self.perform(Act::Submit),
            KeyCode::Enter | KeyCode::Tab | KeyCode::Down => form.turn(form::Turn::Next),
            KeyCode::BackTab | KeyCode::Up => form.turn(form::Turn::Before),
            KeyCode::Char('n') if key.modifiers.contains(input::CONTROL) => form.take_offer(),
            _ => {
                if form.press(key) {
                    form.problem = None;
                    return self.complete();
                }
            }
        }
        Vec::new()
    }

    fn pointed(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        match mouse.kind {
            MouseEventKind::ScrollUp => return self.wheel(Move::Up),
            MouseEventKind::ScrollDown => return self.wheel(Move::Down),
            MouseEventKind::Down(MouseButton::Left) => {}
            _ => return Vec::new(),
        }
        self.notice = None;
        match view::spot(self, mouse.column, mouse.row) {
            Some(Spot::Tab(view)) => self.perform(Act::Turn(view)),
            Some(Spot::Choice(act)) => self.perform(act),
            Some(Spot::Row(row)) => {
                let (length, _) = self.lengths();
                let is_chosen = self.list().chosen(length) == row;
                self.list_mut().choose(row);
                if is_chosen { self.perform(Act::Open) } else { Vec::new() }
            }
            None => Vec::new(),
        }
    }

    fn wheel(&mut self, step: Move) -> Vec<Effect> {
        (0..WHEEL_ROWS).flat_map(|_| self.perform(Act::Go(step))).collect()
    }

    /// Shows a view and closes all windows.
    pub(super) fn turn(&mut self, view: View) -> Vec<Effect> {
        let mut effects = Vec::new();
        while !self.windows.is_empty() {
            effects.extend(self.close());
        }
        self.typing = Typing::Nowhere;
        self.view = view;
        effects
    }

    /// Closes the top window, and ends its call or log.
    pub(super) fn close(&mut self) -> Vec<Effect> {
        match self.windows.pop().map(|window| window.kind) {
            Some(WindowKind::Log { .. }) => vec![Effect::Unfollow],
            Some(WindowKind::Form(form)) => {
                let underway = form.calling.filter(TrackedCall::is_underway);
                underway
                    .map(|calling| Effect::Cancel { ticket: calling.ticket })
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The name of an added server, with a note if settings disable it.
fn added_name(added: &Value) -> Option<String> {
    let name = added["name"].as_str()?;
    match added["state"].as_str() {
        Some("disabled") => Some(format!("{name} (disabled; press e to enable it)")),
        _ => Some(name.to_owned()),
    }
}

fn is_adding(window: &window::Window) -> bool {
    matches!(&window.kind, WindowKind::Form(form) if form.purpose == form::Purpose::Add)
}
