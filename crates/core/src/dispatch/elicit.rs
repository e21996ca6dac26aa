//! Answers the requests of a server during a call: elicitation, sampling and roots.
//!
//! Used by `dispatch::upstream`, `continuation` and `page_visits`. Hooks answer first, then the session's answerer,
//! then hooks see the answer. Questions outside of calls go through `engine::supervisor::listener`.

use futures_util::future::join_all;
use switchboard_config::{HookEvent, PermissionMode};
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use url::Url;

use super::{PendingQuestion, QuestionAnswer, QuestionKind, Stage};
use crate::engine::{AppliedServer, QuestionAnswerer, UNDECLARED_REQUEST};
use crate::hooks::{ElicitationAction, ElicitationAnswer, HookElicitation, HookElicitationKind};

/// The capability of clients that can show pages.
const URL_CAPABILITY: &[&str] = &["elicitation", "url"];

// === impl Stage ===

impl Stage {
    /// Answers all questions, side by side.
    pub(super) async fn answer_all(
        &self,
        placed: &AppliedServer,
        questions: Vec<InputRequest>,
    ) -> Vec<InputResponse> {
        join_all(questions.iter().map(|question| self.answer_one(placed, question))).await
    }

    pub(super) async fn answer_one(
        &self,
        placed: &AppliedServer,
        question: &InputRequest,
    ) -> InputResponse {
        match question.method.as_str() {
            method::ELICIT => question.answer(self.elicit(placed, &question.params).await),
            method::SAMPLE => self.sample(placed, question).await,
            method::ROOTS_LIST => self.list_roots(placed, question).await,
            _ => self.ask_extension(placed, question).await,
        }
    }

    /// Returns the result of `elicitation/create`: accept, decline or cancel.
    pub(super) async fn elicit(&self, placed: &AppliedServer, params: &Raw) -> Raw {
        if let Some(answer) = self.ask_hooks_first(placed, params).await {
            return answer;
        }
        let about = QuestionKind::Elicitation { params: params.clone() };
        let given = elicitation_result(self.ask(placed, about).await);
        let answer = self.show_answer_to_hooks(placed, params, given).await;
        self.note_unseen_page(params, &answer);
        answer
    }

    /// Returns the answer to an elicitation before its caller is asked: a hook's, or where the caller cannot show
    /// the question, the queue's, which is *cancel* while no one watches the queue or the queue is not the caller's.
    pub(super) async fn elicit_without_caller(
        &self,
        placed: &AppliedServer,
        params: &Raw,
    ) -> Option<Raw> {
        if let Some(answer) = self.ask_hooks_first(placed, params).await {
            return Some(answer);
        }
        let is_url = ElicitationParams::of(params).url.is_some();
        let shown = if is_url { URL_CAPABILITY } else { &["elicitation"] };
        if self.caller.declares_capability(shown) {
            return None;
        }
        let about = QuestionKind::Elicitation { params: params.clone() };
        let (question, answer) = PendingQuestion::new(&placed.name, about);
        let question = question.of_client(&self.caller.identity().client);
        let reply = match self.engine.queue_for(self.caller.session().principal.id()) {
            Some(queue) => queue.ask((question, answer)).await,
            None => None,
        };
        let given = elicitation_result(reply);
        let answer = self.show_answer_to_hooks(placed, params, given).await;
        self.note_unseen_page(params, &answer);
        Some(answer)
    }

    /// Notes a page that was cancelled because the caller cannot show it.
    fn note_unseen_page(&self, params: &Raw, answer: &Raw) {
        let asked = ElicitationParams::of(params);
        let is_cancelled = answer_from_json(answer).action == ElicitationAction::Cancel;
        if let (true, Some(url)) = (is_cancelled, &asked.url)
            && !self.caller.declares_capability(URL_CAPABILITY)
        {
            self.unseen_pages.add(&asked.message, url);
        }
    }

