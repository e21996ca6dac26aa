//! A call as a line of JSON. Nothing gets into one that could be a secret: no values of arguments, no words of hooks,
//! no ids that open a session, and of addresses neither user nor query.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_config::redact;
use switchboard_wire::sanitize;

use super::{CallDecision, CallEnd, CallRecord};
use crate::logs::format_timestamp;
use crate::permission::DecisionReason;

/// How much of a name is kept; peers choose them.
pub(super) const MAX_NAME_CHARS: usize = 256;

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AuditEntry {
    /// A call.
    Call(Box<AuditCallLine>),
    /// Calls that are missing.
    Lost(AuditGap),
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditCallLine {
    /// When it began, RFC 3339 in UTC.
    pub time: String,
    /// Whom it was made for.
    pub principal: String,
    /// The client's name, as it gives it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// How the client is reached.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// Tells sessions apart; it opens none.
    pub session: String,
    /// The folder of the workspace.
    pub workspace: String,
    /// The server, where it was known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// The method.
    pub method: String,
    /// What was called or read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `allow`, `deny` or `unanswered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What decided: `rule`, `hook`, `mode`, `client`, `person`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The rule, or the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where the rule stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// `ok`, `asked`, `tool-error`, `refused`, `failed` or `cancelled`.
    pub outcome: String,
    /// What kind of failure it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Bytes of the parameters.
    pub sent: u64,
    /// Bytes of the result.
    pub received: u64,
}

/// Calls that could not be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditGap {
    /// When that was noticed to be over.
    pub time: String,
    /// How many.
    pub lost: u64,
    /// Why.
    pub why: String,
}

// === impl AuditCallLine ===

impl AuditCallLine {
    /// What may be told of a call.
    pub fn from_record(called: &CallRecord) -> Self {
        let who = &called.who;
        let because = called.decision.as_ref().map(CallDecision::because);
        let (rule, at) = because.map(rule).unwrap_or_default();
        let error = match called.ended {
            CallEnd::Failed(kind) => Some(kind.to_owned()),
            _ => None,
        };
        Self {
            time: format_timestamp(called.at),
            principal: to_safe_text(&who.principal),
            client: to_safe_text(&who.client),
            transport: who.transport.to_owned(),
            session: who.session_mark(),
            workspace: to_safe_text(&who.workspace.to_string_lossy()),
            server: to_safe_text(&called.server),
            method: to_safe_text(&called.method),
            name: to_safe_text(&called.name),
            decision: called.decision.as_ref().map(|decision| decision.word().to_owned()),
            by: because.map(|because| reason_word(because).to_owned()),
            rule,
            at,
            outcome: called.ended.word().to_owned(),
            error,
            micros: micros(called.took),
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

/// What decided, in a word. What hooks and classifiers said may hold anything, and is not kept.
pub(super) fn reason_word(because: &DecisionReason) -> &'static str {
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
        DecisionReason::NobodyAsked { .. } => "nobody-asked",
    }
}

/// What was wanted to be asked about, where nobody was asked.
pub(super) fn underlying_reason(because: &DecisionReason) -> &DecisionReason {
    match because {
        DecisionReason::NobodyAsked { ask } => underlying_reason(ask),
        because => because,
    }
}

/// The rule or the mode, and where a rule stands.
fn rule(because: &DecisionReason) -> (Option<String>, Option<String>) {
    match underlying_reason(because) {
        DecisionReason::Rule(rule) => {
            (Some(to_safe_text(&rule.text)), Some(to_safe_text(&rule.at.to_string())))
        }
        DecisionReason::Mode { mode } => (Some(mode.word().to_owned()), None),
        _ => (None, None),
    }
}

pub(super) fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// Text of a peer or a file: one line, not long, without what could be a secret.
fn to_safe_text(text: &str) -> String {
    sanitize_text(text).into_owned()
}

/// The same; borrowed where nothing has to be done to it, not even to be JSON.
pub(super) fn sanitize_text(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(clean_text(text)) }
}

/// Whether that is seen at a glance, as it is of nearly all text.
pub(super) fn is_plain(text: &str) -> bool {
    text.len() <= MAX_NAME_CHARS
        && text.bytes().all(|byte| PLAIN_BYTES[usize::from(byte)])
        && !redact::is_token(text)
}

/// Bytes of text that is told as it is. Secrets of a URL stand before an `@` or after a `?`.
const PLAIN_BYTES: [bool; 256] = {
    let (mut plain, mut byte) = ([false; 256], b' ');
    while byte <= b'~' {
        plain[byte as usize] = !matches!(byte, b'"' | b'\\' | b'?' | b'#' | b'@');
        byte += 1;
    }
    plain
};

fn clean_text(text: &str) -> String {
    let line = sanitize::sanitize_line(text);
    let (plain, rest) = line.split_at(line.find(['?', '#']).unwrap_or(line.len()));
    let mut shown = redact::redact_text(plain);
    let too_long = shown.len() > MAX_NAME_CHARS;
    let cut = too_long.then(|| shown.char_indices().nth(MAX_NAME_CHARS)).flatten();
    if let Some((cut, _)) = cut {
        shown.truncate(cut);
        shown.push('…');
    } else if !rest.is_empty() {
        // What stands there is data.
        shown.push_str(&rest[..1]);
        shown.push('…');
    }
    shown
}

/// Over the network a session's id is what its client comes in with; only its hash is written down.
pub(super) fn session_mark(transport: &str, session: &str) -> String {
    match transport {
        "http" | "sse" | "ws" => URL_SAFE_NO_PAD.encode(&Sha256::digest(session)[..9]),
        _ => to_safe_text(session),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn plain_text_has_nothing_to_clean_or_escape(
            text in "(sk-|ghp_|eyJ)?[a-z]{0,3}(://)?[ab:@?#\"\\\\]{0,4}[ -~]{0,4}[a-z0-9_.:/-]{0,300}\\PC{0,2}"
        ) {
            if is_plain(&text) {
                prop_assert_eq!(clean_text(&text), &*text);
                prop_assert_eq!(json!(text).to_string(), format!("\"{text}\""));
            }
        }
    }

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
    fn no_session_can_be_taken_over_from_the_log() {
        assert_eq!(session_mark("socket", "socket-3"), "socket-3");
        let hashed = session_mark("http", "0123456789abcdef");
        assert!(!hashed.contains("0123") && hashed.len() == 12, "{hashed}");
    }
}
