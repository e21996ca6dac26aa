//! One line of the audit log: its JSON members, and the redaction of texts that go into it.
//!
//! Used by `audit::log`, which writes lines, and by `switchboard audit`, the terminal UI and the hub's admin API,
//! which read them. It does not hold secrets: no values of arguments, no output of hooks, no session ids that a
//! client could use, and of URLs neither user nor query.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_config::{SourceLocation, redact};
use switchboard_wire::sanitize;

use super::{CallDecision, CallEnd, CallRecord};
use crate::logs::format_timestamp;
use crate::permission::DecisionReason;

/// Names are cut to this many characters: servers and clients choose them.
const MAX_NAME_CHARS: usize = 256;

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AuditEntry {
    /// A call.
    Call(Box<AuditCallLine>),
    /// Calls that are missing from the log.
    Lost(AuditGap),
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditCallLine {
    /// When the call began, RFC 3339 in UTC.
    pub time: String,
    /// The id of the principal that the call was made for.
    pub principal: String,
    /// The groups that the principal was in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The client's name, as it gives it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The transport that the client uses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// Tells sessions apart; it cannot be used to enter one.
    pub session: String,
    /// The folder of the workspace.
    pub workspace: String,
    /// The server, where it was known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// The names of the secrets that the server got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The MCP method.
    pub method: String,
    /// The name of the tool or prompt, or the URI of the resource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `allow`, `deny` or `unanswered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The kind of reason: `rule`, `hook`, `mode`, `client`, `person`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The text of the rule, or the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The file, line and column of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// `ok`, `asked`, `tool-error`, `refused`, `failed` or `cancelled`.
    pub outcome: String,
    /// The kind of failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the call took, in microseconds.
    pub micros: u64,
    /// Bytes of the parameters.
    pub sent: u64,
    /// Bytes of the result.
    pub received: u64,
}

/// Calls that could not be written to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditGap {
    /// When the writer could write again.
    pub time: String,
    /// How many calls are missing.
    pub lost: u64,
    /// Why they could not be written.
    pub why: String,
}

// === impl AuditCallLine ===

impl AuditCallLine {
    /// Makes the line of a call, with redacted texts.
    pub fn from_record(called: &CallRecord) -> Self {
        let who = &called.caller;
        let because = called.decision.as_ref().map(CallDecision::reason);
        let (rule, at) = because.map(rule).unwrap_or_default();
        let error = match called.end {
            CallEnd::Failed(kind) => Some(kind.to_owned()),
            _ => None,
        };
        Self {
            time: format_timestamp(called.at),
            principal: to_safe_text(who.principal.id()),
            groups: who.principal.groups().map(to_safe_text).collect(),
            client: to_safe_text(&who.client),
            transport: who.transport.to_owned(),
            session: who.session_mark(),
            workspace: to_safe_text(&who.workspace.to_string_lossy()),
            server: to_safe_text(&called.server),
            secrets: called.secrets.iter().map(|name| to_safe_text(name)).collect(),
            method: to_safe_text(&called.method),
            name: to_safe_text(&called.name),
            decision: called.decision.as_ref().map(|decision| decision.word().to_owned()),
            by: because.map(|because| reason_word(because).to_owned()),
            rule,
            at,
            outcome: called.end.word().to_owned(),
            error,
            micros: micros(called.duration),
            sent: called.sent as u64,
            received: called.received as u64,
        }
    }
}

// === impl AuditGap ===

impl AuditGap {
    pub(super) fn new(lost: u64, why: &str) -> Self {
        Self { time: format_timestamp(SystemTime::now()), lost, why: to_safe_text(why) }
    }
}

/// The kind of reason as one word. The words of hooks and classifiers may hold anything, so the log leaves them
/// out.
fn reason_word(because: &DecisionReason) -> &'static str {
    match because {
        DecisionReason::Rule(_) => "rule",
        DecisionReason::Hook { .. } => "hook",
        DecisionReason::Mode { .. } => "mode",
        DecisionReason::Client => "client",
        DecisionReason::Remembered { .. } => "remembered",
        DecisionReason::Person => "person",
        DecisionReason::Typed => "typed",
        DecisionReason::Interaction => "interaction",
        DecisionReason::BuiltIn => "built-in",
        DecisionReason::Classifier { .. } => "classifier",
        DecisionReason::UnclearSettings { .. } => "unclear-settings",
        DecisionReason::RepeatedArgument { .. } => "repeated-argument",
        DecisionReason::Agent { .. } => "agent",
        DecisionReason::NotForModels => "not-for-models",
        DecisionReason::NotForApps => "not-for-apps",
        DecisionReason::NotLent { .. } => "not-lent",
        DecisionReason::NoPrompt { .. } => "nobody-asked",
    }
}

