//! The three kinds of JSON-RPC message (request, notification, response), each a text with spans.
//!
//! Used by both kinds of session and by every crate that forwards messages. It does not parse
//! (`parse`) and does not decode payloads.

use std::{borrow::Cow, ops::Range};

use bytestring::ByteString;
use serde::Deserialize;

use super::{Id, parse_own_id};
use crate::json::{
    JsonEdit, Raw, Rope, RopeBuilder, SpliceError, TextPatch, added_bytes, decode_string, quote,
    quote_into,
};

/// JSON-RPC error codes with a defined meaning.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is unknown.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are invalid.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Legacy: the resource does not exist.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// Modern: HTTP headers and body disagree.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// Modern: the request needs a capability the client did not declare.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// Modern: the receiver does not support this protocol version.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// 2025-11-25: the user has to visit a URL first.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
}

/// Any JSON-RPC message.
#[derive(Debug, Clone)]
pub enum RpcMessage {
    /// A request, which needs an answer.
    Request(Request),
    /// A notification, which needs none.
    Notification(Notification),
    /// An answer.
    Response(Response),
}

/// A request, received or built.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) text: ByteString,
    pub(super) id: Range<usize>,
    pub(super) call: CallSpans,
}

/// A notification, received or built.
#[derive(Debug, Clone)]
pub struct Notification {
    pub(super) text: ByteString,
    pub(super) call: CallSpans,
}

/// A response, received or built.
#[derive(Debug, Clone)]
pub struct Response {
    pub(super) text: ByteString,
    /// `None` in an error about a request with an unreadable id.
    pub(super) id: Option<Range<usize>>,
    pub(super) payload: Range<usize>,
    pub(super) is_error: bool,
}

/// The spans that requests and notifications share.
#[derive(Debug, Clone)]
pub(super) struct CallSpans {
    /// The method, with its quotes.
    pub(super) method: Range<usize>,
    pub(super) params: Option<Range<usize>>,
    /// The index of the closing brace.
    pub(super) end: usize,
}

/// The payload of a response.
#[derive(Debug, Clone)]
pub enum ResponseOutcome {
    /// The result.
    Result(Raw),
    /// The error.
    Error(RpcError),
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The error code.
    #[serde(default)]
    pub code: i64,
    /// The message for people.
    #[serde(default)]
    pub message: String,
    /// The data for programs.
    #[serde(default)]
    pub data: Option<Raw>,
}

// === impl Request ===

impl Request {
    /// Builds a request.
    pub fn new(id: &Id, method: &str, params: Option<&Raw>) -> Self {
        let mut text = String::with_capacity(64 + params.map_or(0, |raw| raw.as_str().len()));
        text.push_str(r#"{"jsonrpc":"2.0","id":"#);
        let start = text.len();
        text.push_str(id.as_str());
        let id = start..text.len();
        let call = CallSpans::write(&mut text, method, params);
        Self { text: text.into(), id, call }
    }

    /// The id.
    pub fn id(&self) -> Id {
        Id::from_raw(self.slice(&self.id)).unwrap_or_else(|| Id::number(0))
    }

    /// The method's name.
    pub fn method(&self) -> Cow<'_, str> {
        self.call.method(&self.text)
    }

    /// The parameters, if there are any.
    pub fn params(&self) -> Option<Raw> {
        let params = self.call.params.as_ref()?;
        Some(self.slice(params))
    }

    /// The whole message.
    pub fn text(&self) -> &ByteString {
        &self.text
    }

