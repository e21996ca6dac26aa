//! The hook events around an elicitation: before a person is asked, and before the server gets the answer.
//!
//! Used by `dispatch::elicit`. Running and parsing hooks is in `hooks::runner` and `hooks::answer`.

use serde::{Deserialize, Serialize};
use switchboard_config::{EffectiveHook, HookEvent};
use switchboard_wire::json::Raw;

use super::answer::HookAnswer;
use super::input::ElicitationSubject;
use super::{HookElicitation, HookNote, Hooks};

/// The action of an answer to an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAction {
    /// The question is answered.
    Accept,
    /// The question is cancelled.
    Cancel,
    /// The question is declined.
    Decline,
}

impl ElicitationAction {
    /// As the protocol spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Cancel => "cancel",
            Self::Decline => "decline",
        }
    }
}

/// An answer to an elicitation.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationAnswer {
    /// Accept, cancel or decline.
    pub action: ElicitationAction,
    /// The filled-in form, only of an accepted question. Not validated.
    pub content: Option<Raw>,
}

/// The combined answer of the hooks of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ElicitationOutcome {
    /// Before a person is asked: the answer in place of the person's. After: the answer to send instead. `None`
    /// changes nothing. A decline wins over a cancel, a cancel over an accept; of equal actions the last counts.
    pub answer: Option<ElicitationAnswer>,
    /// Notes for the person.
    pub notes: Vec<HookNote>,
}

// === impl Hooks ===

impl Hooks {
    /// Runs the hooks that may answer a server's question in place of a person.
    pub async fn elicitation(&self, question: &HookElicitation<'_>) -> ElicitationOutcome {
        let answers = self
            .run_elicitation_hooks(HookEvent::Elicitation, question, question.before_answer())
            .await;
        ElicitationOutcome::of(answers, |answer| {
            let specific = &answer.specific;
            Some(ElicitationAnswer::new(specific.action?, specific.content.as_ref()))
        })
    }

    /// Runs the hooks that may change a person's answer before the server sees it.
    pub async fn elicitation_result(
        &self,
        question: &HookElicitation<'_>,
        given: &ElicitationAnswer,
    ) -> ElicitationOutcome {
        let about = question.after_answer(given);
        let answers =
            self.run_elicitation_hooks(HookEvent::ElicitationResult, question, about).await;
        ElicitationOutcome::of(answers, |answer| {
            let specific = &answer.specific;
            if specific.action.is_none() && specific.content.is_none() {
                return None;
            }
            let content = specific.content.as_ref().or(given.content.as_ref());
            Some(ElicitationAnswer::new(specific.action.unwrap_or(given.action), content))
        })
    }

    async fn run_elicitation_hooks(
        &self,
        event: HookEvent,
        question: &HookElicitation<'_>,
        about: ElicitationSubject<'_>,
    ) -> Vec<(&EffectiveHook, HookAnswer)> {
        if !self.has(event, question.server) {
            return Vec::new();
        }
        self.run(event, question.server, question.encode(event, &self.runner.project, about)).await
    }
}

// === impl ElicitationOutcome ===

impl ElicitationOutcome {
    fn of(
        answers: Vec<(&EffectiveHook, HookAnswer)>,
        read: impl Fn(&super::answer::HookOutput) -> Option<ElicitationAnswer>,
    ) -> Self {
        let mut outcome = Self::default();
        for (hook, answer) in answers {
            outcome.notes.extend(answer.note(hook));
            let said = match answer.block() {
                Some(_) => Some(ElicitationAnswer::new(ElicitationAction::Decline, None)),
                None => answer.output().and_then(&read),
            };
            outcome.notes.extend(answer.block_note(hook));
            outcome.answer = match (outcome.answer, said) {
                (Some(before), Some(after)) if before.action > after.action => Some(before),
                (before, after) => after.or(before),
            };
        }
        outcome
    }
}

// === impl ElicitationAnswer ===

impl ElicitationAnswer {
    fn new(action: ElicitationAction, content: Option<&Raw>) -> Self {
        let content = content.filter(|_| action == ElicitationAction::Accept).cloned();
        Self { action, content }
    }
}
