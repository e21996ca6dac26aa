//! Parses the answer of a hook: exit code, standard error, or a JSON object on standard output.
//!
//! Used by `hooks::tool_events` and `hooks::elicitation_events`, which decide what an answer leads to.

use serde::Deserialize;
use switchboard_config::{EffectiveHook, HookEvent};
use switchboard_process::ProcessExit;
use switchboard_wire::json::{JsonKind, Raw};
use switchboard_wire::sanitize;

use super::runner::{CommandOutput, HookRunError};
use super::{HookNote, HookNoteKind};

/// How many characters of a hook's text are passed on.
const MAX_WORDS_CHARS: usize = 10_000;

#[derive(Debug)]
pub(super) enum HookAnswer {
    /// A JSON object.
    Output(Box<HookOutput>),
    /// The hook succeeded and decided nothing.
    Nothing,
    /// The hook exited with 2. Holds the reason, safe to show.
    Blocked(String),
    /// The hook gave no answer. Holds why, safe to show.
    Failed(String),
    /// The hook gave an answer that cannot be parsed. Holds why, safe to show.
    Unreadable(String),
}

/// The members of an answer, for all events.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HookOutput {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    /// A decision in the old form.
    pub(super) decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    pub(super) specific: HookSpecificOutput,
}

/// The members that belong to one event (`hookSpecificOutput`).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HookSpecificOutput {
    hook_event_name: Option<String>,
    pub(super) permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Raw>,
    additional_context: Option<String>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_mcp_tool_output: Option<Raw>,
    updated_tool_output: Option<Raw>,
    pub(super) decision: Option<HookDecision>,
    pub(super) action: Option<super::ElicitationAction>,
    pub(super) content: Option<Raw>,
}

/// The decision of a hook in place of a person.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookDecision {
    pub(super) behavior: HookBehavior,
    pub(super) updated_input: Option<Raw>,
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum HookBehavior {
    Allow,
    Deny,
}

// === impl HookAnswer ===

impl HookAnswer {
    pub(super) fn of(event: HookEvent, ran: Result<CommandOutput, HookRunError>) -> Self {
        match ran {
            Ok(CommandOutput { exit: ProcessExit::Code(0), stdout, .. }) => {
                Self::read(event, stdout.trim_ascii())
            }
            Ok(CommandOutput { exit: ProcessExit::Code(2), stderr, .. }) => {
                Self::Blocked(sanitize_words(&stderr))
            }
            Ok(CommandOutput { exit, stderr, .. }) => Self::Failed(exit_text(exit, &stderr)),
            Err(error @ HookRunError::TooMuch) => Self::Unreadable(error.to_string()),
            Err(error) => Self::Failed(sanitize_words(&error.to_string())),
        }
    }

    /// Parses standard output. Text that is no JSON object decides nothing: it is for a person who tries the hook
    /// out.
    fn read(event: HookEvent, stdout: &[u8]) -> Self {
        if stdout.first() != Some(&b'{') {
            return Self::Nothing;
        }
        match serde_json::from_slice(stdout) {
            Ok(said) => Self::check(event, said),
            Err(error) => Self::Unreadable(sanitize_words(&format!("its answer: {error}"))),
        }
    }

    fn check(event: HookEvent, said: HookOutput) -> Self {
        let decided = said.specific.decision.as_ref().and_then(|it| it.updated_input.as_ref());
        let inputs = [said.specific.updated_input.as_ref(), decided];
        let not_an_object = |input: &Raw| input.kind() != JsonKind::Object;
        match said.specific.hook_event_name.as_deref() {
            Some(other) if other != event.word() => {
                Self::Unreadable(sanitize_words(&format!("its answer: it is for `{other}`")))
            }
            _ if inputs.into_iter().flatten().any(not_an_object) => {
                Self::Unreadable("its answer: `updatedInput` is not an object".to_owned())
            }
            _ => Self::Output(Box::new(said)),
        }
    }

    /// A note for the person about a failed or unreadable hook, or with the hook's message.
    pub(super) fn note(&self, hook: &EffectiveHook) -> Option<HookNote> {
        match self {
            Self::Output(said) => {
                let message = sanitize_words(said.system_message.as_deref()?);
                Some(HookNote::new(hook, HookNoteKind::Message, message))
            }
            Self::Failed(why) => Some(HookNote::new(hook, HookNoteKind::Failed, why)),
            Self::Unreadable(what) => Some(HookNote::new(hook, HookNoteKind::Unreadable, what)),
            Self::Nothing | Self::Blocked(_) => None,
        }
    }

    /// The reason, if the hook blocks in one of the ways that all events share: exit code 2, `continue: false`, or
    /// a decision in the old form.
    pub(super) fn block(&self) -> Option<String> {
        match self {
            Self::Blocked(reason) => Some(reason.clone()),
            Self::Output(said) if said.goes_on == Some(false) => Some(said.stop_reason()),
            Self::Output(said) if matches!(said.decision.as_deref(), Some("block" | "deny")) => {
                Some(said.reason())
            }
            _ => None,
        }
    }

    /// A note with the reason why the hook blocks, for events that have no other place for a reason.
    pub(super) fn block_note(&self, hook: &EffectiveHook) -> Option<HookNote> {
        let reason = self.block().filter(|reason| !reason.is_empty())?;
        Some(HookNote::new(hook, HookNoteKind::Message, reason))
    }

    pub(super) fn output(&self) -> Option<&HookOutput> {
        match self {
            Self::Output(said) => Some(said),
            _ => None,
        }
    }
}

fn exit_text(exit: ProcessExit, stderr: &str) -> String {
    match sanitize_words(stderr) {
        words if words.is_empty() => exit.to_string(),
        words => format!("{exit}: {words}"),
    }
}

/// Makes the text of a hook safe to show, and cuts it.
pub(super) fn sanitize_words(words: &str) -> String {
    let words = sanitize::sanitize_block(words.trim());
    match words.char_indices().nth(MAX_WORDS_CHARS) {
        Some((cut, _)) => format!("{}…", &words[..cut]),
        None => words.into_owned(),
    }
}

// === impl HookOutput ===

impl HookOutput {
    pub(super) fn stops(&self) -> bool {
        self.goes_on == Some(false)
    }

    pub(super) fn stop_reason(&self) -> String {
        first_sanitized([&self.stop_reason, &self.reason])
    }

    pub(super) fn reason(&self) -> String {
        first_sanitized([&self.specific.permission_decision_reason, &self.reason])
    }

    /// The context for the model, unchanged: it is not shown on a screen.
    pub(super) fn context(&self) -> Option<&str> {
        self.specific.additional_context.as_deref().filter(|context| !context.is_empty())
    }

    pub(super) fn updated_output(&self) -> Option<&Raw> {
        let specific = &self.specific;
        specific.updated_mcp_tool_output.as_ref().or(specific.updated_tool_output.as_ref())
    }
}

fn first_sanitized(words: [&Option<String>; 2]) -> String {
    words.into_iter().flatten().next().map(|words| sanitize_words(words)).unwrap_or_default()
}

// === impl HookDecision ===

impl HookDecision {
    pub(super) fn message(&self) -> String {
        self.message.as_deref().map(sanitize_words).unwrap_or_default()
    }
}