    /// Returns this message under another id, with members of its params changed.
    pub fn rewrite(&self, id: &Id, params: &[JsonEdit<'_>]) -> Result<ByteString, SpliceError> {
        self.rewrite_with_raw_id(id.as_str(), params)
    }

    /// Returns this message under an id that is given as JSON.
    pub(crate) fn rewrite_with_raw_id(
        &self,
        id: &str,
        params: &[JsonEdit<'_>],
    ) -> Result<ByteString, SpliceError> {
        let size = resized_len(&self.text, Some(&self.id), id) + self.call.room(params);
        let mut patch = TextPatch::new(&self.text, size);
        if self.call.params_are_after(self.id.start) {
            patch.replace(self.id.clone(), id);
            self.call.edit_params(params, &mut patch)?;
        } else {
            self.call.edit_params(params, &mut patch)?;
            patch.replace(self.id.clone(), id);
        }
        Ok(patch.finish().map_or_else(|| self.text.clone(), ByteString::from))
    }

    fn slice(&self, span: &Range<usize>) -> Raw {
        Raw::from_trusted(self.text.slice_ref(&self.text[span.clone()]))
    }
}

// === impl Notification ===

impl Notification {
    /// Builds a notification.
    pub fn new(method: &str, params: Option<&Raw>) -> Self {
        let mut text = String::from(r#"{"jsonrpc":"2.0""#);
        let call = CallSpans::write(&mut text, method, params);
        Self { text: text.into(), call }
    }

    /// The method's name.
    pub fn method(&self) -> Cow<'_, str> {
        self.call.method(&self.text)
    }

    /// The parameters, if there are any.
    pub fn params(&self) -> Option<Raw> {
        let span = self.call.params.clone()?;
        Some(Raw::from_trusted(self.text.slice_ref(&self.text[span])))
    }

    /// The whole message.
    pub fn text(&self) -> &ByteString {
        &self.text
    }

    /// Returns this message with members of its params changed.
    pub fn rewrite(&self, params: &[JsonEdit<'_>]) -> Result<ByteString, SpliceError> {
        let mut patch = TextPatch::new(&self.text, self.text.len() + self.call.room(params));
        self.call.edit_params(params, &mut patch)?;
        Ok(patch.finish().map_or_else(|| self.text.clone(), ByteString::from))
    }
}

// === impl CallSpans ===

impl CallSpans {
    /// Writes `,"method":…,"params":…}`.
    fn write(text: &mut String, method: &str, params: Option<&Raw>) -> Self {
        text.push_str(r#","method":"#);
        let start = text.len();
        quote_into(text, method);
        let method = start..text.len();
        let params = params.map(|raw| {
            text.push_str(r#","params":"#);
            let start = text.len();
            text.push_str(raw.as_str());
            start..text.len()
        });
        let end = text.len();
        text.push('}');
        Self { method, params, end }
    }

    fn method<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let quoted = &text[self.method.clone()];
        // Half a surrogate pair has no text; a method with one is unknown in any case.
        decode_string(quoted).unwrap_or(Cow::Borrowed(quoted))
    }

    /// Whether the params come after `place`. Missing params are added at the end.
    fn params_are_after(&self, place: usize) -> bool {
        self.params.as_ref().is_none_or(|span| place < span.start)
    }

    fn room(&self, edits: &[JsonEdit<'_>]) -> usize {
        match (edits, &self.params) {
            ([], _) => 0,
            (_, Some(_)) => added_bytes(edits),
            (_, None) => added_bytes(edits) + PARAMS_PREFIX.len() + 2,
        }
    }

    fn edit_params(
        &self,
        edits: &[JsonEdit<'_>],
        patch: &mut TextPatch<'_>,
    ) -> Result<(), SpliceError> {
        match (edits, &self.params) {
            ([], _) => {}
            (_, Some(span)) => patch.object(span.clone(), "params", edits)?,
            (_, None) => patch.insert_object(self.end, PARAMS_PREFIX, edits),
        }
        Ok(())
    }
}

/// The text before params that are added.
const PARAMS_PREFIX: &str = r#","params":"#;

/// The length of `text` with `id` in place of `span`. It is exact, since a buffer larger than its
/// text costs another allocation when it is shared.
fn resized_len(text: &str, span: Option<&Range<usize>>, id: &str) -> usize {
    text.len() + span.map_or(0, |_| id.len()) - span.map_or(0, Range::len)
}

/// The text of a response before its id.
const RESPONSE_PREFIX: &str = r#"{"jsonrpc":"2.0","id":"#;
/// The text of a response between id and result.
const RESULT_PREFIX: &str = r#","result":"#;

// === impl Response ===

impl Response {
    /// Builds a response with a result.
    pub fn result(id: &Id, result: &Raw) -> Self {
        Self::write(id.as_str(), RESULT_PREFIX, (result.as_str(), &[]), false)
    }

    /// Builds a response with a result in pieces.
    pub(crate) fn result_from_rope(id: &Id, result: &Rope) -> Self {
        Self::write(id.as_str(), RESULT_PREFIX, result.first_and_rest(), false)
    }

    /// The text of a response with a result in pieces; large pieces stay shared.
    pub(crate) fn result_rope(id: &Id, result: &Rope) -> Rope {
        let (id, around) = (id.as_str(), RESPONSE_PREFIX.len() + RESULT_PREFIX.len() + 1);
        let mut text = RopeBuilder::with_capacity(around + id.len() + result.unshared());
        for part in [RESPONSE_PREFIX, id, RESULT_PREFIX] {
            text.write(part);
        }
        result.pieces().for_each(|piece| text.share(piece, piece));
        text.write("}");
        text.finish()
    }

    /// Builds an error response; without an id, it is about a message with an unreadable id.
    pub fn error(id: Option<&Id>, error: &RpcError) -> Self {
        let id = id.map_or("null", Id::as_str);
        Self::write(id, r#","error":"#, (error.to_raw().as_str(), &[]), true)
    }

    /// Writes a response from the pieces of its payload.
    fn write(id: &str, member: &str, (first, rest): (&str, &[ByteString]), is_error: bool) -> Self {
        let start = RESPONSE_PREFIX.len() + id.len() + member.len();
        let length = first.len() + rest.iter().map(|piece| piece.len()).sum::<usize>();
        let mut text = String::with_capacity(start + length + 1);
        for part in [RESPONSE_PREFIX, id, member, first] {
            text.push_str(part);
        }
        for piece in rest {
            text.push_str(piece);
        }
        text.push('}');
        let id = (id != "null").then(|| RESPONSE_PREFIX.len()..RESPONSE_PREFIX.len() + id.len());
        let payload = start..start + length;
        Self { text: text.into(), id, payload, is_error }
    }

    /// The id of the answered request; `None` if the sender could not read that id.
    pub fn id(&self) -> Option<Id> {
        Id::from_raw(self.slice(self.id.as_ref()?))
    }

    /// The id as a number, if it is one of our own.
    pub(crate) fn id_number(&self) -> Option<u64> {
        parse_own_id(&self.text[self.id.clone()?])
    }

    /// The result or error.
    pub fn outcome(&self) -> ResponseOutcome {
        let payload = self.slice(&self.payload);
        if !self.is_error {
            return ResponseOutcome::Result(payload);
        }
        ResponseOutcome::Error(RpcError::from_raw(&payload))
    }

    /// The whole message.
    pub fn text(&self) -> &ByteString {
        &self.text
    }

    /// Returns this message under another id, with members of its result changed. An error is not
    /// edited.
    pub fn rewrite(&self, id: &Id, result: &[JsonEdit<'_>]) -> Result<ByteString, SpliceError> {
        let edits = if self.is_error { &[] } else { result };
        let size = resized_len(&self.text, self.id.as_ref(), id.as_str()) + added_bytes(edits);
        let mut patch = TextPatch::new(&self.text, size);
        let (before, after) = match &self.id {
            Some(span) if span.start < self.payload.start => (Some(span), None),
            span => (None, span.as_ref()),
        };
        let put_id = |patch: &mut TextPatch<'_>, span: Option<&Range<usize>>| {
            if let Some(span) = span {
                patch.replace(span.clone(), id.as_str());
            }
        };
        put_id(&mut patch, before);
        if !edits.is_empty() {
            patch.object(self.payload.clone(), "result", edits)?;
        }
        put_id(&mut patch, after);
        Ok(patch.finish().map_or_else(|| self.text.clone(), ByteString::from))
    }

    fn slice(&self, span: &Range<usize>) -> Raw {
        Raw::from_trusted(self.text.slice_ref(&self.text[span.clone()]))
    }
}

// === impl RpcError ===

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: Raw) -> Self {
        self.data = Some(data);
        self
    }

    /// Reads an error object. If members have wrong types, the others are still read.
    pub fn from_raw(raw: &Raw) -> Self {
        raw.decode().unwrap_or_else(|_| {
            let member = |key| raw.get(key).ok().flatten();
            Self {
                code: member("code").and_then(|code| code.decode().ok()).unwrap_or_default(),
                message: member("message").map(|text| text.to_string()).unwrap_or_default(),
                data: member("data"),
            }
        })
    }

    /// The error as JSON.
    pub fn to_raw(&self) -> Raw {
        let data = self.data.as_ref().map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
        let message = quote(&self.message);
        Raw::from_trusted(format!(r#"{{"code":{},"message":{message}{data}}}"#, self.code).into())
    }
}
