//! A request of a caller, before its server is known.
//!
//! Made by the commands, the gateway and agent loops; used by `dispatch`. It does not know its JSON form
//! (`remote::call`).

use std::borrow::{Borrow, Cow};
use std::time::Duration;

use switchboard_wire::client::{InputResponse, TaskHandling};
use switchboard_wire::json::{JsonEdit, Raw};
use switchboard_wire::meta::method;

use super::CallError;
use super::continuation::{CallContinuation, QuestionHandling, ResumedCall};
use super::tasks::ServerTask;
use crate::remote::RemoteRequest;

/// A request of a caller. Members that the engine does not know pass unchanged.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) method: Cow<'static, str>,
    pub(super) params: Option<Raw>,
    pub(super) server: Option<String>,
    pub(super) progress: ProgressReports,
    pub(super) timeout: Option<Duration>,
    pub(super) time_limit: Option<Duration>,
    pub(super) log_level: Option<Cow<'static, str>>,
    pub(super) tasks: TaskHandling,
    pub(super) questions: QuestionHandling,
    pub(super) again: Option<Box<ResumedCall>>,
    /// Answers to questions that the server has not asked yet.
    pub(super) unasked: Vec<InputResponse>,
    pub(super) as_task: Option<Raw>,
    pub(super) task: Option<Box<ServerTask>>,
    /// Whether the server gives no answer.
    pub(super) is_notification: bool,
    pub(super) origin: CallOrigin,
}

/// Who is behind a request, which decides which tools it may call and how its result is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallOrigin {
    /// A client; whether a model, a person or a program is behind it is not known.
    #[default]
    Client,
    /// A model. It may not call tools that are for apps only.
    Model,
    /// A client that shows MCP Apps. Data for apps is not limited: the client does not give it to its model.
    AppHost,
    /// An app. It may not call tools that are for models only, and its results are not limited.
    App,
}

/// Whether the caller wants progress events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressReports {
    Requested,
    Ignored,
}

