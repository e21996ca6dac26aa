//! The hook events around a tool call: before it, after it, and when a person is about to be asked.
//!
//! Used by `dispatch::tool`, `dispatch::tasks` and `dispatch::consent`. Running and parsing hooks is in
//! `hooks::runner` and `hooks::answer`.

use switchboard_config::HookEvent;
use switchboard_wire::json::Raw;

use super::answer::{HookAnswer, HookBehavior, HookOutput};
use super::input::ToolSubject;
use super::{HookNote, Hooks, ToolUse};
use crate::permission::{DecisionReason, HookVerdict};

/// The combined answer of the hooks before a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreToolUse {
    /// Whether the call may happen: a deny wins over an ask, an ask over an allow.
    pub verdict: HookVerdict,
    /// The arguments to use instead, of the last hook that gives any. Not validated.
    pub updated_input: Option<Raw>,
    /// Text for the model, in the order of the hooks.
    pub context: Vec<String>,
    /// Notes for the person.
    pub notes: Vec<HookNote>,
}

/// The combined answer of the hooks after a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PostToolUse {
    /// Why the result should not be relied on, of the first hook that says so. The call did happen.
    pub blocked: Option<String>,
    /// The result to show instead, of the last hook that gives one.
    pub updated_output: Option<Raw>,
    /// Text for the model, in the order of the hooks.
    pub context: Vec<String>,
    /// Notes for the person.
    pub notes: Vec<HookNote>,
}

/// The combined answer of the hooks in place of a person who is about to be asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionRequest {
    /// The answer; `None` leaves it to the person. A deny wins over an allow.
    pub answer: Option<PermissionAnswer>,
    /// Notes for the person.
    pub notes: Vec<HookNote>,
}

/// An answer in place of a person's.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionAnswer {
    /// The call may happen.
    Allow {
        /// The arguments to use instead. Not validated.
        updated_input: Option<Raw>,
    },
    /// The call must not happen.
    Deny {
        /// Why, safe to show.
        reason: String,
    },
}

// === impl Hooks ===

impl Hooks {
    /// Runs the hooks before a call.
    pub async fn pre_tool_use(&self, tool_use: &ToolUse<'_>) -> PreToolUse {
        let mut outcome = PreToolUse::default();
        for (hook, answer) in
            self.run_tool_hooks(HookEvent::PreToolUse, tool_use, tool_use.before_call()).await
        {
            outcome.notes.extend(answer.note(hook));
            outcome.add(&answer);
        }
        if matches!(outcome.verdict, HookVerdict::Deny { .. }) {
            outcome.updated_input = None;
        }
        outcome
    }

    /// Runs the hooks after a call that was answered with `response`.
    pub async fn post_tool_use(&self, tool_use: &ToolUse<'_>, response: &Raw) -> PostToolUse {
        let about = tool_use.after_call(response);
        let mut outcome = PostToolUse::default();
        for (hook, answer) in self.run_tool_hooks(HookEvent::PostToolUse, tool_use, about).await {
            outcome.notes.extend(answer.note(hook));
            outcome.blocked = outcome.blocked.or(answer.block());
            if let Some(said) = answer.output() {
                outcome.context.extend(said.context().map(str::to_owned));
                outcome.updated_output = said.updated_output().cloned().or(outcome.updated_output);
            }
        }
        outcome
    }

    /// Runs the hooks that may answer in place of a person, who would be asked because of `because`.
    pub async fn permission_request(
        &self,
        tool_use: &ToolUse<'_>,
        because: &DecisionReason,
    ) -> PermissionRequest {
        let event = HookEvent::PermissionRequest;
        let about = tool_use.before_question(because);
        let mut outcome = PermissionRequest::default();
        for (hook, answer) in self.run_tool_hooks(event, tool_use, about).await {
            outcome.notes.extend(answer.note(hook));
            outcome.answer = match (outcome.answer, PermissionAnswer::of(&answer)) {
                (Some(PermissionAnswer::Deny { reason }), _) => {
                    Some(PermissionAnswer::Deny { reason })
                }
                (before, after) => after.or(before),
            };
        }
        outcome
    }

    async fn run_tool_hooks(
        &self,
        event: HookEvent,
        tool_use: &ToolUse<'_>,
        about: ToolSubject<'_>,
    ) -> Vec<(&switchboard_config::EffectiveHook, HookAnswer)> {
        if !self.has(event, tool_use.tool) {
            return Vec::new();
        }
        self.run(event, tool_use.tool, tool_use.encode(event, &self.runner.project, about)).await
    }
}

// === impl PreToolUse ===

impl PreToolUse {
    fn add(&mut self, answer: &HookAnswer) {
        let verdict = verdict(answer);
        if strength(&verdict) > strength(&self.verdict) {
            self.verdict = verdict;
        }
        if let Some(said) = answer.output() {
            self.context.extend(said.context().map(str::to_owned));
            if let Some(input) = &said.specific.updated_input {
                self.updated_input = Some(input.clone());
            }
        }
    }
}

/// The rank of a verdict: a deny wins over an ask, an ask over an allow; of equals the first counts.
fn strength(verdict: &HookVerdict) -> u8 {
    match verdict {
        HookVerdict::None => 0,
        HookVerdict::Allow => 1,
        HookVerdict::Ask { .. } => 2,
        HookVerdict::Deny { .. } => 3,
    }
}

fn verdict(answer: &HookAnswer) -> HookVerdict {
    match answer {
        HookAnswer::Output(said) if said.stops() => {
            HookVerdict::Deny { reason: said.stop_reason() }
        }
        HookAnswer::Output(said) => decision(said),
        HookAnswer::Blocked(reason) => HookVerdict::Deny { reason: reason.clone() },
        HookAnswer::Unreadable(what) => {
            HookVerdict::Ask { reason: format!("a hook cannot be understood, {what}") }
        }
        HookAnswer::Nothing | HookAnswer::Failed(_) => HookVerdict::None,
    }
}

/// The decision in a hook's answer. An unknown word was meant as a decision, so it leads to a question.
fn decision(said: &HookOutput) -> HookVerdict {
    let reason = said.reason();
    let word = said.specific.permission_decision.as_ref().or(said.decision.as_ref());
    match word.map(String::as_str) {
        None => HookVerdict::None,
        Some("allow" | "approve") => HookVerdict::Allow,
        Some("deny" | "block") => HookVerdict::Deny { reason },
        Some("ask") => HookVerdict::Ask { reason },
        Some(other) => {
            let other = super::answer::sanitize_words(other);
            let reason = format!("a hook cannot be understood, it decides `{other}`");
            HookVerdict::Ask { reason }
        }
    }
}

// === impl PermissionAnswer ===

impl PermissionAnswer {
    fn of(answer: &HookAnswer) -> Option<Self> {
        if let Some(reason) = answer.block() {
            return Some(Self::Deny { reason });
        }
        let decision = answer.output()?.specific.decision.as_ref()?;
        Some(match decision.behavior {
            HookBehavior::Allow => Self::Allow { updated_input: decision.updated_input.clone() },
            HookBehavior::Deny => Self::Deny { reason: decision.message() },
        })
    }
}
