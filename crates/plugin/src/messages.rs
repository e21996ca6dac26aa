//! The messages between host and worker besides requests and answers.
//!
//! Used by `launch`, `worker_process` and `worker`. Both sides speak JSON-RPC, one message on each line; this
//! module holds their own few methods.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use switchboard_wire::json::Raw;

/// The message of a worker that is ready: its plugin, and the items that it offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerReady {
    /// The version of the plugin interface.
    pub(crate) abi: u32,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Calls may run concurrently.
    pub(crate) thread_safe: bool,
    /// The description as JSON, in the form of interface version 2.
    pub(crate) described: String,
}

/// The message of a worker that could not get ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerFailed {
    /// The worker's stage, in one word.
    pub(crate) stage: String,
    /// The cause.
    pub(crate) why: String,
}

/// A wrapped notification of the plugin.
#[derive(Debug, Deserialize)]
pub(crate) struct WrappedNotification<'a> {
    /// The id of its call; 0 for none.
    pub(crate) call: u64,
    pub(crate) method: String,
    #[serde(borrow)]
    pub(crate) params: &'a serde_json::value::RawValue,
}

/// All resources that clients are subscribed to; replaces the previous list.
#[derive(Debug, Deserialize)]
pub(crate) struct SubscribedResources<'a> {
    #[serde(borrow)]
    pub(crate) uris: Vec<Cow<'a, str>>,
}

pub(crate) mod worker_method {
    pub(crate) const READY: &str = "worker/ready";
    pub(crate) const FAILED: &str = "worker/failed";
    /// Requests another [`super::WorkerReady`].
    pub(crate) const DESCRIBE: &str = "worker/describe";
    /// Wraps a notification.
    pub(crate) const NOTE: &str = "worker/note";
    /// Wraps a question.
    pub(crate) const ASK: &str = "worker/ask";
    /// Carries [`super::SubscribedResources`].
    pub(crate) const SUBSCRIBED: &str = "worker/wanted";
}

// === impl WorkerFailed ===

impl WorkerFailed {
    pub(crate) fn new(stage: &str, why: impl Into<String>) -> Self {
        Self { stage: stage.to_owned(), why: why.into() }
    }

    pub(crate) fn to_json(&self) -> Raw {
        Raw::object([("stage", Raw::string(&self.stage)), ("why", Raw::string(&self.why))])
    }
}

/// Formats a notification as a line.
pub(crate) fn format_notification(method: &str, params: &Raw) -> String {
    let note = switchboard_wire::envelope::Notification::new(method, Some(params));
    note.text().to_string()
}
