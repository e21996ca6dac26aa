//! JSON-RPC errors for calls that the hub did not answer, with the remedy for the caller in `data.remedy`.
//!
//! Used by `socket::counting_view` while the hub drains and by `attach::journal` when the hub is lost. It does not
//! cover errors of servers (`core::dispatch` does).

use switchboard_wire::{
    envelope::{RpcError, code},
    json::Raw,
};

/// The error for a call that was not made and may be repeated: `-32603`, with `data.remedy` for programs and a message
/// for people.
pub(crate) fn retry_error(message: &str) -> RpcError {
    with_remedy(message, r#"{"remedy":"retry"}"#)
}

/// The error for a call that may or may not have been carried out.
pub(crate) fn unknown_outcome_error(message: &str) -> RpcError {
    with_remedy(message, r#"{"remedy":"unknown"}"#)
}

fn with_remedy(message: &str, data: &'static str) -> RpcError {
    let error = RpcError::new(code::INTERNAL_ERROR, message);
    match Raw::parse(data) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}