/// The target of a completion.
#[derive(Debug, Clone, Copy)]
pub enum CompletionReference<'a> {
    /// An argument of a prompt, by its full name.
    Prompt(&'a str),
    /// A variable of a resource template.
    Template(&'a str),
}

// === impl Request ===

impl Request {
    /// Calls a tool by its full name.
    pub fn tool(name: &str, arguments: &Raw) -> Self {
        Self::with_members(
            method::TOOLS_CALL,
            [("name", &Raw::string(name)), ("arguments", arguments)],
        )
    }

    /// Gets a prompt by its full name.
    pub fn prompt(name: &str, arguments: &Raw) -> Self {
        Self::with_members(
            method::PROMPTS_GET,
            [("name", &Raw::string(name)), ("arguments", arguments)],
        )
    }

    /// Reads a resource.
    pub fn read(uri: &str) -> Self {
        Self::with_members(method::RESOURCES_READ, [("uri", Raw::string(uri))])
    }

    /// Subscribes to changes of a resource, which come as events of the engine.
    pub fn subscribe(uri: &str) -> Self {
        Self::with_members(method::RESOURCES_SUBSCRIBE, [("uri", Raw::string(uri))])
    }

    /// Unsubscribes from changes of a resource.
    pub fn unsubscribe(uri: &str) -> Self {
        Self::with_members(method::RESOURCES_UNSUBSCRIBE, [("uri", Raw::string(uri))])
    }

    /// Asks for completions of a value. `known` holds the other values, as an object.
    pub fn complete(
        reference: CompletionReference<'_>,
        argument: &str,
        value: &str,
        known: &Raw,
    ) -> Self {
        let (kind, key, target) = match reference {
            CompletionReference::Prompt(name) => ("ref/prompt", "name", name),
            CompletionReference::Template(uri) => ("ref/resource", "uri", uri),
        };
        let reference = Raw::object([("type", Raw::string(kind)), (key, Raw::string(target))]);
        let argument = [("name", Raw::string(argument)), ("value", Raw::string(value))];
        let context = known.members().next().is_some();
        let context = context.then(|| ("context", Raw::object([("arguments", known)])));
        let members = [("ref", reference), ("argument", Raw::object(argument))];
        Self::with_members(method::COMPLETE, members.into_iter().chain(context))
    }

    /// Makes a request as a client sent it, with names in the style of its session.
    pub fn forward(method: impl Into<Cow<'static, str>>, params: Option<Raw>) -> Self {
        Self {
            method: method.into(),
            params,
            server: None,
            progress: ProgressReports::Ignored,
            timeout: None,
            time_limit: None,
            log_level: None,
            tasks: TaskHandling::Follow,
            questions: QuestionHandling::Hold,
            again: None,
            unasked: Vec::new(),
            as_task: None,
            task: None,
            is_notification: false,
            origin: CallOrigin::Client,
        }
    }

    /// Makes a notification as a client sent it, with names in the style of its session. Its outcome is empty.
    pub fn notification(method: impl Into<Cow<'static, str>>, params: Option<Raw>) -> Self {
        Self { is_notification: true, ..Self::forward(method, params) }
    }

    /// Says who is behind the request.
    #[must_use]
    pub fn from_origin(mut self, origin: CallOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Restricts the request to this server.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Asks for progress events.
    #[must_use]
    pub fn with_progress(mut self) -> Self {
        self.progress = ProgressReports::Requested;
        self
    }

    /// Sets the timeout without an answer or progress, in place of the one in the server's entry.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the time limit, whatever progress arrives, in place of the one in the settings.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Asks for log messages of this call, from `level` up, where the server's era supports that.
    #[must_use]
    pub fn with_log_level(mut self, level: impl Into<Cow<'static, str>>) -> Self {
        self.log_level = Some(level.into());
        self
    }

    /// Sets what to do when the server makes a task of the call. Only tasks of modern servers are handed over, and
    /// only where no hook wants to see their result; the engine follows all others.
    #[must_use]
    pub fn with_tasks(mut self, tasks: TaskHandling) -> Self {
        self.tasks = tasks;
        self
    }

    /// Asks a 2025-11-25 server to make a task of the call, with this `task` member; the engine follows the task.
    #[must_use]
    pub fn as_task(mut self, task: Raw) -> Self {
        self.as_task = Some(task);
        self
    }

    /// Addresses a task that was handed over: `tasks/get`, `tasks/update` or `tasks/cancel`. The task's id in the
    /// parameters is replaced by the server's.
    #[must_use]
    pub fn of_task(mut self, task: ServerTask) -> Self {
        self.task = Some(Box::new(task));
        self
    }

    /// Returns the call to its caller where its server wants it made again with answers: it ends then, with
    /// [`super::CallEvent::NeedsInput`], and the engine keeps no state. The engine still holds calls for questions that
    /// do not end them, and for its own questions.
    #[must_use]
    pub fn hand_out_questions(mut self) -> Self {
        self.questions = QuestionHandling::HandOut;
        self
    }

    /// Makes a call again that was returned, with answers under the keys of their questions. It goes on after the
    /// finished stages.
    #[must_use]
    pub fn resume(mut self, carried: CallContinuation, answers: Vec<InputResponse>) -> Self {
        self.again = Some(Box::new(ResumedCall { carried, answers }));
        self
    }

    /// Adds answers to questions that a modern server would ask first. A legacy server, which asks during the call,
    /// does not take answers in advance.
    #[must_use]
    pub fn with_answers(mut self, answers: Vec<InputResponse>) -> Self {
        self.unasked = answers;
        self
    }

    pub(super) fn with_members<V: Borrow<Raw>>(
        method: &'static str,
        members: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Self {
        Self::forward(method, Some(Raw::object(members)))
    }

    pub(super) fn params(&self) -> Raw {
        self.params.clone().unwrap_or_else(Raw::empty_object)
    }

    /// Returns the request with edited parameters.
    pub(super) fn with_edits(
        self,
        params: &Raw,
        edits: &[JsonEdit<'_>],
    ) -> Result<Self, CallError> {
        let params = params.with_edits(edits);
        let params = params.map_err(|error| CallError::Request { reason: error.to_string() })?;
        Ok(Self { params: Some(params), ..self })
    }
}

// === impl RemoteRequest ===

impl From<&Request> for RemoteRequest {
    fn from(request: &Request) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            method: request.method.to_string(),
            params: request.params(),
            server: request.server.clone(),
            progress: request.progress == ProgressReports::Requested,
            timeout_millis: request.timeout.map(millis),
            time_limit_millis: request.time_limit.map(millis),
            log_level: request.log_level.as_deref().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_wire::json::MAX_JSON_DEPTH;

    use super::*;

    #[test]
    fn arguments_as_deep_as_allowed_reach_the_server() {
        let deep = Raw::parse("[".repeat(MAX_JSON_DEPTH) + &"]".repeat(MAX_JSON_DEPTH)).unwrap();
        let params = Request::tool("mcp__a__b", &deep).params.unwrap();
        assert_eq!(params.get("arguments").unwrap(), Some(deep));
    }

    #[test]
    fn a_completion_names_its_reference_and_the_known_values() {
        let check = |reference, known: &str, expected: &str| {
            let known = Raw::parse(known.to_owned()).unwrap();
            let request = Request::complete(reference, "x", "y\"", &known);
            assert_eq!(request.params.unwrap().as_str(), expected);
        };
        check(
            CompletionReference::Prompt("p"),
            "{}",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"y\""}}"#,
        );
        check(
            CompletionReference::Template("u"),
            r#"{"z":"1"}"#,
            r#"{"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"x","value":"y\""},"context":{"arguments":{"z":"1"}}}"#,
        );
    }
}
