//! The parser for JSON-RPC messages and batches: one pass over the text.
//!
//! Used by links, HTTP channels, the faces and the hub's attach protocol. It does not read the id of a message that
//! is too large (`salvage`).

use std::ops::Range;

use bytestring::ByteString;

use super::{
    EnvelopeSalvager, Id, MalformedKind, MalformedMessage, MalformedShape, Notification, Request,
    Response, RpcMessage, message::CallSpans,
};
use crate::json::{
    JsonElements, JsonSyntaxError, JsonSyntaxErrorKind, ScannedKey, Scanner, decode_string,
};

/// The most messages in a batch. Each is answered, so without a limit a batch of few bytes could ask for any amount
/// of work.
pub const MAX_BATCH_MESSAGES: usize = 256;

/// The content of a text.
#[derive(Debug, Clone)]
pub enum MessageOrBatch {
    /// One message.
    One(RpcMessage),
    /// A batch, as 2025-03-26 allows. Each message is valid or malformed on its own.
    Batch(Vec<Result<RpcMessage, MalformedMessage>>),
}

/// The spans of the members of an envelope.
#[derive(Default)]
struct EnvelopeSpans {
    jsonrpc: Option<Range<usize>>,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    end: usize,
}

/// Parses one text. A byte-order mark in front is dropped; otherwise the text must be strict JSON.
pub fn parse(text: ByteString) -> Result<MessageOrBatch, MalformedMessage> {
    let text = strip_bom(text);
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'[') => parse_batch(&text).map(MessageOrBatch::Batch),
        _ => parse_one(text).map(MessageOrBatch::One),
    }
}

fn strip_bom(text: ByteString) -> ByteString {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => text.slice_ref(rest),
        None => text,
    }
}

fn parse_batch(
    text: &ByteString,
) -> Result<Vec<Result<RpcMessage, MalformedMessage>>, MalformedMessage> {
    let whole = Scanner::new(text).only_value().map_err(|syntax| MalformedMessage {
        kind: syntax.into(),
        id: None,
        looks: MalformedShape::Unclear,
        too_deep: None,
    })?;
    let no_batch =
        |kind| MalformedMessage { kind, id: None, looks: MalformedShape::Unclear, too_deep: None };
    let elements = JsonElements::of(&text[whole]);
    let mut messages = Vec::new();
    for element in elements {
        if messages.len() == MAX_BATCH_MESSAGES {
            return Err(no_batch(MalformedKind::LongBatch { limit: MAX_BATCH_MESSAGES }));
        }
        messages.push(parse_one(text.slice_ref(element)));
    }
    if messages.is_empty() {
        return Err(no_batch(MalformedKind::EmptyBatch));
    }
    Ok(messages)
}

fn parse_one(text: ByteString) -> Result<RpcMessage, MalformedMessage> {
    let mut spans = EnvelopeSpans::default();
    let judged = match spans.read(&text) {
        Ok(None) => spans.judge(&text),
        Ok(Some(kind)) => Err(kind),
        Err(syntax) => Err(syntax.into()),
    };
    match judged {
        Ok(EnvelopeKind::Request(id, call)) => Ok(RpcMessage::Request(Request { text, id, call })),
        Ok(EnvelopeKind::Notification(call)) => {
            Ok(RpcMessage::Notification(Notification { text, call }))
        }
        Ok(EnvelopeKind::Response(id, payload, is_error)) => {
            Ok(RpcMessage::Response(Response { text, id, payload, is_error }))
        }
        Err(kind) => Err(malformed(kind, &text)),
    }
}

fn malformed(kind: MalformedKind, text: &ByteString) -> MalformedMessage {
    let mut salvager = EnvelopeSalvager::default();
    salvager.feed(text.as_bytes());
    let is_too_deep = matches!(&kind, MalformedKind::Syntax(syntax) if syntax.kind == JsonSyntaxErrorKind::TooDeep);
    let malformed = salvager.finish().into_malformed(kind);
    let keeps_text = is_too_deep && malformed.looks == MalformedShape::LikeAnAnswer;
    MalformedMessage { too_deep: keeps_text.then(|| text.clone()), ..malformed }
}

enum EnvelopeKind {
    Request(Range<usize>, CallSpans),
    Notification(CallSpans),
    Response(Option<Range<usize>>, Range<usize>, bool),
}

// === impl EnvelopeSpans ===

impl EnvelopeSpans {
    /// Finds the members. `Err` is a JSON syntax error; `Some` says why valid JSON is no envelope.
    fn read(&mut self, text: &str) -> Result<Option<MalformedKind>, JsonSyntaxError> {
        let mut scanner = Scanner::new(text);
        scanner.space();
        if scanner.peek() != Some(b'{') {
            Scanner::new(text).only_value()?;
            return Ok(Some(MalformedKind::NotAnObject));
        }
        let mut duplicate = None;
        scanner.object(|scanner, key| {
            let start = scanner.at();
            scanner.value(1)?;
            let value = start..scanner.at();
            duplicate = duplicate.or(self.put(text, &key, value));
            Ok(())
        })?;
        self.end = scanner.at() - 1;
        scanner.finish()?;
        Ok(duplicate.map(MalformedKind::Duplicate))
    }

