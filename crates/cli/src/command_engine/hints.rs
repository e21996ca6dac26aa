//! The advice of this program about errors of connections, calls and the hub, for commands and for clients of the
//! hub.
//!
//! Used by `command_engine`, and given to the hub by `commands::hub` and `commands::serve`. It does not print
//! anything; the sentences about failures of a command are in `command_engine::failures`.

use switchboard_config::command_line;
use switchboard_core::CallError;
use switchboard_core::connection::{ConnectionError, ConnectionNotReady};
use switchboard_core::remote::ErrorAdvice;
use switchboard_hub::{ErrorExplanation, HubAdvice, HubError};

use crate::hint::{self, Reach, Subject};
use crate::report::Failure;

/// The program's advice about errors, in the words that every command uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints;

impl ErrorAdvice for Hints {
    fn on_connection(
        &self,
        server: &str,
        transport: Option<&str>,
        error: &ConnectionError,
    ) -> Option<String> {
        let subject = Subject::Configured(server, Reach::of_transport(transport));
        match error {
            // The server was not asked, so it is not the server that is down.
            ConnectionError::Wire(error) if error.lacks_credentials() => {
                Some(hint::examine_sign_in(server))
            }
            ConnectionError::Wire(error) => hint::for_error(error, &subject),
            ConnectionError::Loop => Some(take_away(server)),
            _ => None,
        }
    }

    fn on_call(&self, error: &CallError) -> Option<String> {
        match error {
            CallError::Server { server, error, .. } => match hint::of_slow_call(error) {
                Some(advice) => Some(advice.to_owned()),
                None => hint::for_error(error, &Subject::Configured(server, Reach::Url)),
            },
            CallError::NotConnected { server, error } => match &**error {
                ConnectionNotReady::Failed(failed) => {
                    self.on_connection(server, None, &failed.error)
                }
                ConnectionNotReady::NeedsAuth(_) => Some(hint::sign_in(server)),
                _ => None,
            },
            error => hint::of_call(error),
        }
    }
}

impl HubAdvice for Hints {
    fn explain(&self, error: &HubError) -> ErrorExplanation {
        Failure::hub(error).into()
    }

    fn explain_change(&self, doing: &str, error: &switchboard_config::Error) -> ErrorExplanation {
        Failure::config(doing, error).into()
    }
}

/// About a server that is this program itself.
pub(super) fn take_away(server: &str) -> String {
    format!("take it away with `{}`", command_line("remove", [server]))
}
