//! A call that its server ended with questions, handed to whoever made it.
//!
//! A modern server keeps nothing of a call that asks: it wants it made again, with the answers. Neither does the engine,
//! where its caller does not either. What the call has been through (hooks, permission) goes along with the caller, and
//! when the call is made again it goes on after that: nothing runs, and nothing is decided, twice.
//!
//! What is carried decides what happens then, so it is for the caller to see that it comes back unchanged, for the same
//! request and principal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use switchboard_config::HookEvent;
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;

use super::{CallError, Stage};
use crate::engine::{AppliedServer, QuestionAnswerer};
use crate::permission::DecisionReason;

/// What to do with a call that its server wants made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionHandling {
    /// Hold it until everything is answered.
    Hold,
    /// Hand it to whoever made it.
    HandOut,
}

/// A call that is to be made again, with answers to these questions.
#[derive(Debug)]
pub struct InputRequired {
    /// What is asked of the caller, under the server's own keys. There may be nothing: then the server only wants to
    /// be called again.
    pub questions: Vec<InputRequest>,
    /// What has to come along then.
    pub carried: CallContinuation,
}

/// What a call has been through. Opaque: only the engine that made it, or another of the same workspace, has a use for
/// it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallContinuation {
    server: String,
    /// Tells the server from another that is configured under its name meanwhile.
    signature: String,
    /// What the server wants to see again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<Raw>,
    /// What was answered without the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answered: Vec<(String, Raw)>,
    /// Questions whose answers hooks want to see, by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overheard: Vec<(String, Raw)>,
    /// When the call was first made, in milliseconds since 1970.
    since: u64,
    /// Tells the call from others.
    pub(super) id: String,
    pub(super) passed: FinishedStages,
}

/// The stages that are over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FinishedStages {
    /// What decided that it may happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<DecisionReason>,
    /// The arguments, where hooks changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Raw>,
    /// What hooks want the model to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) context: Vec<String>,
}

/// A call that is made again.
#[derive(Debug, Clone)]
pub(super) struct ResumedCall {
    pub(super) carried: CallContinuation,
    pub(super) answers: Vec<InputResponse>,
}

/// What a server asked, as far as the caller has to answer it.
pub(super) struct UnansweredQuestions {
    pub(super) questions: Vec<InputRequest>,
    pub(super) state: Option<Raw>,
    answered: Vec<InputResponse>,
    overheard: Vec<(String, Raw)>,
}

// === impl UnansweredQuestions ===

impl UnansweredQuestions {
    /// The answers, if the caller has nothing to say.
    pub(super) fn take_if_complete(&mut self) -> Option<Vec<InputResponse>> {
        let is_settled = self.questions.is_empty() && !self.answered.is_empty();
        is_settled.then(|| std::mem::take(&mut self.answered))
    }

    /// The answers that were given here, as `inputResponses`, if there are any.
    pub(super) fn responses(&self) -> Option<Raw> {
        (!self.answered.is_empty()).then(|| InputResponse::to_input_responses(&self.answered))
    }

    pub(super) fn into_input_required(
        self,
        placed: &AppliedServer,
        (id, passed): (String, FinishedStages),
        since: u64,
    ) -> InputRequired {
        // A refusal is told by leaving it out.
        let given = |answer: InputResponse| Some((answer.key, answer.outcome.ok()?));
        let carried = CallContinuation {
            server: placed.name.clone(),
            signature: placed.signature.clone(),
            state: self.state,
            answered: self.answered.into_iter().filter_map(given).collect(),
            overheard: self.overheard,
            since,
            id,
            passed,
        };
        InputRequired { questions: self.questions, carried }
    }
}

// === impl CallContinuation ===

impl CallContinuation {
    /// The server that asks.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn state(&self) -> Option<&Raw> {
        self.state.as_ref()
    }

    /// Refuses to go on at a server that is another one now.
    pub(super) fn check_server(&self, placed: &AppliedServer) -> Result<(), CallError> {
        if self.server == placed.name && self.signature == placed.signature {
            return Ok(());
        }
        Err(CallError::Changed { server: self.server.clone() })
    }
}

// === impl ResumedCall ===

impl ResumedCall {
    /// When the call was first made.
    pub(super) fn since(&self) -> u64 {
        self.carried.since
    }

    /// How long ago that is.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_millis(unix_millis().saturating_sub(self.carried.since))
    }
}

// === impl Stage ===

impl Stage {
    /// Whether questions that end a call go out with it.
    pub(super) fn returns_questions(&self, how: QuestionHandling, asked: &[InputRequest]) -> bool {
        let is_callers = self.caller.session().answers == QuestionAnswerer::Caller;
        how == QuestionHandling::HandOut && (is_callers || asked.is_empty())
    }

    /// Answers what can be answered without the caller: by hooks, by us, or because the caller cannot be asked it.
    pub(super) async fn answer_without_caller(
        &self,
        placed: &AppliedServer,
        asked: Vec<InputRequest>,
    ) -> UnansweredQuestions {
        let trying = asked.iter().map(|question| self.try_answer(placed, question));
        let mut open = UnansweredQuestions {
            questions: Vec::new(),
            state: None,
            answered: Vec::new(),
            overheard: Vec::new(),
        };
        let hears = self.applied.hooks.has(HookEvent::ElicitationResult, &placed.name);
        for (answer, question) in join_all(trying).await.into_iter().zip(&asked) {
            match answer {
                Some(answer) => open.answered.push(answer),
                None => {
                    if hears && question.method == method::ELICIT {
                        open.overheard.push((question.key.clone(), question.params.clone()));
                    }
                    open.questions.push(question.clone());
                }
            }
        }
        open
    }

    async fn try_answer(
        &self,
        placed: &AppliedServer,
        question: &InputRequest,
    ) -> Option<InputResponse> {
        match question.method.as_str() {
            method::ELICIT => self.elicit_without_caller(placed, &question.params).await,
            method::SAMPLE if self.caller.declares_capability(&["sampling"]) => return None,
            method::ROOTS_LIST
                if placed.spec.root.is_none() && self.caller.declares_capability(&["roots"]) =>
            {
                return None;
            }
            _ => return Some(self.answer_one(placed, question).await),
        }
        .map(|result| question.answer(result))
    }

    /// All answers to a call that is made again: those from before, and the caller's once hooks have seen them.
    pub(super) async fn collect_answers(
        &self,
        placed: &AppliedServer,
        again: &ResumedCall,
    ) -> Vec<InputResponse> {
        let carried = &again.carried;
        let before = carried
            .answered
            .iter()
            .map(|(key, result)| InputResponse { key: key.clone(), outcome: Ok(result.clone()) });
        let is_open =
            |answer: &&InputResponse| carried.answered.iter().all(|(key, _)| *key != answer.key);
        let heard = again.answers.iter().filter(is_open).map(|answer| async move {
            let asked = carried.overheard.iter().find(|(key, _)| *key == answer.key);
            match (asked, &answer.outcome) {
                (Some((key, params)), Ok(given)) => {
                    let given = self.show_answer_to_hooks(placed, params, given.clone()).await;
                    InputResponse { key: key.clone(), outcome: Ok(given) }
                }
                _ => answer.clone(),
            }
        });
        before.chain(join_all(heard).await).collect()
    }
}

/// Milliseconds since 1970.
pub(super) fn unix_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
