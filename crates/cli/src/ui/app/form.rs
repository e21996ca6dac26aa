//! Forms: fields from a JSON Schema, their input, and the purpose of the form.
//!
//! Used by `perform`, `answer` and `update`; `view::form` draws them. It checks values (with `ask::field`), and does
//! not send them.

use crossterm::event::{KeyCode, KeyEvent};
use serde_json::Value;
use switchboard_core::catalog::Prompt;
use switchboard_core::permission::{ToolAnnotations, describe_annotations};
use switchboard_wire::json::{Raw, quote};

use super::hub_model::{Item, ItemKind};
use super::text_line::TextLine;
use super::tracked_call::{CallState, TrackedCall};
use crate::ask::field::{Field, FieldKind, FieldValue};
use crate::ask::form::fields;

/// A form.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) title: String,
    /// Facts above the fields.
    pub(crate) about: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) blanks: Vec<FormField>,
    /// The index of the focused field; past the last field it is the button.
    pub(crate) focus: usize,
    pub(crate) purpose: Purpose,
    pub(crate) problem: Option<String>,
    /// The call that the form has started.
    pub(crate) calling: Option<TrackedCall>,
    /// Completions from the server for the focused field.
    pub(crate) offered: Vec<String>,
    /// The id of the past call that the form repeats.
    pub(crate) repeats: Option<String>,
}

/// A field with its input.
#[derive(Debug)]
pub(crate) struct FormField {
    pub(crate) field: Field,
    pub(crate) given: FieldInput,
}

/// The input of a field.
#[derive(Debug)]
pub(crate) enum FieldInput {
    Text(TextLine),
    One(Option<usize>),
    Several { ticked: Vec<bool>, at: usize },
}

/// The purpose of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    Tool {
        name: String,
    },
    Prompt {
        name: String,
        server: String,
    },
    Resource {
        server: String,
        template: Option<String>,
    },
    Answer {
        id: String,
    },
    /// A person answers a sampling request.
    Sampling {
        id: String,
    },
    Add,
}

/// The labels of a boolean field.
const YES_NO: [&str; 2] = ["yes", "no"];

// === impl Form ===

impl Form {
    pub(crate) fn new(title: impl Into<String>, purpose: Purpose, schema: &Raw) -> Self {
        Self {
            title: title.into(),
            about: Vec::new(),
            text: String::new(),
            blanks: fields(schema).into_iter().map(FormField::new).collect(),
            focus: 0,
            purpose,
            problem: None,
            calling: None,
            offered: Vec::new(),
            repeats: None,
        }
    }

    /// The form to call a tool, get a prompt or read a resource.
    pub(crate) fn of(item: &Item) -> Self {
        let mut form = match item.kind {
            ItemKind::Tool => {
                let schema = member(&item.raw, "inputSchema");
                Self::new(&item.title, Purpose::Tool { name: item.name.clone() }, &schema)
            }
            ItemKind::Prompt => {
                let (name, server) = (item.name.clone(), item.server.clone());
                Self::new(&item.title, Purpose::Prompt { name, server }, &arguments(&item.raw))
            }
            ItemKind::Resource => Self::reading(&item.title, &item.server, &item.name, None),
            ItemKind::Template => {
                Self::reading(&item.title, &item.server, &item.name, Some(item.name.clone()))
            }
        };
        form.text.clone_from(&item.description);
        form.about = facts(item);
        form
    }

    /// The form to read a resource.
    pub(crate) fn reading(title: &str, server: &str, uri: &str, template: Option<String>) -> Self {
        let schema = Raw::from(serde_json::json!({
            "required": ["uri"],
            "properties": { "uri": { "type": "string", "title": "URI" } },
        }));
        let purpose = Purpose::Resource { server: server.to_owned(), template };
        let mut form = Self::new(title, purpose, &schema);
        form.fill(&[uri.to_owned()]);
        form
    }

    /// Fills the first fields with texts.
    pub(crate) fn fill(&mut self, texts: &[String]) {
        for (blank, text) in self.blanks.iter_mut().zip(texts) {
            blank.given.fill(text, &blank.field);
        }
    }

    /// Fills the fields from the members of an object.
    pub(crate) fn refill(&mut self, value: &Value) {
        for blank in &mut self.blanks {
            let text = value.get(&blank.field.key).map(text_of).unwrap_or_default();
            blank.given.fill(&text, &blank.field);
        }
    }

