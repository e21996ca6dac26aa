//! The request of one call, before it takes the form of an era: method, parameters, timeout, task handling.
//!
//! Used by `core::dispatch` and `gateway::bridge` to build calls, and by `exchange_driver` to send them. It does not
//! write the message text (`request_text`).

use std::{borrow::Cow, time::Duration};

use super::{
    inbox::{method_not_found, unanswered_outcome},
    request::{RequestExtras, can_ask},
};
use crate::{
    envelope::{RpcError, code},
    json::{Raw, quote},
    meta::method,
};

/// A request that a caller makes, before it takes the form of an era.
#[derive(Debug, Clone)]
pub struct CallRequest {
    pub(crate) method: Cow<'static, str>,
    pub(crate) params: Option<Raw>,
    pub(crate) extras: RequestExtras,
    pub(crate) timeout: Option<Duration>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) extend_on_progress: bool,
    pub(crate) tasks: TaskHandling,
    pub(crate) result_types: ResultTypes,
}

/// The values of `resultType` that the caller of a modern server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultTypes {
    /// Those of the protocol. A result of another type is an error, since the caller could not read it.
    #[default]
    Protocol,
    /// Those of extensions too, which pass as they are: the caller passes results on to a client of the extension.
    OfExtensions,
}

/// How to handle a task that a server makes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskHandling {
    /// Follow the task to its end and return its result as the result of the call.
    #[default]
    Follow,
    /// Return the task as the result; the caller follows the task.
    Hand,
}

/// A question of a server, which it wants answered before it answers the call.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// The key of the question among those of its call.
    pub key: String,
    /// The method: `elicitation/create`, `sampling/createMessage`, `roots/list`.
    pub method: String,
    /// The parameters of the question.
    pub params: Raw,
}

/// The answer to an [`InputRequest`].
#[derive(Debug, Clone)]
pub struct InputResponse {
    /// The key of the [`InputRequest`].
    pub key: String,
    /// The client's answer; an error means that the client refuses to answer.
    pub outcome: Result<Raw, RpcError>,
}

// === impl CallRequest ===

impl CallRequest {
    /// A request of any method.
    ///
    /// Members of the parameters that have no meaning between Switchboard and the server stay unchanged.
    pub fn new(method: impl Into<Cow<'static, str>>, params: Option<Raw>) -> Self {
        Self {
            method: method.into(),
            params,
            extras: RequestExtras::default(),
            timeout: None,
            time_limit: None,
            extend_on_progress: true,
            tasks: TaskHandling::default(),
            result_types: ResultTypes::default(),
        }
    }

