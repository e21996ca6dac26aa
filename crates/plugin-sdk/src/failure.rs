//! The error type of plugin functions.
//!
//! Used by plugin authors; `item` and `export` turn it into a tool result or a JSON-RPC error.

use std::fmt;

use serde_json::{Value, json};

/// The result of a plugin function.
pub type Result<T> = std::result::Result<T, Failure>;

/// The failure of a call. Any error converts into one with `?`.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The request was understood and cannot be done. For a tool, the client gets an error result that its
    /// model reads; for any other item, a JSON-RPC error.
    Message(String),
    /// A JSON-RPC error, for invalid requests.
    Rpc {
        /// The error code; -32602 stands for invalid parameters.
        code: i64,
        /// The message.
        message: String,
        /// Data for programs.
        data: Option<Value>,
    },
    /// The call was cancelled.
    Cancelled,
}

// === impl Failure ===

impl Failure {
    /// A request that was understood and cannot be done.
    pub fn new(text: impl fmt::Display) -> Self {
        Self::Message(text.to_string())
    }

    /// Invalid parameters.
    pub fn invalid(text: impl fmt::Display) -> Self {
        Self::Rpc { code: -32602, message: text.to_string(), data: None }
    }

    /// An unknown method.
    pub fn unknown_method(method: &str) -> Self {
        Self::Rpc { code: -32601, message: format!("Method not found: {method}"), data: None }
    }

    /// The JSON-RPC error.
    pub(crate) fn to_rpc(&self) -> Value {
        match self {
            Self::Message(message) => json!({ "code": -32603, "message": message }),
            Self::Rpc { code, message, data: None } => json!({ "code": code, "message": message }),
            Self::Rpc { code, message, data: Some(data) } => {
                json!({ "code": code, "message": message, "data": data })
            }
            Self::Cancelled => json!({ "code": -32603, "message": "cancelled" }),
        }
    }
}

// `Failure` is no `std::error::Error` itself: then this conversion would conflict with `From<T> for T`.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        Self::Message(text)
    }
}