    /// The texts of all fields.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.blanks.iter().map(|blank| blank.given.text(&blank.field)).collect()
    }

    /// The label of the button.
    pub(crate) fn verb(&self) -> &'static str {
        match self.purpose {
            Purpose::Tool { .. } => "Call",
            Purpose::Prompt { .. } => "Fill in",
            Purpose::Resource { .. } => "Read",
            Purpose::Answer { .. } => "Send",
            Purpose::Sampling { .. } => "Answer",
            Purpose::Add => "Add",
        }
    }

    /// The result of the call that the form has made.
    pub(crate) fn outcome_json(&self) -> Option<&Value> {
        match &self.calling.as_ref()?.state {
            CallState::Done { result, .. } => Some(result),
            _ => None,
        }
    }

    pub(crate) fn is_on_button(&self) -> bool {
        self.focus >= self.blanks.len()
    }

    /// Moves the focus through the fields and the button, and around.
    pub(crate) fn turn(&mut self, to: Turn) {
        let stops = self.blanks.len() + 1;
        self.focus = match to {
            Turn::Next => (self.focus + 1) % stops,
            Turn::Before => (self.focus + stops - 1) % stops,
        };
        self.offered.clear();
    }

    /// Passes a key to the focused field; returns whether the field used it.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        let Some(blank) = self.blanks.get_mut(self.focus) else { return false };
        let choices = blank.labels().len();
        blank.given.press(key, choices)
    }

    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(FormField { given: FieldInput::Text(typed), .. }) =
            self.blanks.get_mut(self.focus)
        {
            typed.paste(text);
        }
    }

    /// Puts the next completion into the field.
    pub(crate) fn take_offer(&mut self) {
        let Some(FormField { given: FieldInput::Text(typed), .. }) =
            self.blanks.get_mut(self.focus)
        else {
            return;
        };
        if !self.offered.is_empty() {
            *typed = TextLine::new(&self.offered[0]);
            self.offered.rotate_left(1);
        }
    }

    /// The values as an object; or the first invalid field, and why.
    pub(crate) fn value(&self) -> Result<Value, (usize, String)> {
        let mut members = Vec::new();
        for (number, blank) in self.blanks.iter().enumerate() {
            let taken = blank.take();
            match taken.map_err(|why| (number, format!("{}: {why}", blank.field.title)))? {
                FieldValue::Value(value) => {
                    members.push(format!("{}:{value}", quote(&blank.field.key)));
                }
                FieldValue::Nothing => {}
            }
        }
        let text = format!("{{{}}}", members.join(","));
        serde_json::from_str(&text).map_err(|error| (0, error.to_string()))
    }
}

/// A value as text: a string without quotes, a boolean as yes or no, an array of strings with commas.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(truth) => YES_NO[usize::from(!truth)].to_owned(),
        Value::Array(values)
            if values.iter().all(|each| each.as_str().is_some_and(|text| !text.contains(','))) =>
        {
            values.iter().map(text_of).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The direction through the fields.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    Next,
    Before,
}

/// The arguments of a prompt as a schema with text fields.
fn arguments(item: &Raw) -> Raw {
    let Ok(prompt) = Prompt::parse(item) else { return Raw::empty_object() };
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for argument in &prompt.arguments {
        let description = argument.description.clone();
        let schema = serde_json::json!({ "type": "string", "description": description });
        properties.insert(argument.name.clone(), schema);
        required.extend(argument.required.then(|| argument.name.clone()));
    }
    let schema = serde_json::json!({ "properties": properties, "required": required });
    Raw::from(schema)
}

/// The facts about an item above its form.
fn facts(item: &Item) -> Vec<(String, String)> {
    let text = |key| item.raw.get(key).ok().flatten().and_then(|raw| raw.to_text());
    let mut facts = vec![("Server", item.server.clone()), ("Name", item.name.clone())];
    facts.extend(item.cost.map(|cost| ("Size", format!("{cost} tokens"))));
    facts.extend(text("mimeType").map(|kind| ("MIME type", kind)));
    if item.kind == ItemKind::Tool && item.raw.get("annotations").ok().flatten().is_some() {
        facts.push(("The tool", describe_annotations(ToolAnnotations::from_tool(&item.raw))));
    }
    facts.into_iter().map(|(what, how)| (what.to_owned(), how)).collect()
}

fn member(raw: &Raw, key: &str) -> Raw {
    raw.get(key).ok().flatten().unwrap_or_else(Raw::empty_object)
}

// === impl Purpose ===

impl Purpose {
    /// The id of the question that the form answers.
    pub(crate) fn question(&self) -> Option<&str> {
        match self {
            Self::Answer { id } | Self::Sampling { id } => Some(id),
            _ => None,
        }
    }
}