    /// Stores a member. Returns its name if it was there before. A key with escapes is decoded and compared, too.
    #[inline]
    fn put(&mut self, text: &str, key: &ScannedKey, value: Range<usize>) -> Option<&'static str> {
        let Range { start, end } = key.span;
        if key.escaped {
            return self.put_named(decode_string(&text[start..end])?.as_bytes(), value);
        }
        self.put_named(text.as_bytes().get(start + 1..end - 1)?, value)
    }

    #[inline]
    fn put_named(&mut self, key: &[u8], value: Range<usize>) -> Option<&'static str> {
        let (name, slot) = match key {
            b"jsonrpc" => ("jsonrpc", &mut self.jsonrpc),
            b"id" => ("id", &mut self.id),
            b"method" => ("method", &mut self.method),
            b"params" => ("params", &mut self.params),
            b"result" => ("result", &mut self.result),
            b"error" => ("error", &mut self.error),
            _ => return None,
        };
        slot.replace(value).map(|_| name)
    }

    /// Determines the kind of message from its members.
    fn judge(&self, text: &str) -> Result<EnvelopeKind, MalformedKind> {
        let said = self.jsonrpc.as_ref().map(|span| &text[span.clone()]);
        if !said.is_some_and(is_version_two) {
            return Err(MalformedKind::Version);
        }
        match (&self.method, &self.result, &self.error) {
            (Some(_), None, None) => self.judge_call(text),
            (None, Some(payload), None) => {
                let id = self.id.clone().ok_or(MalformedKind::BadId)?;
                check_id(&text[id.clone()])?;
                Ok(EnvelopeKind::Response(Some(id), payload.clone(), false))
            }
            (None, None, Some(payload)) => self.judge_error(text, payload.clone()),
            (None, None, None) => Err(MalformedKind::Nothing),
            _ => Err(MalformedKind::Conflicting),
        }
    }

    fn judge_call(&self, text: &str) -> Result<EnvelopeKind, MalformedKind> {
        let method = self.method.clone().ok_or(MalformedKind::Nothing)?;
        if !text[method.clone()].starts_with('"') {
            return Err(MalformedKind::BadMethod);
        }
        if let Some(span) = &self.params
            && !text[span.clone()].starts_with(['{', '['])
            && &text[span.clone()] != "null"
        {
            return Err(MalformedKind::BadParams);
        }
        let call = CallSpans { method, params: self.params.clone(), end: self.end };
        match self.id.clone() {
            None => Ok(EnvelopeKind::Notification(call)),
            Some(id) => {
                check_id(&text[id.clone()])?;
                Ok(EnvelopeKind::Request(id, call))
            }
        }
    }

    /// Accepts an error with a null id or none: its sender could not read our id.
    fn judge_error(
        &self,
        text: &str,
        payload: Range<usize>,
    ) -> Result<EnvelopeKind, MalformedKind> {
        if !text[payload.clone()].starts_with('{') {
            return Err(MalformedKind::BadError);
        }
        let id = self.id.clone().filter(|span| &text[span.clone()] != "null");
        if let Some(span) = &id {
            check_id(&text[span.clone()])?;
        }
        Ok(EnvelopeKind::Response(id, payload, true))
    }
}

fn is_version_two(quoted: &str) -> bool {
    quoted == r#""2.0""# || decode_string(quoted).is_some_and(|said| said == "2.0")
}

fn check_id(text: &str) -> Result<(), MalformedKind> {
    match text.as_bytes().first() {
        Some(b'"' | b'-' | b'0'..=b'9') => Ok(()),
        _ => Err(MalformedKind::BadId),
    }
}

impl RpcMessage {
    /// The id of the message, if it has one.
    pub fn id(&self) -> Option<Id> {
        match self {
            Self::Request(request) => Some(request.id()),
            Self::Notification(_) => None,
            Self::Response(response) => response.id(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::ResponseOutcome;

    /// The outline of one member must not be used for another.
    #[test]
    fn what_is_known_of_one_member_is_not_believed_of_another() {
        let other = r#""params":{"a":1,"text":"longer than the result","b":2}"#;
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":7}},{other}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,{other},"result":{{"a":7}}}}"#),
        ] {
            let Ok(MessageOrBatch::One(RpcMessage::Response(response))) = parse(text.into()) else {
                panic!("no response");
            };
            let ResponseOutcome::Result(result) = response.outcome() else { panic!("no result") };
            assert_eq!(result.get("a").unwrap().unwrap().as_str(), "7");
            assert_eq!(result.get("text").unwrap(), None);
        }
    }
}
