//! Messages that could not be parsed, and the JSON-RPC errors to answer them with.
//!
//! Used by `parse`, `salvage` and both kinds of session. The connection continues after a malformed
//! message.

use bytestring::ByteString;

use super::{Id, RpcError, code};
use crate::json::JsonSyntaxError;

/// A message that could not be parsed. Its connection continues.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct MalformedMessage {
    /// The fault.
    pub kind: MalformedKind,
    /// The id, if it could be read.
    pub id: Option<Id>,
    /// The apparent kind of message.
    pub looks: MalformedShape,
    /// The text of an answer that is nested too deeply: `client::deep_items` can use the rest.
    pub(crate) too_deep: Option<ByteString>,
}

/// The apparent kind of a malformed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalformedShape {
    /// It has a method.
    LikeACall,
    /// It has a result or an error, and no method.
    LikeAnAnswer,
    /// Neither could be read.
    Unclear,
}

/// Why a message could not be parsed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MalformedKind {
    /// Not JSON.
    #[error("the message is not JSON: {0}")]
    Syntax(#[from] JsonSyntaxError),
    /// Not UTF-8.
    #[error("the message is not UTF-8")]
    NotUtf8,
    /// Larger than the limit.
    #[error("the message is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// JSON, but no object (or, inside a batch, no message).
    #[error("the message is not a JSON-RPC object")]
    NotAnObject,
    /// An empty batch.
    #[error("the batch is empty")]
    EmptyBatch,
    /// A batch of too many messages.
    #[error("the batch holds more than {limit} messages; send fewer at once")]
    LongBatch {
        /// The limit in messages.
        limit: usize,
    },
    /// A member of the envelope occurs twice.
    #[error("member `{0}` of the message occurs more than once")]
    Duplicate(&'static str),
    /// `jsonrpc` is missing or not `"2.0"`.
    #[error("the message does not say `\"jsonrpc\": \"2.0\"`")]
    Version,
    /// The id is neither string nor number.
    #[error("the id is neither a string nor a number")]
    BadId,
    /// `method` is no string.
    #[error("`method` is not a string")]
    BadMethod,
    /// `params` is neither object nor array.
    #[error("`params` is neither an object nor an array")]
    BadParams,
    /// `error` is no object.
    #[error("`error` is not an object")]
    BadError,
    /// Both a result and an error, or a method beside either.
    #[error("the message is a request, a result and an error at once")]
    Conflicting,
    /// No method, no result, no error.
    #[error("the message has no method, result or error")]
    Nothing,
}

// === impl MalformedMessage ===

impl MalformedMessage {
    /// The JSON-RPC error to answer with.
    pub fn to_rpc_error(&self) -> RpcError {
        let code = match self.kind {
            MalformedKind::Syntax(_) | MalformedKind::NotUtf8 => code::PARSE_ERROR,
            MalformedKind::BadParams => code::INVALID_PARAMS,
            _ => code::INVALID_REQUEST,
        };
        RpcError::new(code, self.to_string())
    }
}
