//! Questions in the UI: opens the window for a question, and sends the answer.
//!
//! Used by `perform` and `update`. Drawing is in `view::questions`.

use serde_json::{Value, json};
use switchboard_hub::admin::client::escaped;
use switchboard_wire::json::Raw;

use super::hub_model::WaitingQuestion;
use super::window::Window;
use super::{
    AnswerChoice, Effect, Form, Method, Model, Path, Purpose, Request, RequestIntent, WindowKind,
};

/// The prefix of ids of questions of our own calls; ids of the queue have another.
const OWN_QUESTION_PREFIX: char = 'c';

impl WaitingQuestion {
    /// Whether the question belongs to a call or session of this UI, not to the hub's queue.
    pub(crate) fn is_ours(&self) -> bool {
        self.id.starts_with(OWN_QUESTION_PREFIX)
    }

    /// The text at a JSON pointer of the question.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.about.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Model {
    /// Opens the form or window to answer a question.
    pub(super) fn open_question(&mut self, asked: &WaitingQuestion) {
        if self.windows.iter().any(|window| window.kind.asks(&asked.id)) {
            return;
        }
        let id = asked.id.clone();
        let kind = match asked.text("/kind") {
            "elicitation" if asked.text("/params/mode") != "url" => {
                let schema = asked.about.pointer("/params/requestedSchema");
                let title = format!("question from {}", asked.server);
                let mut form = Form::new(title, Purpose::Answer { id }, &raw(schema));
                asked.text("/params/message").clone_into(&mut form.text);
                WindowKind::Form(Box::new(form))
            }
            "sampling" => WindowKind::Form(Box::new(sampling(asked))),
            _ => WindowKind::Question { id },
        };
        self.windows.push(Window::new(kind));
    }

    /// Answers the question of the top window.
    pub(super) fn answer(&mut self, answer: AnswerChoice) -> Vec<Effect> {
        let id = match self.windows.last().map(|window| &window.kind) {
            Some(WindowKind::Question { id }) => id.clone(),
            Some(WindowKind::Form(form)) => match form.purpose.question() {
                Some(id) => id.to_owned(),
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        let page = self.known.question(&id).map(|asked| asked.text("/params/url").to_owned());
        let body = match answer {
            AnswerChoice::Permission(answer) => json!({
                "action": if answer.allows() { "allow" } else { "deny" },
                "remember": answer.lifetime(),
            }),
            AnswerChoice::Accept => json!({ "action": "accept" }),
            AnswerChoice::Decline => json!({ "action": "decline" }),
            AnswerChoice::Cancel => json!({ "action": "cancel" }),
            AnswerChoice::Refuse => {
                json!({ "action": "refuse", "message": "the person refused to answer" })
            }
        };
        let mut effects = self.reply(&id, body);
        if answer == AnswerChoice::Accept {
            effects.extend(page.map(Effect::Open));
        }
        effects
    }

    /// Sends an answer, and removes the question from the list at once.
    pub(super) fn reply(&mut self, id: &str, body: Value) -> Vec<Effect> {
        self.known.questions.retain(|asked| asked.id != id);
        self.windows.retain(|window| !window.kind.asks(id));
        let path = Path::Hub(format!("questions/{}", escaped(id)));
        let wish = RequestIntent::Answer { id: id.to_owned() };
        vec![Effect::Ask(Request { wish, method: Method::Post, path, body: Some(body) })]
    }
}

/// The form for a sampling request, which a person answers in place of a model.
fn sampling(asked: &WaitingQuestion) -> Form {
    let schema = json!({
        "required": ["text"],
        "properties": { "text": { "type": "string", "title": "Answer" } },
    });
    let title = format!("{} asks a model; you can answer", asked.server);
    let purpose = Purpose::Sampling { id: asked.id.clone() };
    let mut form = Form::new(title, purpose, &raw(Some(&schema)));
    let messages = asked.about.pointer("/params/messages").unwrap_or(&Value::Null);
    form.text = crate::show::block(messages);
    form
}

fn raw(value: Option<&Value>) -> Raw {
    value.map_or_else(Raw::empty_object, Raw::from)
}
