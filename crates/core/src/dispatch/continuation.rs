//! Continuations: a call that its server ended with questions goes to its caller, and goes on when the caller makes
//! it again with the answers.
//!
//! Used by `dispatch::upstream` and `dispatch::tool`; the gateway seals a [`CallContinuation`] into a handle for
//! modern clients. A modern server keeps no state of a call that asks: it wants the call made again, with the
//! answers. Neither does the engine then. The finished stages (hooks, permission) travel with the caller, so that
//! no hook runs and no decision is made twice.
//!
//! It does not protect the continuation: the caller must ensure that it comes back unchanged, for an equal request
//! and principal.

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

/// What happens to a call that its server wants made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionHandling {
    /// The engine holds the call until every question is answered.
    Hold,
    /// The engine hands the call to its caller.
    HandOut,
}

/// A call that is to be made again, with answers to these questions.
#[derive(Debug)]
pub struct InputRequired {
    /// The questions for the caller, under the server's own keys. May be empty: then the server only wants to be
    /// called again.
    pub questions: Vec<InputRequest>,
    /// The continuation that has to come back with the answers.
    pub carried: CallContinuation,
}

/// The state of a call between two requests. Opaque: only the engine that made it, or another of that workspace,
/// can use it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallContinuation {
    server: String,
    /// Tells the server from another that got its name in the meantime.
    signature: String,
    /// The server's `requestState`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<Raw>,
    /// Answers that were given without the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answered: Vec<(String, Raw)>,
    /// Questions with answers that hooks want to see, by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overheard: Vec<(String, Raw)>,
    /// When the call was first made, in milliseconds since 1970.
    since: u64,
    /// The id of the call.
    pub(super) id: String,
    pub(super) passed: FinishedStages,
}

/// The results of the stages that are finished.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FinishedStages {
    /// The reason why the call was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<DecisionReason>,
    /// The arguments, where hooks changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Raw>,
    /// Text that hooks add for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) context: Vec<String>,
}

/// A call that is made again.
#[derive(Debug, Clone)]
pub(super) struct ResumedCall {
    pub(super) carried: CallContinuation,
    pub(super) answers: Vec<InputResponse>,
}

/// The questions of a server that the caller has to answer.
pub(super) struct UnansweredQuestions {
    pub(super) questions: Vec<InputRequest>,
    pub(super) state: Option<Raw>,
    answered: Vec<InputResponse>,
    overheard: Vec<(String, Raw)>,
}

// === impl UnansweredQuestions ===

impl UnansweredQuestions {
    /// Takes the answers, if no question is left for the caller.
    pub(super) fn take_if_complete(&mut self) -> Option<Vec<InputResponse>> {
        let is_settled = self.questions.is_empty() && !self.answered.is_empty();
        is_settled.then(|| std::mem::take(&mut self.answered))
    }

    /// Returns the answers that were given here, as `inputResponses`, if there are any.
    pub(super) fn responses(&self) -> Option<Raw> {
        (!self.answered.is_empty()).then(|| InputResponse::to_input_responses(&self.answered))
    }

    pub(super) fn into_input_required(
        self,
        placed: &AppliedServer,
        (id, passed): (String, FinishedStages),
        since: u64,
    ) -> InputRequired {
        // A refused question is left out of the answers.
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
    /// Returns the server that asks.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn state(&self) -> Option<&Raw> {
        self.state.as_ref()
    }

    /// Refuses to go on at a server that has been replaced.
    pub(super) fn check_server(&self, placed: &AppliedServer) -> Result<(), CallError> {
        if self.server == placed.name && self.signature == placed.signature {
            return Ok(());
        }
        Err(CallError::Changed { server: self.server.clone() })
    }
}

// === impl ResumedCall ===

impl ResumedCall {
    /// Returns when the call was first made.
    pub(super) fn since(&self) -> u64 {
        self.carried.since
    }

    /// Returns how long ago the call was first made.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_millis(unix_millis().saturating_sub(self.carried.since))
    }
}

// === impl Stage ===

impl Stage {
    /// Whether questions that end a call go to its caller.
    pub(super) fn returns_questions(&self, how: QuestionHandling, asked: &[InputRequest]) -> bool {
        let is_callers = self.caller.session().answers == QuestionAnswerer::Caller;
        how == QuestionHandling::HandOut && (is_callers || asked.is_empty())
    }

    /// Answers the questions that need no caller: by hooks, by the engine, or because the caller cannot show them.
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
            extension if self.caller.class().opaque.accepts_method(extension) => return None,
            _ => return Some(self.answer_one(placed, question).await),
        }
        .map(|result| question.answer(result))
    }

    /// Returns all answers for a call that is made again: those from before, and the caller's once hooks have seen
    /// them.
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
