//! Why a call came to nothing, as a client hears it.

use std::error::Error as _;

use serde_json::json;
use switchboard_core::CallError;
use switchboard_core::engine::AttachError;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::{Error as WireError, Remedy};

/// The error for a client. What the server itself answered goes through as it is.
pub(super) fn error(error: &CallError) -> RpcError {
    if let CallError::Server { error: cause, .. } = error
        && let WireError::Rpc(refused) = &**cause
    {
        return refused.clone();
    }
    let code = match error {
        CallError::NotFound { .. }
        | CallError::Arguments { .. }
        | CallError::Request { .. }
        | CallError::Changed { .. } => code::INVALID_PARAMS,
        _ => code::INTERNAL_ERROR,
    };
    let data = json!({ "remedy": word(error.remedy()) });
    let refused = RpcError::new(code, in_words(error));
    match Raw::of(&data) {
        Ok(data) => refused.with_data(data),
        Err(_) => refused,
    }
}

/// A session that the engine does not take.
pub(super) fn not_attached(error: &AttachError) -> RpcError {
    let remedy = json!({ "remedy": word(Remedy::Retry) });
    let refused = RpcError::new(code::INTERNAL_ERROR, error.to_string());
    match Raw::of(&remedy) {
        Ok(data) => refused.with_data(data),
        Err(_) => refused,
    }
}

/// A resource that nobody has, under the code that both eras know how to show.
pub(super) fn no_resource(uri: &str) -> RpcError {
    let error = RpcError::new(code::RESOURCE_NOT_FOUND, format!("no server has {uri}"));
    match Raw::of(&json!({ "uri": uri })) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}

/// An error and everything below it, each once.
fn in_words(error: &CallError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    if let CallError::Denied { allow: Some(rule), .. }
    | CallError::Unanswered { allow: Some(rule), .. } = error
    {
        let advice = format!("; the rule `{rule}` under `permissions.allow` would allow it");
        text.push_str(&advice);
    }
    text
}

fn word(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Retry => "retry",
        Remedy::SignIn => "sign-in",
        Remedy::AskUser => "ask-user",
        Remedy::Reconfigure => "reconfigure",
        Remedy::GiveUp => "give-up",
    }
}
