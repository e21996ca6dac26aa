//! The error of a call that may be made again.

use switchboard_wire::{
    envelope::{RpcError, code},
    json::Raw,
};

/// `-32603`, with `data.remedy` for programs and words for people.
pub(crate) fn try_again(message: &str) -> RpcError {
    let error = RpcError::new(code::INTERNAL_ERROR, message);
    match Raw::parse(r#"{"remedy":"retry"}"#) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}