// === impl FormField ===

impl FormField {
    fn new(field: Field) -> Self {
        let usual = field.default_choices();
        let given = match (field.kind, field.choices.len()) {
            (FieldKind::Several, length) => FieldInput::Several {
                ticked: (0..length).map(|number| usual.contains(&number)).collect(),
                at: 0,
            },
            (FieldKind::Truth, _) => FieldInput::One(None),
            (_, 0) => FieldInput::Text(TextLine::default()),
            _ => FieldInput::One(usual.first().copied()),
        };
        Self { field, given }
    }

    fn take(&self) -> Result<FieldValue, String> {
        match &self.given {
            FieldInput::Text(typed) => self.field.parse(typed.text().trim()),
            FieldInput::One(Some(number)) if self.field.kind == FieldKind::Truth => {
                self.field.parse(YES_NO[*number])
            }
            FieldInput::One(None) => self.field.parse(""),
            FieldInput::One(Some(number)) => self.field.choose(&[*number]),
            FieldInput::Several { ticked, .. } => {
                let numbered = ticked.iter().enumerate().filter(|(_, ticked)| **ticked);
                let numbers: Vec<_> = numbered.map(|(number, _)| number).collect();
                match numbers.as_slice() {
                    [] => self.field.parse(""),
                    numbers => self.field.choose(numbers),
                }
            }
        }
    }

    /// The labels of the choices.
    pub(crate) fn labels(&self) -> Vec<&str> {
        match self.field.kind {
            FieldKind::Truth => YES_NO.to_vec(),
            _ => self.field.choices.iter().map(|choice| &*choice.label).collect(),
        }
    }
}

// === impl FieldInput ===

impl FieldInput {
    /// Handles a key, with `length` choices; returns whether the field used it.
    fn press(&mut self, key: KeyEvent, length: usize) -> bool {
        match (self, key.code) {
            (Self::Text(typed), _) => return typed.press(key),
            (Self::One(at), KeyCode::Right | KeyCode::Char(' ')) => {
                *at = at.map_or(Some(0), |at| (at + 1 < length).then_some(at + 1));
            }
            (Self::One(at), KeyCode::Left) => {
                *at = at.map_or(length.checked_sub(1), |at| at.checked_sub(1));
            }
            (Self::One(at), KeyCode::Char(digit @ '1'..='9')) => {
                let number = usize::from(digit as u8 - b'1');
                *at = (number < length).then_some(number);
            }
            (Self::One(at), KeyCode::Backspace | KeyCode::Delete) => *at = None,
            (Self::Several { at, .. }, KeyCode::Right) => *at = (*at + 1).min(length.max(1) - 1),
            (Self::Several { at, .. }, KeyCode::Left) => *at = at.saturating_sub(1),
            (Self::Several { ticked, at }, KeyCode::Char(' ')) => {
                if let Some(ticked) = ticked.get_mut(*at) {
                    *ticked = !*ticked;
                }
            }
            (Self::Several { ticked, .. }, KeyCode::Char(digit @ '1'..='9')) => {
                if let Some(ticked) = ticked.get_mut(usize::from(digit as u8 - b'1')) {
                    *ticked = !*ticked;
                }
            }
            _ => return false,
        }
        true
    }

    fn fill(&mut self, text: &str, field: &Field) {
        match self {
            Self::Text(typed) => *typed = TextLine::new(text),
            Self::One(at) if field.kind == FieldKind::Truth => {
                *at = YES_NO.iter().position(|truth| *truth == text);
            }
            Self::One(at) => *at = field.choices.iter().position(|choice| choice.matches(text)),
            Self::Several { ticked, .. } => {
                for (ticked, choice) in ticked.iter_mut().zip(&field.choices) {
                    *ticked = text.split(", ").any(|word| choice.matches(word));
                }
            }
        }
    }

    fn text(&self, field: &Field) -> String {
        match self {
            Self::Text(typed) => typed.text(),
            Self::One(Some(at)) if field.kind == FieldKind::Truth => YES_NO[*at].to_owned(),
            Self::One(at) => {
                let choice = at.and_then(|at| field.choices.get(at));
                choice.map(|choice| choice.label.clone()).unwrap_or_default()
            }
            Self::Several { ticked, .. } => {
                let ticked = field.choices.iter().zip(ticked).filter(|(_, ticked)| **ticked);
                ticked.map(|(choice, _)| &*choice.label).collect::<Vec<_>>().join(", ")
            }
        }
    }
}