    /// `tools/call`
    pub fn call_tool(name: &str, arguments: &Raw) -> Self {
        let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, quote(name));
        Self::new(method::TOOLS_CALL, Some(Raw::from_trusted(params.into())))
    }

    /// `resources/read`
    pub fn read_resource(uri: &str) -> Self {
        let params = format!(r#"{{"uri":{}}}"#, quote(uri));
        Self::new(method::RESOURCES_READ, Some(Raw::from_trusted(params.into())))
    }

    /// `prompts/get`
    pub fn get_prompt(name: &str, arguments: &Raw) -> Self {
        let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, quote(name));
        Self::new(method::PROMPTS_GET, Some(Raw::from_trusted(params.into())))
    }

    /// Asks for progress.
    #[must_use]
    pub fn with_progress(mut self) -> Self {
        self.extras.progress = true;
        self
    }

    /// Gives up after `timeout` without an answer. Progress starts the clock again.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives up after the timeout, even if progress arrives.
    #[must_use]
    pub fn with_fixed_timeout(mut self) -> Self {
        self.extend_on_progress = false;
        self
    }

    /// Gives up after `limit` without an answer, even if progress arrives. The time that a question of the server waits
    /// for its answer does not count; the answer starts the clock again.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Declares these capabilities for this call instead of the session's own. Legacy sessions
    /// declared theirs once and for all.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Raw) -> Self {
        self.extras.capabilities = Some(capabilities);
        self
    }

    /// Asks a modern server for log messages of this call, from `level` up.
    #[must_use]
    pub fn with_log_level(mut self, level: impl Into<Cow<'static, str>>) -> Self {
        self.extras.log_level = Some(level.into());
        self
    }

    /// Sets how to handle a task, should the server turn the call into one.
    #[must_use]
    pub fn with_task_handling(mut self, tasks: TaskHandling) -> Self {
        self.tasks = tasks;
        self
    }

    /// Sets which types of results to accept.
    #[must_use]
    pub fn with_result_types(mut self, result_types: ResultTypes) -> Self {
        self.result_types = result_types;
        self
    }

    /// Asks a 2025-11-25 server to run the call as a task, with this `task` member.
    #[must_use]
    pub fn as_task(mut self, task: Raw) -> Self {
        self.extras.task = Some(task);
        self
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The name of the tool; `None` unless the method is `tools/call`.
    pub(crate) fn tool_name(&self) -> Option<String> {
        (self.method() == method::TOOLS_CALL)
            .then(|| self.params.as_ref()?.get("name").ok()??.to_text())
            .flatten()
    }

    /// Whether the protocol lets a server ask questions before it answers this method.
    pub(crate) fn can_ask(&self) -> bool {
        can_ask(&self.method)
    }

    /// Repeats the call with answers to the server's questions and the `requestState` that came with them.
    pub(crate) fn with_answers(&self, state: Option<Raw>, answers: &[InputResponse]) -> Self {
        let mut call = self.clone();
        call.extras.request_state = state;
        call.extras.input_responses = (!answers.is_empty()).then(|| input_responses(answers));
        call
    }
}

// === impl InputResponse ===

impl InputResponse {
    /// The `inputResponses` object of these answers.
    pub fn to_input_responses(answers: &[Self]) -> Raw {
        input_responses(answers)
    }
}

/// The `inputResponses` object. A question that was refused is left out: the modern protocol has
/// no other word for it.
pub(crate) fn input_responses(answers: &[InputResponse]) -> Raw {
    Raw::object(
        answers.iter().filter_map(|answer| Some((&answer.key, answer.outcome.as_ref().ok()?))),
    )
}

impl InputRequest {
    /// Reads an `inputRequests` object.
    pub fn from_input_requests(requests: &Raw) -> Option<Vec<Self>> {
        requests
            .entries()
            .map(|(key, request)| {
                let request = request.to_detached();
                Some(Self {
                    key: crate::json::decode_string(key)?.into_owned(),
                    method: request.get("method").ok()??.to_text()?,
                    params: request.get("params").ok()?.unwrap_or_else(Raw::empty_object),
                })
            })
            .collect()
    }

    /// Writes an `inputRequests` object.
    pub fn to_input_requests(questions: &[Self]) -> Raw {
        Raw::object(questions.iter().map(|question| {
            let asked = [("method", &Raw::string(&question.method)), ("params", &question.params)];
            (&question.key, Raw::object(asked))
        }))
    }

    /// Answers this question.
    pub fn answer(&self, result: Raw) -> InputResponse {
        InputResponse { key: self.key.clone(), outcome: Ok(result) }
    }

    /// Refuses to answer: an elicitation is cancelled, other questions fail with `reason`.
    pub fn refuse(&self, reason: &str) -> InputResponse {
        let outcome = match self.method.as_str() {
            method::ELICIT => unanswered_outcome(&self.method),
            _ => Err(RpcError::new(code::INTERNAL_ERROR, reason)),
        };
        InputResponse { key: self.key.clone(), outcome }
    }

    /// Refuses a question that this client does not know, or has no capability for.
    pub fn refuse_method(&self) -> InputResponse {
        InputResponse { key: self.key.clone(), outcome: Err(method_not_found(&self.method)) }
    }
}
