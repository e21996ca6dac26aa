//! The advice this program gives, for those who ask the hub.

use switchboard_config::command_line;
use switchboard_core::CallError;
use switchboard_core::connection::Error;
use switchboard_core::told::Advice;
use switchboard_wire::Error as WireError;

use crate::hint::{self, Subject};

/// What a person can do, as every command says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints;

impl Advice for Hints {
    fn on_connection(&self, server: &str, error: &Error) -> Option<String> {
        match error {
            Error::Wire(error) => hint::of(error, &Subject::Configured(server)),
            Error::Loop => Some(take_away(server)),
            _ => None,
        }
    }

    fn on_call(&self, error: &CallError) -> Option<String> {
        match error {
            CallError::Server { error, .. } if matches!(**error, WireError::Timeout { .. }) => {
                Some(hint::call_timeout())
            }
            CallError::Server { server, error } => hint::of(error, &Subject::Configured(server)),
            _ => None,
        }
    }
}

/// About a server that is this program itself.
pub(super) fn take_away(server: &str) -> String {
    format!("take it away with `{}`", command_line("remove", [server]))
}
