//! One call as JSON: the request, its events and its outcome.
//!
//! Used by the hub's admin interface (`hub::admin::call`) and its client. Questions of a call are in
//! `remote::answer`; errors are in `remote::call_error`.

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

/// A [`Request`] as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteRequest {
    /// The MCP method, for example `tools/call`.
    pub method: String,
    /// The parameters, with full names.
    #[serde(default = "Raw::empty_object")]
    pub params: Raw,
    /// The only server that the request may go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether to send progress events.
    #[serde(default)]
    pub progress: bool,
    /// How long to wait without an answer or progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_millis: Option<u64>,
    /// How long to wait for the answer, whatever progress arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_millis: Option<u64>,
    /// The lowest level of log messages to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

/// An event of a call, except questions.
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
    /// The result, within the limits for results.
    pub result: Raw,
    /// The server that gave the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The reason why the call was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionReason>,
    /// Text that hooks add for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// The note that stands in the result in place of text that was cut or spilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A problem with storing the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<EngineProblem>,
}

// === impl RemoteRequest ===

impl RemoteRequest {
    /// Converts to a request of the engine.
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
        if let Some(millis) = self.time_limit_millis {
            request = request.with_time_limit(Duration::from_millis(millis));
        }
        if let Some(level) = self.log_level {
            request = request.with_log_level(level);
        }
        request.with_tasks(TaskHandling::Follow)
    }
}

// === impl RemoteCallEvent ===

impl RemoteCallEvent {
    /// Returns the name of the event.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Progress(_) => "progress",
            Self::Log(_) => "log",
            Self::Notification(_) => "notification",
            Self::Task(_) => "task",
        }
    }

    /// Returns the data of the event.
    pub fn data(&self) -> &Raw {
        match self {
            Self::Progress(data)
            | Self::Log(data)
            | Self::Notification(data)
            | Self::Task(data) => data,
        }
    }

    /// Makes the event of a notification: an object of its method and parameters.
    pub fn from_notification(notification: &Notification) -> Self {
        let params = notification.params().unwrap_or_else(Raw::empty_object);
        let method = Raw::string(&notification.method());
        Self::Notification(Raw::object([("method", method), ("params", params)]))
    }

    /// Converts the name and data of an event; `None` for names that this version does not know.
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
    /// Converts the outcome of a call.
    pub fn from_outcome(ended: &Ended) -> Self {
        Self {
            result: ended.result.clone(),
            server: ended.server.clone(),
            decision: ended.decision.clone(),
            context: ended.context.clone(),
            note: ended.limited.as_ref().and_then(|kept| kept.note.clone()),
            problem: ended.limited.as_ref().and_then(|kept| kept.problem.clone()),
        }
    }

    /// Converts to an outcome of the engine.
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
            limited: kept,
        }
    }
}
