//! What a server wants to know before it answers: hooks first, then whoever answers for this session, then hooks again.

use futures_util::future::join_all;
use switchboard_config::HookEvent;
use switchboard_wire::client::{Answer, InputRequest};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use url::Url;

use super::upstream::Sent;
use super::{About, Reply, Stage};
use crate::engine::Placed;
use crate::hooks::Elicitation;

// === impl Stage ===

impl Stage {
    /// Has every question answered, side by side.
    pub(super) async fn answers(
        &self,
        sent: &Sent<'_>,
        questions: Vec<InputRequest>,
    ) -> Vec<Answer> {
        join_all(questions.iter().map(|question| self.answer_one(sent, question))).await
    }

    async fn answer_one(&self, sent: &Sent<'_>, question: &InputRequest) -> Answer {
        let placed = sent.placed;
        match question.method.as_str() {
            method::ELICIT => question.answer(self.elicit(placed, &question.params).await),
            method::SAMPLE => self.sample(placed, question).await,
            method::ROOTS_LIST => match roots(placed) {
                Some(roots) => question.answer(roots),
                None => question.refuse("no folders are offered"),
            },
            _ => question.refuse("nobody here knows such a question"),
        }
    }

    /// The result of `elicitation/create`: accept, decline or cancel.
    pub(super) async fn elicit(&self, placed: &Placed, params: &Raw) -> Raw {
        let hooks = &self.applied.hooks;
        let asked = Elicitation {
            session: &self.caller.session().id,
            server: &placed.name,
            params,
            mode: self.mode(),
        };
        if hooks.has(HookEvent::Elicitation, &placed.name) {
            let said = hooks.elicitation(&asked).await;
            self.note(placed, &said.notes);
            if let Some(answer) = said.answer {
                return answer;
            }
        }
        let about = About::Elicitation { params: params.clone() };
        let answer = match self.ask(placed, about).await {
            Some(Reply::Result(Ok(result))) => result,
            Some(Reply::Deny(_)) => said("decline"),
            _ => said("cancel"),
        };
        if !hooks.has(HookEvent::ElicitationResult, &placed.name) {
            return answer;
        }
        let said = hooks.elicitation_result(&asked, &answer).await;
        self.note(placed, &said.notes);
        said.answer.unwrap_or(answer)
    }

    /// Only the caller's own model can be asked; nobody stands in for it.
    async fn sample(&self, placed: &Placed, question: &InputRequest) -> Answer {
        if !self.caller.can(&["sampling"]) {
            return question.refuse("the client has no model to ask");
        }
        let about = About::Sampling { params: question.params.clone() };
        match self.ask(placed, about).await {
            Some(Reply::Result(outcome)) => Answer { key: question.key.clone(), outcome },
            _ => question.refuse("nobody answered"),
        }
    }
}

fn said(action: &'static str) -> Raw {
    Raw::of(&serde_json::json!({ "action": action })).unwrap_or_else(|_| Raw::empty_object())
}

/// The project's folder, for servers that the project configures.
fn roots(placed: &Placed) -> Option<Raw> {
    let root = placed.spec.root.as_ref()?;
    let uri = Url::from_file_path(root).ok()?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    Raw::of(&serde_json::json!({ "roots": [{ "uri": uri.as_str(), "name": name }] })).ok()
}
