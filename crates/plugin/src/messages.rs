//! What a host and its worker tell each other, besides requests and their answers.
//!
//! Both speak JSON-RPC, one message on each line. Here are the few methods of their own.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use switchboard_wire::json::Raw;

/// A worker is ready: what its plugin is and offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerReady {
    /// Of the interface.
    pub(crate) abi: u32,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Calls may run at the same time.
    pub(crate) thread_safe: bool,
    /// As the second version of the interface describes a plugin.
    pub(crate) described: String,
}

/// A worker that could not get ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerFailed {
    /// What it was doing, in one word.
    pub(crate) stage: String,
    /// What went wrong.
    pub(crate) why: String,
}

/// A notification of the plugin's, wrapped up.
#[derive(Debug, Deserialize)]
pub(crate) struct WrappedNotification<'a> {
    /// Of which call; 0 of none.
    pub(crate) call: u64,
    pub(crate) method: String,
    #[serde(borrow)]
    pub(crate) params: &'a serde_json::value::RawValue,
}

/// The resources that somebody wants to hear of: all of them, whatever was said before.
#[derive(Debug, Deserialize)]
pub(crate) struct WantedResources<'a> {
    #[serde(borrow)]
    pub(crate) uris: Vec<Cow<'a, str>>,
}

pub(crate) mod said {
    pub(crate) const READY: &str = "worker/ready";
    pub(crate) const FAILED: &str = "worker/failed";
    /// Asks for another [`super::WorkerReady`].
    pub(crate) const DESCRIBE: &str = "worker/describe";
    /// Wraps a notification.
    pub(crate) const NOTE: &str = "worker/note";
    /// Wraps a question.
    pub(crate) const ASK: &str = "worker/ask";
    /// Tells of the resources that are [`super::WantedResources`].
    pub(crate) const WANTED: &str = "worker/wanted";
}

// === impl Failed ===

impl WorkerFailed {
    pub(crate) fn new(stage: &str, why: impl Into<String>) -> Self {
        Self { stage: stage.to_owned(), why: why.into() }
    }

    pub(crate) fn to_json(&self) -> Raw {
        Raw::object([("stage", Raw::string(&self.stage)), ("why", Raw::string(&self.why))])
    }
}

/// A notification as a line.
pub(crate) fn said(method: &str, params: &Raw) -> String {
    let note = switchboard_wire::envelope::Notification::new(method, Some(params));
    note.text().to_string()
}