    /// Returns the answer of a hook before a person is asked.
    async fn ask_hooks_first(&self, placed: &AppliedServer, params: &Raw) -> Option<Raw> {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::Elicitation, &placed.name) {
            return None;
        }
        let asked = ElicitationParams::of(params);
        let question = asked.question(placed, &self.caller.session().id, self.mode());
        let said = hooks.elicitation(&question).await;
        self.note(placed, &said.notes);
        said.answer.map(|answer| answer_to_json(&answer))
    }

    /// Shows an answer to hooks, which may replace it.
    pub(super) async fn show_answer_to_hooks(
        &self,
        placed: &AppliedServer,
        params: &Raw,
        given: Raw,
    ) -> Raw {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::ElicitationResult, &placed.name) {
            return given;
        }
        let asked = ElicitationParams::of(params);
        let question = asked.question(placed, &self.caller.session().id, self.mode());
        let said = hooks.elicitation_result(&question, &answer_from_json(&given)).await;
        self.note(placed, &said.notes);
        said.answer.map_or(given, |answer| answer_to_json(&answer))
    }

    /// Only the caller's own model can be asked; the queue has none.
    async fn sample(&self, placed: &AppliedServer, question: &InputRequest) -> InputResponse {
        if !self.caller.declares_capability(&["sampling"]) {
            return question.refuse_method();
        }
        let about = QuestionKind::Sampling { params: question.params.clone() };
        match self.ask(placed, about).await {
            Some(QuestionAnswer::Result(outcome)) => {
                InputResponse { key: question.key.clone(), outcome }
            }
            _ => question.refuse("the question was not answered"),
        }
    }

    /// Passes a request of an extension to the caller, if its client declared the extension.
    async fn ask_extension(
        &self,
        placed: &AppliedServer,
        question: &InputRequest,
    ) -> InputResponse {
        let can_answer = self.caller.session().answers == QuestionAnswerer::Caller
            && self.caller.class().opaque.accepts_method(&question.method);
        if !can_answer {
            let workspace = self.caller.workspace();
            if method::is_extension_request(&question.method)
                && workspace.lose_request(&placed.name, &question.method, UNDECLARED_REQUEST)
            {
                self.engine.mark_changed();
            }
            return question.refuse_method();
        }
        let (method, params) = (question.method.clone(), question.params.clone());
        match self.ask(placed, QuestionKind::Extension { method, params }).await {
            Some(QuestionAnswer::Result(outcome)) => {
                InputResponse { key: question.key.clone(), outcome }
            }
            _ => question.refuse("the question was not answered"),
        }
    }

    /// Returns the project's folder, for a server of the project; else the roots of the caller.
    async fn list_roots(&self, placed: &AppliedServer, question: &InputRequest) -> InputResponse {
        if let Some(roots) = roots(placed) {
            return question.answer(roots);
        }
        if !self.caller.declares_capability(&["roots"]) {
            return question.refuse_method();
        }
        match self.ask(placed, QuestionKind::Roots).await {
            Some(QuestionAnswer::Result(outcome)) => {
                InputResponse { key: question.key.clone(), outcome }
            }
            _ => question.refuse("the question was not answered"),
        }
    }
}

/// Returns the result for a reply to an elicitation; *cancel* where there was none.
fn elicitation_result(reply: Option<QuestionAnswer>) -> Raw {
    match reply {
        Some(QuestionAnswer::Result(Ok(result))) => result,
        Some(QuestionAnswer::Deny(_)) => answer_to_json(&bare_answer(ElicitationAction::Decline)),
        _ => answer_to_json(&bare_answer(ElicitationAction::Cancel)),
    }
}

/// The parameters of `elicitation/create`.
struct ElicitationParams {
    message: String,
    url: Option<String>,
    schema: Raw,
    id: Option<String>,
}

// === impl ElicitationParams ===

impl ElicitationParams {
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

    fn question<'a>(
        &'a self,
        placed: &'a AppliedServer,
        session: &'a str,
        mode: PermissionMode,
    ) -> HookElicitation<'a> {
        HookElicitation {
            session,
            mode,
            server: &placed.name,
            message: &self.message,
            kind: match &self.url {
                Some(url) => HookElicitationKind::Url { url },
                None => HookElicitationKind::Form { schema: &self.schema },
            },
            id: self.id.as_deref(),
        }
    }
}

fn bare_answer(action: ElicitationAction) -> ElicitationAnswer {
    ElicitationAnswer { action, content: None }
}

/// Encodes an answer in the form of MCP.
fn answer_to_json(answer: &ElicitationAnswer) -> Raw {
    let action = Raw::string(answer.action.as_str());
    let content = answer.content.as_ref().map(|content| ("content", content));
    Raw::object([("action", &action)].into_iter().chain(content))
}

/// Decodes an answer for hooks. An unknown action is no consent.
fn answer_from_json(result: &Raw) -> ElicitationAnswer {
    let member = |key| result.get(key).ok().flatten();
    ElicitationAnswer {
        action: member("action")
            .and_then(|action| action.decode().ok())
            .unwrap_or(ElicitationAction::Cancel),
        content: member("content"),
    }
}

/// Returns the project's folder, for servers that the project configures.
fn roots(placed: &AppliedServer) -> Option<Raw> {
    let root = placed.spec.root.as_ref()?;
    let uri = Url::from_file_path(root).ok()?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    Some(Raw::from(serde_json::json!({ "roots": [{ "uri": uri.as_str(), "name": name }] })))
}
