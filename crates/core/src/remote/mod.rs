//! What the engine shows and does, as JSON between two processes of one user, and back.
//!
//! A process that holds an engine tells; another one reads what it was told into the same types it would have had from an
//! engine of its own: [`RemoteSnapshot`] becomes [`crate::WorkspaceSnapshot`], a [`RemoteRequest`] a [`crate::Request`], an [`RemoteCallEvent`] what
//! [`crate::RunningCall`] says, a [`RemoteCallError`] a [`crate::CallError`].
//!
//! What is told is safe to show, and holds no secret. This module refuses to know how it travels.

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

/// Says what a person can do about what went wrong.
pub trait ErrorAdvice: Send + Sync {
    /// About a server that is not connected.
    fn on_connection(
        &self,
        server: &str,
        transport: Option<&str>,
        error: &ConnectionError,
    ) -> Option<String>;

    /// About a call that came to nothing.
    fn on_call(&self, error: &CallError) -> Option<String>;
}

/// Nothing to say.
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
