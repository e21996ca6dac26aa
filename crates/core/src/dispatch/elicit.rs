//! What a server wants to know before it answers: hooks first, then whoever answers for this session, then hooks again.

use futures_util::future::join_all;
use switchboard_config::{HookEvent, Mode};
use switchboard_wire::client::{Answer, InputRequest};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use url::Url;

use super::{About, Question, Reply, Stage};
use crate::engine::Placed;
use crate::hooks::{Action, Elicitation, ElicitationAnswer, ElicitationKind};

// === impl Stage ===

impl Stage {
    /// Has every question answered, side by side.
    pub(super) async fn answers(
        &self,
        placed: &Placed,
        questions: Vec<InputRequest>,
    ) -> Vec<Answer> {
        join_all(questions.iter().map(|question| self.answer_one(placed, question))).await
    }

    pub(super) async fn answer_one(&self, placed: &Placed, question: &InputRequest) -> Answer {
        match question.method.as_str() {
            method::ELICIT => question.answer(self.elicit(placed, &question.params).await),
            method::SAMPLE => self.sample(placed, question).await,
            method::ROOTS_LIST => self.folders(placed, question).await,
            _ => question.refuse_method(),
        }
    }

    /// The result of `elicitation/create`: accept, decline or cancel.
    pub(super) async fn elicit(&self, placed: &Placed, params: &Raw) -> Raw {
        if let Some(answer) = self.foretold(placed, params).await {
            return answer;
        }
        let about = About::Elicitation { params: params.clone() };
        let given = elicited(self.ask(placed, about).await);
        self.overhear(placed, params, given).await
    }

    /// What comes of a question before its caller is asked: a hook's answer; or where the caller cannot show it, the
    /// answer of the queue, *cancel* while nobody watches that.
    pub(super) async fn elicited_here(&self, placed: &Placed, params: &Raw) -> Option<Raw> {
        if let Some(answer) = self.foretold(placed, params).await {
            return Some(answer);
        }
        let is_url = Asked::of(params).url.is_some();
        let shown: &[&str] = if is_url { &["elicitation", "url"] } else { &["elicitation"] };
        if self.caller.can(shown) {
            return None;
        }
        let about = About::Elicitation { params: params.clone() };
        let (question, answer) = Question::new(&placed.name, about);
        let question = question.of_client(&self.caller.who().client);
        let reply = self.engine.queue().ask((question, answer)).await;
        Some(self.overhear(placed, params, elicited(reply)).await)
    }

    /// The answer of a hook that has one before anybody is asked.
    async fn foretold(&self, placed: &Placed, params: &Raw) -> Option<Raw> {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::Elicitation, &placed.name) {
            return None;
        }
        let asked = Asked::of(params);
        let question = asked.question(placed, &self.caller.session().id, self.mode());
        let said = hooks.elicitation(&question).await;
        self.note(placed, &said.notes);
        said.answer.map(|answer| result(&answer))
    }

    /// Shows an answer to hooks, which may put another in its place.
    pub(super) async fn overhear(&self, placed: &Placed, params: &Raw, given: Raw) -> Raw {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::ElicitationResult, &placed.name) {
            return given;
        }
        let asked = Asked::of(params);
        let question = asked.question(placed, &self.caller.session().id, self.mode());
        let said = hooks.elicitation_result(&question, &answer(&given)).await;
        self.note(placed, &said.notes);
        said.answer.map_or(given, |answer| result(&answer))
    }

    /// Only the caller's own model can be asked; nobody stands in for it.
    async fn sample(&self, placed: &Placed, question: &InputRequest) -> Answer {
        if !self.caller.can(&["sampling"]) {
            return question.refuse_method();
        }
        let about = About::Sampling { params: question.params.clone() };
        match self.ask(placed, about).await {
            Some(Reply::Result(outcome)) => Answer { key: question.key.clone(), outcome },
            _ => question.refuse("nobody answered"),
        }
    }

    /// The project's folder, for a server of the project; else what the caller offers.
    async fn folders(&self, placed: &Placed, question: &InputRequest) -> Answer {
        if let Some(roots) = roots(placed) {
            return question.answer(roots);
        }
        if !self.caller.can(&["roots"]) {
            return question.refuse_method();
        }
        match self.ask(placed, About::Roots).await {
            Some(Reply::Result(outcome)) => Answer { key: question.key.clone(), outcome },
            _ => question.refuse("nobody answered"),
        }
    }
}

/// The result of an elicitation that was replied to, or that nobody took.
fn elicited(reply: Option<Reply>) -> Raw {
    match reply {
        Some(Reply::Result(Ok(result))) => result,
        Some(Reply::Deny(_)) => result(&plain(Action::Decline)),
        _ => result(&plain(Action::Cancel)),
    }
}

/// What a server asks, taken apart.
struct Asked {
    message: String,
    url: Option<String>,
    schema: Raw,
    id: Option<String>,
}

// === impl Asked ===

impl Asked {
    fn of(params: &Raw) -> Self {
        let text = |key| params.get(key).ok().flatten().and_then(|value| value.to_text());
        let schema = params.get("requestedSchema").ok().flatten();
        let is_url = text("mode").as_deref() == Some("url");
        Self {
            message: text("message").unwrap_or_default(),
            url: text("url").filter(|_| is_url),
            schema: schema.unwrap_or_else(Raw::empty_object),
            id: text("elicitationId"),
        }
    }

    fn question<'a>(&'a self, placed: &'a Placed, session: &'a str, mode: Mode) -> Elicitation<'a> {
        Elicitation {
            session,
            mode,
            server: &placed.name,
            message: &self.message,
            kind: match &self.url {
                Some(url) => ElicitationKind::Url { url },
                None => ElicitationKind::Form { schema: &self.schema },
            },
            id: self.id.as_deref(),
        }
    }
}

fn plain(action: Action) -> ElicitationAnswer {
    ElicitationAnswer { action, content: None }
}

/// An answer as the protocol has it.
fn result(answer: &ElicitationAnswer) -> Raw {
    let mut result = serde_json::json!({ "action": answer.action });
    if let Some(content) = &answer.content {
        result["content"] = content.decode().unwrap_or_default();
    }
    Raw::of(&result).unwrap_or_else(|_| Raw::empty_object())
}

/// The protocol's answer as hooks see it. A word nobody knows is no consent.
fn answer(result: &Raw) -> ElicitationAnswer {
    let member = |key| result.get(key).ok().flatten();
    ElicitationAnswer {
        action: member("action").and_then(|action| action.decode().ok()).unwrap_or(Action::Cancel),
        content: member("content"),
    }
}

/// The project's folder, for servers that the project configures.
fn roots(placed: &Placed) -> Option<Raw> {
    let root = placed.spec.root.as_ref()?;
    let uri = Url::from_file_path(root).ok()?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    Raw::of(&serde_json::json!({ "roots": [{ "uri": uri.as_str(), "name": name }] })).ok()
}
