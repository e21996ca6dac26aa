//! Snapshots, calls and errors of the engine as JSON, for another process of one user, and back.
//!
//! Used by the hub's admin interface, which writes them, and by its client (`hub::admin`) and the terminal UI, which
//! read them. The reading process gets the types that an engine of its own would give: [`RemoteSnapshot`] becomes
//! [`crate::WorkspaceSnapshot`], a [`RemoteRequest`] a [`crate::Request`], a [`RemoteCallEvent`] an event of
//! [`crate::RunningCall`], a [`RemoteCallError`] a [`crate::CallError`].
//!
//! The JSON is safe to show and holds no secret. It does not know the transport.

mod answer;
mod call;
mod call_error;
mod server;
mod snapshot;

pub use answer::{RemoteAnswer, RemoteAnswerAction};
pub use call::{RemoteCallEvent, RemoteOutcome, RemoteRequest};
pub use call_error::{RemoteCallError, RemoteErrorKind};
pub use server::{RemoteLatency, RemoteServer, RemoteStats};
pub use snapshot::RemoteSnapshot;

use crate::CallError;
use crate::connection::ConnectionError;

/// Gives advice on errors: the next step for a person.
pub trait ErrorAdvice: Send + Sync {
    /// Advice about a server that is not connected.
    fn on_connection(
        &self,
        server: &str,
        transport: Option<&str>,
        error: &ConnectionError,
    ) -> Option<String>;

    /// Advice about a call that failed.
    fn on_call(&self, error: &CallError) -> Option<String>;
}

/// Gives no advice.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAdvice;

impl ErrorAdvice for NoAdvice {
    fn on_connection(&self, _: &str, _: Option<&str>, _: &ConnectionError) -> Option<String> {
        None
    }

    fn on_call(&self, _: &CallError) -> Option<String> {
        None
    }
}
