//! What an author's function returns when it cannot do what it was asked to.

use std::fmt;

use serde_json::{Value, json};

/// What a function of a plugin returns.
pub type Result<T> = std::result::Result<T, Failure>;

/// A call that did not do what it was asked to. Any error becomes one with `?`.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The request was understood and cannot be done. A tool's client gets a result that says so, which its model
    /// reads; everybody else gets an error.
    Said(String),
    /// A JSON-RPC error, for requests that make no sense.
    Rpc {
        /// The code; -32602 says that parameters are wrong.
        code: i64,
        /// What is wrong.
        message: String,
        /// More, for programs.
        data: Option<Value>,
    },
    /// Nobody waits any more.
    Cancelled,
}

// === impl Failure ===

impl Failure {
    /// The request was understood and cannot be done.
    pub fn new(text: impl fmt::Display) -> Self {
        Self::Said(text.to_string())
    }

    /// Parameters that make no sense.
    pub fn invalid(text: impl fmt::Display) -> Self {
        Self::Rpc { code: -32602, message: text.to_string(), data: None }
    }

    /// A method that is not there.
    pub fn unknown_method(method: &str) -> Self {
        Self::Rpc { code: -32601, message: format!("Method not found: {method}"), data: None }
    }

    /// The JSON-RPC error it is, where it has to be one.
    pub(crate) fn to_rpc(&self) -> Value {
        match self {
            Self::Said(message) => json!({ "code": -32603, "message": message }),
            Self::Rpc { code, message, data: None } => json!({ "code": code, "message": message }),
            Self::Rpc { code, message, data: Some(data) } => {
                json!({ "code": code, "message": message, "data": data })
            }
            Self::Cancelled => json!({ "code": -32603, "message": "cancelled" }),
        }
    }
}

// As with other types that every error turns into, this is no error itself: the two would be one conversion too many.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        Self::Said(text)
    }
}