/// The reason to ask, of a decision that was made because the mode asks no one.
fn underlying_reason(because: &DecisionReason) -> &DecisionReason {
    match because {
        DecisionReason::NoPrompt { ask } => underlying_reason(ask),
        because => because,
    }
}

/// The rule or the mode, and the location of a rule.
fn rule(because: &DecisionReason) -> (Option<String>, Option<String>) {
    match underlying_reason(because) {
        DecisionReason::Rule(rule) | DecisionReason::RepeatedArgument { rule, .. } => {
            (Some(to_safe_text(&rule.text)), place(rule.at.as_ref()))
        }
        DecisionReason::Mode { mode } => (Some(mode.word().to_owned()), None),
        DecisionReason::UnclearSettings { at } => (None, place(at.as_ref())),
        _ => (None, None),
    }
}

fn place(at: Option<&SourceLocation>) -> Option<String> {
    at.map(|at| to_safe_text(&at.to_string()))
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// Redacts text of a peer or a file: one line, cut to [`MAX_NAME_CHARS`], without parts that could be secrets.
fn to_safe_text(text: &str) -> String {
    let line = sanitize::sanitize_line(text);
    let (plain, rest) = line.split_at(line.find(['?', '#']).unwrap_or(line.len()));
    let mut shown = redact::redact_text(plain);
    let too_long = shown.len() > MAX_NAME_CHARS;
    let cut = too_long.then(|| shown.char_indices().nth(MAX_NAME_CHARS)).flatten();
    if let Some((cut, _)) = cut {
        shown.truncate(cut);
        shown.push('…');
    } else if !rest.is_empty() {
        // The query and the fragment of a URL may hold secrets.
        shown.push_str(&rest[..1]);
        shown.push('…');
    }
    shown
}

/// Whether the log has an id as it is, and writes no other id in the same way: one that was cut ends with `…`, one that was
/// redacted has `*`. Control characters become spaces, but no id has them.
pub(super) fn is_written_as_is(text: &str) -> bool {
    !text.contains(['…', '*']) && to_safe_text(text) == text
}

/// Hashes the id of a session that is reached over the network, since the client authenticates with that id.
pub(super) fn session_mark(transport: &str, session: &str) -> String {
    match transport {
        "http" | "sse" | "ws" => URL_SAFE_NO_PAD.encode(&Sha256::digest(session)[..9]),
        _ => to_safe_text(session),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_name() {
        for (text, expected) in [
            ("mcp__files__read", "mcp__files__read"),
            ("docs://guide/1", "docs://guide/1"),
            ("https://ann:pw@host/x", "https://********@host/x"),
            ("https://host/x?key=1&y=2#z", "https://host/x?…"),
            ("note#2", "note#…"),
            ("ghp_0123456789abcdef", "********"),
            ("a\nb\u{1b}[2J", "a b[2J"),
        ] {
            assert_eq!(to_safe_text(text), expected, "{text}");
        }
        assert_eq!(to_safe_text(&"x".repeat(1000)).chars().count(), MAX_NAME_CHARS + 1);
    }

    #[test]
    fn an_id_that_may_be_that_of_another_is_not_as_it_is() {
        for (id, expected) in [
            ("user:ada", true),
            ("https://login.example 0a1b", true),
            ("https://login.example 0a1b?x", false),
            ("https://login.example 0a1b?…", false),
            ("https://login.example ********", false),
            ("https://ann:pw@login.example 0a1b", false),
        ] {
            assert_eq!(is_written_as_is(id), expected, "{id}");
        }
        assert!(!is_written_as_is(&"x".repeat(MAX_NAME_CHARS + 1)));
    }

    #[test]
    fn no_session_can_be_taken_over_from_the_log() {
        assert_eq!(session_mark("socket", "socket-3"), "socket-3");
        let hashed = session_mark("http", "0123456789abcdef");
        assert!(!hashed.contains("0123") && hashed.len() == 12, "{hashed}");
    }
}
