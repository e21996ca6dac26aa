//! Writes a call's audit line as bytes, without `serde`.
//!
//! Used by the writer thread in `audit::log`, once for every call. It caches the text of each caller and copies
//! plain text unchanged. [`AuditCallLine`](super::AuditCallLine) defines the members of a line; a test compares the
//! two.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use serde_json::Value;
use switchboard_config::{SourceLocation, SourceOrigin};

use super::{CallDecision, CallEnd, CallRecord, CallerIdentity, line};
use crate::logs::timestamp_bytes;
use crate::permission::DecisionReason;

/// How many callers are cached.
const KNOWN: usize = 1024;
/// The longest path that fits into a line whole, with line and column.
const SHORT: usize = line::MAX_NAME_CHARS - ":4294967295:4294967295".len();

/// Writes audit lines.
#[derive(Default)]
pub(super) struct Pen {
    known: CachedCallers,
}

/// The JSON text of recent callers, by the address of their identity.
#[derive(Default)]
struct CachedCallers(HashMap<*const CallerIdentity, Met, BuildHasherDefault<Address>>);

struct Met {
    /// Keeps the identity alive, so that no other identity gets its address.
    _who: Arc<CallerIdentity>,
    /// The caller's members as JSON.
    text: Box<[u8]>,
}

/// A hasher for addresses. It is not DoS-resistant: no peer chooses addresses.
#[derive(Default)]
struct Address(u64);

// === impl Pen ===

impl Pen {
    /// Appends the line of a call to `page`.
    pub(super) fn write(&mut self, page: &mut Vec<u8>, called: &CallRecord) {
        page.extend_from_slice(br#"{"time":""#);
        page.extend_from_slice(&timestamp_bytes(called.at));
        page.push(b'"');
        page.extend_from_slice(self.known.whom(&called.who));
        text_if_any(page, r#","server":""#, &called.server);
        text(page, r#","method":""#, &called.method);
        text_if_any(page, r#","name":""#, &called.name);
        if let Some(decision) = &called.decision {
            decided(page, decision);
        }
        word(page, r#","outcome":""#, called.ended.word());
        if let CallEnd::Failed(kind) = called.ended {
            word(page, r#","error":""#, kind);
        }
        number(page, r#","micros":"#, line::micros(called.took));
        number(page, r#","sent":"#, called.sent as u64);
        number(page, r#","received":"#, called.received as u64);
        page.extend_from_slice(b"}\n");
    }
}

// === impl CachedCallers ===

impl CachedCallers {
    fn whom(&mut self, who: &Arc<CallerIdentity>) -> &[u8] {
        if self.0.len() >= KNOWN {
            self.0.clear();
        }
        let known = self.0.entry(Arc::as_ptr(who));
        &known.or_insert_with(|| Met { _who: Arc::clone(who), text: whom(who) }).text
    }
}

// === impl Address ===

impl Hasher for Address {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, address: usize) {
        // The low bits of addresses are alike; multiplying by 2⁶⁴ over the golden ratio spreads them.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Writes the members of a caller as JSON.
fn whom(who: &CallerIdentity) -> Box<[u8]> {
    let mut page = Vec::new();
    text(&mut page, r#","principal":""#, &who.principal);
    text_if_any(&mut page, r#","client":""#, &who.client);
    if !who.transport.is_empty() {
        word(&mut page, r#","transport":""#, who.transport);
    }
    told(&mut page, r#","session":""#, Cow::Owned(who.session_mark()));
    text(&mut page, r#","workspace":""#, &who.workspace.to_string_lossy());
    page.into()
}

fn decided(page: &mut Vec<u8>, decision: &CallDecision) {
    word(page, r#","decision":""#, decision.word());
    word(page, r#","by":""#, line::reason_word(decision.because()));
    match line::underlying_reason(decision.because()) {
        DecisionReason::Rule(rule) => {
            text(page, r#","rule":""#, &rule.text);
            place(page, &rule.at);
        }
        DecisionReason::Mode { mode } => word(page, r#","rule":""#, mode.word()),
        _ => {}
    }
}

/// Writes the location of a rule, as [`SourceLocation`] displays itself.
fn place(page: &mut Vec<u8>, at: &SourceLocation) {
    let origin = match &at.origin {
        SourceOrigin::File(path) => path.to_str(),
        SourceOrigin::Text(label) => Some(&**label),
    };
    match origin {
        Some(origin) if origin.len() <= SHORT && line::is_plain(origin) => {
            page.extend_from_slice(br#","at":""#);
            page.extend_from_slice(origin.as_bytes());
            number(page, ":", at.line.into());
            number(page, ":", at.column.into());
            page.push(b'"');
        }
        _ => text(page, r#","at":""#, &at.to_string()),
    }
}

/// Writes a member with text of a peer or a file, redacted.
fn text(page: &mut Vec<u8>, member: &str, text: &str) {
    told(page, member, line::sanitize_text(text));
}

/// Like [`text`], but leaves the member out where the redacted text is empty.
fn text_if_any(page: &mut Vec<u8>, member: &str, text: &str) {
    let text = line::sanitize_text(text);
    if !text.is_empty() {
        told(page, member, text);
    }
}

fn told(page: &mut Vec<u8>, member: &str, text: Cow<'_, str>) {
    match text {
        Cow::Borrowed(plain) => word(page, member, plain),
        Cow::Owned(shown) => {
            page.extend_from_slice(member.as_bytes());
            let quoted = Value::from(shown).to_string();
            page.extend_from_slice(&quoted.as_bytes()[1..]);
        }
    }
}

/// Writes a member with text that needs no escapes. `member` ends with the opening quote.
fn word(page: &mut Vec<u8>, member: &str, word: &str) {
    page.extend_from_slice(member.as_bytes());
    page.extend_from_slice(word.as_bytes());
    page.push(b'"');
}

fn number(page: &mut Vec<u8>, member: &str, number: u64) {
    page.extend_from_slice(member.as_bytes());
    page.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}
