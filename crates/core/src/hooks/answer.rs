//! What a hook said, whichever way it said it. Knows the words; what they lead to is the event's business.

use serde::Deserialize;
use switchboard_config::{Hook, HookEvent};
use switchboard_process::Exit;
use switchboard_wire::json::{JsonKind, Raw};
use switchboard_wire::sanitize;

use super::runner::{Ran, RunError};
use super::{HookNote, NoteKind};

/// As many characters of a hook's words as are passed on.
const LONGEST: usize = 10_000;

#[derive(Debug)]
pub(super) enum Answer {
    /// A JSON object.
    Said(Box<Said>),
    /// It ended well and had nothing to decide.
    Nothing,
    /// It exited with 2; the reason, safe to show.
    Blocked(String),
    /// It gave no answer; why, safe to show.
    Failed(String),
    /// It gave an answer that cannot be read; what of it, safe to show.
    Unreadable(String),
}

/// The members of an answer, of all events.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Said {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    /// The old form of a decision.
    pub(super) decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    pub(super) specific: Specific,
}

/// The members that belong to one event.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Specific {
    hook_event_name: Option<String>,
    pub(super) permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Raw>,
    additional_context: Option<String>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_mcp_tool_output: Option<Raw>,
    updated_tool_output: Option<Raw>,
    pub(super) decision: Option<Decision>,
    pub(super) action: Option<super::Action>,
    pub(super) content: Option<Raw>,
}

/// What a hook decides in place of a person.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Decision {
    pub(super) behavior: Behavior,
    pub(super) updated_input: Option<Raw>,
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Behavior {
    Allow,
    Deny,
}

// === impl Answer ===

impl Answer {
    pub(super) fn of(event: HookEvent, ran: Result<Ran, RunError>) -> Self {
        match ran {
            Ok(Ran { exit: Exit::Code(0), stdout, .. }) => Self::read(event, stdout.trim_ascii()),
            Ok(Ran { exit: Exit::Code(2), stderr, .. }) => Self::Blocked(shown(&stderr)),
            Ok(Ran { exit, stderr, .. }) => Self::Failed(ended(exit, &stderr)),
            Err(error @ RunError::TooMuch) => Self::Unreadable(error.to_string()),
            Err(error) => Self::Failed(shown(&error.to_string())),
        }
    }

    /// Text that is no object is for whoever tries the hook out.
    fn read(event: HookEvent, stdout: &[u8]) -> Self {
        if stdout.first() != Some(&b'{') {
            return Self::Nothing;
        }
        match serde_json::from_slice(stdout) {
            Ok(said) => Self::check(event, said),
            Err(error) => Self::Unreadable(shown(&format!("its answer: {error}"))),
        }
    }

    fn check(event: HookEvent, said: Said) -> Self {
        let decided = said.specific.decision.as_ref().and_then(|it| it.updated_input.as_ref());
        let inputs = [said.specific.updated_input.as_ref(), decided];
        let not_an_object = |input: &Raw| input.kind() != JsonKind::Object;
        match said.specific.hook_event_name.as_deref() {
            Some(other) if other != event.word() => {
                Self::Unreadable(shown(&format!("its answer: it is for `{other}`")))
            }
            _ if inputs.into_iter().flatten().any(not_an_object) => {
                Self::Unreadable("its answer: `updatedInput` is not an object".to_owned())
            }
            _ => Self::Said(Box::new(said)),
        }
    }

    /// What is worth telling a person besides the decision.
    pub(super) fn note(&self, hook: &Hook) -> Option<HookNote> {
        match self {
            Self::Said(said) => {
                let message = shown(said.system_message.as_deref()?);
                Some(HookNote::new(hook, NoteKind::Message, message))
            }
            Self::Failed(why) => Some(HookNote::new(hook, NoteKind::Failed, why)),
            Self::Unreadable(what) => Some(HookNote::new(hook, NoteKind::Unreadable, what)),
            Self::Nothing | Self::Blocked(_) => None,
        }
    }

    /// The reason, if it blocks in one of the ways that all events share: by its exit, by telling us to
    /// stop, or in the old form.
    pub(super) fn block(&self) -> Option<String> {
        match self {
            Self::Blocked(reason) => Some(reason.clone()),
            Self::Said(said) if said.goes_on == Some(false) => Some(said.stop_reason()),
            Self::Said(said) if matches!(said.decision.as_deref(), Some("block" | "deny")) => {
                Some(said.reason())
            }
            _ => None,
        }
    }

    /// Why it blocks, for the person, where the event has no other place for a reason.
    pub(super) fn block_note(&self, hook: &Hook) -> Option<HookNote> {
        let reason = self.block().filter(|reason| !reason.is_empty())?;
        Some(HookNote::new(hook, NoteKind::Message, reason))
    }

    pub(super) fn said(&self) -> Option<&Said> {
        match self {
            Self::Said(said) => Some(said),
            _ => None,
        }
    }
}

fn ended(exit: Exit, stderr: &str) -> String {
    match shown(stderr) {
        words if words.is_empty() => exit.to_string(),
        words => format!("{exit}: {words}"),
    }
}

/// Words of a hook, made safe to show.
pub(super) fn shown(words: &str) -> String {
    let words = sanitize::block(words.trim());
    match words.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &words[..cut]),
        None => words.into_owned(),
    }
}

// === impl Said ===

impl Said {
    pub(super) fn stops(&self) -> bool {
        self.goes_on == Some(false)
    }

    pub(super) fn stop_reason(&self) -> String {
        first_shown([&self.stop_reason, &self.reason])
    }

    pub(super) fn reason(&self) -> String {
        first_shown([&self.specific.permission_decision_reason, &self.reason])
    }

    /// For the model, not for a screen: as it was written.
    pub(super) fn context(&self) -> Option<&str> {
        self.specific.additional_context.as_deref().filter(|context| !context.is_empty())
    }

    pub(super) fn updated_output(&self) -> Option<&Raw> {
        let specific = &self.specific;
        specific.updated_mcp_tool_output.as_ref().or(specific.updated_tool_output.as_ref())
    }
}

fn first_shown(words: [&Option<String>; 2]) -> String {
    words.into_iter().flatten().next().map(|words| shown(words)).unwrap_or_default()
}

// === impl Decision ===

impl Decision {
    pub(super) fn message(&self) -> String {
        self.message.as_deref().map(shown).unwrap_or_default()
    }
}
