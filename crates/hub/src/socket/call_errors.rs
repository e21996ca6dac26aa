//! Errors of calls that the hub did not answer, and what their caller can do.

use switchboard_wire::{
    envelope::{RpcError, code},
    json::Raw,
};

/// A call that was not made, so that it may be made again: `-32603`, with `data.remedy` for programs and words for people.
pub(crate) fn retry_error(message: &str) -> RpcError {
    with_remedy(message, "retry")
}

/// A call of which nobody knows whether it was carried out.
pub(crate) fn unknown_outcome_error(message: &str) -> RpcError {
    with_remedy(message, "unknown")
}

fn with_remedy(message: &str, remedy: &str) -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, message)
        .with_data(Raw::object([("remedy", Raw::string(remedy))]))
}
