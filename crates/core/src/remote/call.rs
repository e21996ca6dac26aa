//! One call, told: what is asked, what happens, how it ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_wire::client::TaskHandling;
use switchboard_wire::envelope::Notification;
use switchboard_wire::json::Raw;

use crate::dispatch::{self, CallEvent};
use crate::permission::DecisionReason;
use crate::problem::EngineProblem;
use crate::results::LimitedResult;
use crate::{CallOutcome as Ended, Request};

/// A [`Request`], told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteRequest {
    /// The method, such as `tools/call`.
    pub method: String,
    /// Its parameters, with full names.
    #[serde(default = "Raw::empty_object")]
    pub params: Raw,
    /// The server that is meant, and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether to tell of progress.
    #[serde(default)]
    pub progress: bool,
    /// How long to wait without an answer or progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_millis: Option<u64>,
    /// The least of the log messages to tell of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

/// What happens to a call, but for questions.
#[derive(Debug, Clone)]
pub enum RemoteCallEvent {
    /// As [`CallEvent::Progress`].
    Progress(Raw),
    /// As [`CallEvent::Log`].
    Log(Raw),
    /// As [`CallEvent::Notification`].
    Notification(Raw),
    /// As [`CallEvent::Task`].
    Task(Raw),
}

/// An [`crate::CallOutcome`] as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoteOutcome {
    /// The result, kept to its limits.
    pub result: Raw,
    /// The server that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What decided that the call may happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionReason>,
    /// What hooks want known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// What was put in the place of what is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What went wrong with the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<EngineProblem>,
}

// === impl RemoteRequest ===

impl RemoteRequest {
    /// The request that was told.
    pub fn into_request(self) -> Request {
        let mut request = Request::forward(self.method, Some(self.params));
        if let Some(server) = self.server {
            request = request.of_server(server);
        }
        if self.progress {
            request = request.with_progress();
        }
        if let Some(millis) = self.timeout_millis {
            request = request.with_timeout(Duration::from_millis(millis));
        }
        if let Some(level) = self.log_level {
            request = request.with_log_level(level);
        }
        request.with_tasks(TaskHandling::Follow)
    }
}

// === impl RemoteCallEvent ===

impl RemoteCallEvent {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Progress(_) => "progress",
            Self::Log(_) => "log",
            Self::Notification(_) => "notification",
            Self::Task(_) => "task",
        }
    }

    /// What comes with it.
    pub fn data(&self) -> &Raw {
        match self {
            Self::Progress(data)
            | Self::Log(data)
            | Self::Notification(data)
            | Self::Task(data) => data,
        }
    }

    /// A notification, as an object of its method and parameters.
    pub fn from_notification(notification: &Notification) -> Self {
        let params = notification.params().unwrap_or_else(Raw::empty_object);
        let method = switchboard_wire::json::quote(&notification.method());
        let text = format!(r#"{{"method":{method},"params":{params}}}"#);
        Self::Notification(Raw::parse(text).unwrap_or_else(|_| Raw::empty_object()))
    }

    /// What a word and its data say; `None` for words that are not known here.
    pub fn to_call_event(word: &str, data: Raw) -> Option<CallEvent> {
        Some(match word {
            "progress" => CallEvent::Progress(data),
            "log" => CallEvent::Log(data),
            "task" => CallEvent::Task(data),
            "notification" => {
                let method = data.get("method").ok()??.to_text()?;
                let params = data.get("params").ok().flatten();
                CallEvent::Notification(Notification::new(&method, params.as_ref()))
            }
            _ => return None,
        })
    }
}

// === impl RemoteOutcome ===

impl RemoteOutcome {
    /// Tells how a call ended.
    pub fn from_outcome(ended: &Ended) -> Self {
        Self {
            result: ended.result.clone(),
            server: ended.server.clone(),
            decision: ended.decision.clone(),
            context: ended.context.clone(),
            note: ended.kept.as_ref().and_then(|kept| kept.note.clone()),
            problem: ended.kept.as_ref().and_then(|kept| kept.problem.clone()),
        }
    }

    /// The outcome that was told.
    pub fn into_outcome(self) -> Ended {
        let was_changed = self.note.is_some() || self.problem.is_some();
        let kept = was_changed.then(|| LimitedResult {
            result: self.result.clone(),
            note: self.note,
            spilled: None,
            images_scaled: 0,
            truncated: false,
            problem: self.problem,
        });
        dispatch::CallOutcome {
            result: self.result,
            server: self.server,
            decision: self.decision,
            context: self.context,
            kept,
        }
    }
}
