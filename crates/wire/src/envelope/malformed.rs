//! Messages that could not be read, and what to answer.

use bytestring::ByteString;

use super::{Id, RpcError, code};
use crate::json::JsonSyntaxError;

/// A message that could not be read. The connection it came on is unharmed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct MalformedMessage {
    /// What was wrong.
    pub kind: MalformedKind,
    /// The id, where one could be made out.
    pub id: Option<Id>,
    /// What it looked like.
    pub looks: MalformedShape,
    /// The text of an answer that is nested too deeply: what is sound in it may be of use.
    pub(crate) too_deep: Option<ByteString>,
}

/// What a message that could not be read looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalformedShape {
    /// It named a method.
    LikeACall,
    /// It had a result or an error, and no method.
    LikeAnAnswer,
    /// Nothing could be told.
    Unclear,
}

/// Why a message could not be read.
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
        /// The limit it passed.
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
        /// The limit it passed.
        limit: usize,
    },
    /// A member of the envelope stands twice.
    #[error("member `{0}` of the message stands more than once")]
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
