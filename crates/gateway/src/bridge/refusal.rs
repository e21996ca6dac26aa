//! Conversion of call errors to JSON-RPC errors and tool results.
//!
//! Used by `call`, `view`, `consent` and `tasks`. HTTP refusals of a face are in `face::refusal`.

use std::error::Error as _;

use serde_json::json;
use switchboard_core::CallError;
use switchboard_core::engine::AttachError;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::{Error as WireError, Remedy};

use super::owners::SERVER_KEY;

/// The error for a client. An error that the server sent passes unchanged.
pub(super) fn to_rpc_error(error: &CallError) -> RpcError {
    if let CallError::Server { error: cause, .. } = error
        && let WireError::Rpc(refused) = &**cause
    {
        return refused.clone();
    }
    let code = match error {
        CallError::NotFound { .. }
        | CallError::Gone { .. }
        | CallError::Arguments { .. }
        | CallError::Request { .. }
        | CallError::Changed { .. } => code::INVALID_PARAMS,
        CallError::UnknownMethod { .. } => code::METHOD_NOT_FOUND,
        _ => code::INTERNAL_ERROR,
    };
    let data = json!({ "remedy": remedy_word(error.remedy()) });
    let refused = RpcError::new(code, error_chain(error));
    refused.with_data(Raw::from(data))
}

/// The reply for a failed call. Wrong arguments, and a page that has to be visited first, become a tool result, which
/// the model reads; SDKs do not show protocol errors to it.
pub(super) fn to_reply(error: &CallError) -> Result<Raw, RpcError> {
    match error {
        CallError::Arguments { mistakes, .. } => {
            let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            Ok(invalid_arguments(&mistakes))
        }
        CallError::PageNeeded { .. } => Ok(tool_error(&error.to_string())),
        error => Err(self::to_rpc_error(error)),
    }
}

/// The tool result that lists the mistakes in the arguments.
pub(super) fn invalid_arguments(mistakes: &[String]) -> Raw {
    let mut text = "Invalid arguments, so the tool was not called:".to_owned();
    for mistake in mistakes {
        text.push_str("\n- ");
        text.push_str(mistake);
    }
    text.push_str("\nCorrect them and call the tool again.");
    tool_error(&text)
}

/// A tool result for a failure, with this text.
fn tool_error(text: &str) -> Raw {
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    Raw::from(result)
}

/// The error for a session that the engine refuses.
pub(super) fn not_attached(error: &AttachError) -> RpcError {
    let remedy = json!({ "remedy": remedy_word(Remedy::Retry) });
    RpcError::new(code::INTERNAL_ERROR, error.to_string()).with_data(Raw::from(remedy))
}

/// Why a resource cannot be read or subscribed to.
pub(super) fn of_resource(error: &CallError) -> RpcError {
    match error {
        CallError::NotFound { name, .. } => no_resource(name),
        CallError::UnmentionedResource { uri, servers } => {
            unmentioned_resource(error, uri, servers)
        }
        error => to_rpc_error(error),
    }
}

/// The error for an unknown resource, with the code that both eras display.
fn no_resource(uri: &str) -> RpcError {
    RpcError::new(code::RESOURCE_NOT_FOUND, format!("no server has {uri}"))
        .with_data(Raw::from(json!({ "uri": uri })))
}

/// The error for a resource that no server lists, while several could have it.
fn unmentioned_resource(error: &CallError, uri: &str, servers: &[String]) -> RpcError {
    let text = format!(
        "{error}. Name one of them as `_meta[\"{SERVER_KEY}\"]`, or read it where only that server is shown, at \
         `/mcp/<server>`"
    );
    RpcError::new(code::RESOURCE_NOT_FOUND, text)
        .with_data(Raw::from(json!({ "uri": uri, "servers": servers })))
}

/// The messages of an error and its sources, each once.
pub(super) fn error_chain(error: &CallError) -> String {
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
    if error.remedy() == Remedy::Unknown {
        // `CallError::Lost` includes this part in its own text.
        if !matches!(error, CallError::Lost) {
            text.push_str("; the server may have carried out the call");
        }
        text.push_str(": check before you repeat it");
    }
    if let Some(advice) = error.permission_advice() {
        text.push_str("; ");
        text.push_str(&advice);
    }
    text
}

fn remedy_word(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Retry => "retry",
        Remedy::Unknown => "unknown",
        Remedy::SignIn => "sign-in",
        Remedy::AskUser => "ask-user",
        Remedy::Reconfigure => "reconfigure",
        Remedy::GiveUp => "give-up",
    }
}
