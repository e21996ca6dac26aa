//! The JSON object that a hook gets on standard input.
//!
//! Used by `hooks::tool_events` and `hooks::elicitation_events`; `dispatch` fills in [`ToolUse`] and
//! [`HookElicitation`].

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use switchboard_config::{HookEvent, PermissionMode};
use switchboard_wire::json::Raw;

use super::{ElicitationAction, ElicitationAnswer};
use crate::permission::DecisionReason;

/// A call, as hooks see it.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'a> {
    /// The caller's session.
    pub session: &'a str,
    /// The permission mode in effect.
    pub mode: PermissionMode,
    /// The tool's full name, `mcp__<server>__<tool>`, not cut: matchers are written against it.
    pub tool: &'a str,
    /// The arguments of the call.
    pub input: &'a Raw,
    /// The id of the call, equal in the events before and after it.
    pub id: &'a str,
}

/// An elicitation, as hooks see it.
#[derive(Debug, Clone, Copy)]
pub struct HookElicitation<'a> {
    /// The session that would be asked.
    pub session: &'a str,
    /// The permission mode in effect.
    pub mode: PermissionMode,
    /// The server's name, as configured; matchers are written against it.
    pub server: &'a str,
    /// The message of the server.
    pub message: &'a str,
    /// A form, or a page to visit.
    pub kind: HookElicitationKind<'a>,
    /// The id that the server gave the elicitation, if any.
    pub id: Option<&'a str>,
}

/// The kind of an elicitation.
#[derive(Debug, Clone, Copy)]
pub enum HookElicitationKind<'a> {
    /// A form to fill in.
    Form {
        /// The schema of the form.
        schema: &'a Raw,
    },
    /// A page to visit.
    Url {
        /// The address of the page.
        url: &'a str,
    },
}

/// The JSON object. Members that do not belong to an event are left out.
#[derive(Serialize)]
pub(super) struct HookInput<'a> {
    session_id: &'a str,
    /// Switchboard has no transcript, but hooks expect the member.
    transcript_path: &'static str,
    cwd: Cow<'a, str>,
    permission_mode: &'static str,
    hook_event_name: &'static str,
    #[serde(flatten)]
    about: HookSubject<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum HookSubject<'a> {
    Tool(ToolSubject<'a>),
    Elicitation(ElicitationSubject<'a>),
}

#[derive(Serialize)]
pub(super) struct ToolSubject<'a> {
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
pub(super) struct ElicitationSubject<'a> {
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
    action: Option<ElicitationAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Raw>,
}

// === impl ToolUse ===

impl<'a> ToolUse<'a> {
    /// The input of hooks before the call.
    pub(super) fn before_call(&self) -> ToolSubject<'a> {
        ToolSubject {
            tool_name: self.tool,
            tool_input: self.input,
            tool_response: None,
            tool_use_id: self.id,
            reason: None,
        }
    }

    /// The input of hooks after the call.
    pub(super) fn after_call(&self, response: &'a Raw) -> ToolSubject<'a> {
        ToolSubject { tool_response: Some(response), ..self.before_call() }
    }

    /// The input of hooks when a person is about to be asked.
    pub(super) fn before_question(&self, because: &DecisionReason) -> ToolSubject<'a> {
        ToolSubject { reason: Some(because.to_string()), ..self.before_call() }
    }

    pub(super) fn encode(
        &self,
        event: HookEvent,
        cwd: &Path,
        about: ToolSubject<'_>,
    ) -> EncodedInput {
        encode_input(self.session, self.mode, event, cwd, HookSubject::Tool(about))
    }
}

// === impl HookElicitation ===

impl<'a> HookElicitation<'a> {
    /// The input of hooks before a person is asked.
    pub(super) fn before_answer(&self) -> ElicitationSubject<'a> {
        let (url, requested_schema) = match self.kind {
            HookElicitationKind::Form { schema } => (None, Some(schema)),
            HookElicitationKind::Url { url } => (Some(url), None),
        };
        ElicitationSubject { message: Some(self.message), url, requested_schema, ..self.bare() }
    }

    /// The input of hooks after a person has answered.
    pub(super) fn after_answer(&self, given: &'a ElicitationAnswer) -> ElicitationSubject<'a> {
        let content = given.content.as_ref();
        ElicitationSubject { action: Some(given.action), content, ..self.bare() }
    }

    fn bare(&self) -> ElicitationSubject<'a> {
        ElicitationSubject {
            mcp_server_name: self.server,
            message: None,
            mode: match self.kind {
                HookElicitationKind::Form { .. } => "form",
                HookElicitationKind::Url { .. } => "url",
            },
            url: None,
            elicitation_id: self.id,
            requested_schema: None,
            action: None,
            content: None,
        }
    }

    pub(super) fn encode(
        &self,
        event: HookEvent,
        cwd: &Path,
        about: ElicitationSubject<'_>,
    ) -> EncodedInput {
        encode_input(self.session, self.mode, event, cwd, HookSubject::Elicitation(about))
    }
}

/// The encoded input, or why it could not be encoded.
pub(super) type EncodedInput = Result<Raw, serde_json::Error>;

fn encode_input(
    session: &str,
    mode: PermissionMode,
    event: HookEvent,
    cwd: &Path,
    about: HookSubject<'_>,
) -> EncodedInput {
    Raw::from_value(&HookInput {
        session_id: session,
        transcript_path: "",
        cwd: cwd.to_string_lossy(),
        permission_mode: mode_word(mode),
        hook_event_name: event.word(),
        about,
    })
}

/// The word for a mode. Hooks know no mode in which the client decides; it is reported as the default mode.
fn mode_word(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Client => PermissionMode::Default.word(),
        known => known.word(),
    }
}
