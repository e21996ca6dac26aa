//! What a hook is told.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use switchboard_config::{HookEvent, Mode};
use switchboard_wire::json::Raw;

use super::{Action, ElicitationAnswer};
use crate::permission::Because;

/// A call, as hooks see it.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'a> {
    /// The caller's session.
    pub session: &'a str,
    /// The mode that counts.
    pub mode: Mode,
    /// The tool's full name, `mcp__<server>__<tool>`, not cut: matchers are written against it.
    pub tool: &'a str,
    /// What it is called with.
    pub input: &'a Raw,
    /// Tells this call from others, before it and after it alike.
    pub id: &'a str,
}

/// A question of a server, as hooks see it.
#[derive(Debug, Clone, Copy)]
pub struct Elicitation<'a> {
    /// The session that would be asked.
    pub session: &'a str,
    /// The mode that counts.
    pub mode: Mode,
    /// The server's name, as configured; matchers are written against it.
    pub server: &'a str,
    /// What it says.
    pub message: &'a str,
    /// What it wants.
    pub kind: ElicitationKind<'a>,
    /// Its name for the question, where it gave one.
    pub id: Option<&'a str>,
}

/// What a question wants.
#[derive(Debug, Clone, Copy)]
pub enum ElicitationKind<'a> {
    /// A form filled in.
    Form {
        /// Its schema.
        schema: &'a Raw,
    },
    /// A page visited.
    Url {
        /// The page.
        url: &'a str,
    },
}

/// One JSON object; what does not belong to an event is left out.
#[derive(Serialize)]
pub(super) struct Input<'a> {
    session_id: &'a str,
    /// There is no transcript here, but hooks expect the member.
    transcript_path: &'static str,
    cwd: Cow<'a, str>,
    permission_mode: &'static str,
    hook_event_name: &'static str,
    #[serde(flatten)]
    about: About<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum About<'a> {
    Tool(AboutTool<'a>),
    Elicitation(AboutElicitation<'a>),
}

#[derive(Serialize)]
pub(super) struct AboutTool<'a> {
    tool_name: &'a str,
    tool_input: &'a Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_response: Option<&'a Raw>,
    tool_use_id: &'a str,
    /// Why a person is about to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
pub(super) struct AboutElicitation<'a> {
    mcp_server_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_schema: Option<&'a Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Raw>,
}

// === impl ToolUse ===

impl<'a> ToolUse<'a> {
    /// Before the call.
    pub(super) fn placed(&self) -> AboutTool<'a> {
        AboutTool {
            tool_name: self.tool,
            tool_input: self.input,
            tool_response: None,
            tool_use_id: self.id,
            reason: None,
        }
    }

    /// After it.
    pub(super) fn answered(&self, response: &'a Raw) -> AboutTool<'a> {
        AboutTool { tool_response: Some(response), ..self.placed() }
    }

    /// When a person is about to be asked.
    pub(super) fn doubted(&self, because: &Because) -> AboutTool<'a> {
        AboutTool { reason: Some(because.to_string()), ..self.placed() }
    }

    pub(super) fn told(&self, event: HookEvent, cwd: &Path, about: AboutTool<'_>) -> Told {
        told(self.session, self.mode, event, cwd, About::Tool(about))
    }
}

// === impl Elicitation ===

impl<'a> Elicitation<'a> {
    /// Before anybody was asked.
    pub(super) fn asked(&self) -> AboutElicitation<'a> {
        let (url, requested_schema) = match self.kind {
            ElicitationKind::Form { schema } => (None, Some(schema)),
            ElicitationKind::Url { url } => (Some(url), None),
        };
        AboutElicitation { message: Some(self.message), url, requested_schema, ..self.bare() }
    }

    /// After somebody answered.
    pub(super) fn answered(&self, given: &'a ElicitationAnswer) -> AboutElicitation<'a> {
        let content = given.content.as_ref();
        AboutElicitation { action: Some(given.action), content, ..self.bare() }
    }

    fn bare(&self) -> AboutElicitation<'a> {
        AboutElicitation {
            mcp_server_name: self.server,
            message: None,
            mode: match self.kind {
                ElicitationKind::Form { .. } => "form",
                ElicitationKind::Url { .. } => "url",
            },
            url: None,
            elicitation_id: self.id,
            requested_schema: None,
            action: None,
            content: None,
        }
    }

    pub(super) fn told(&self, event: HookEvent, cwd: &Path, about: AboutElicitation<'_>) -> Told {
        told(self.session, self.mode, event, cwd, About::Elicitation(about))
    }
}

/// The object, or why there is none.
pub(super) type Told = Result<Raw, serde_json::Error>;

fn told(session: &str, mode: Mode, event: HookEvent, cwd: &Path, about: About<'_>) -> Told {
    Raw::of(&Input {
        session_id: session,
        transcript_path: "",
        cwd: cwd.to_string_lossy(),
        permission_mode: known_word(mode),
        hook_event_name: event.word(),
        about,
    })
}

/// Hooks know no mode in which the client decides; to them it is the usual one.
fn known_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Client => Mode::Default.word(),
        known => known.word(),
    }
}
