//! The context of a call: logs, progress, questions, cancellation and tasks.
//!
//! Used by plugin functions, which take a `&Context`. The calls to the host are in `export`.

use std::{
    cell::RefCell,
    fmt,
    time::{Duration, Instant},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    Failure, Result,
    abi::v2::{QUESTIONS, TASK},
    export::{HostLine, refused},
};

/// How often `sleep` checks whether the call was cancelled.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(10);
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A running call, as the function that answers it sees it.
#[derive(Debug)]
pub struct Context(ContextKind);

#[derive(Debug)]
enum ContextKind {
    Hosted(HostLine),
    /// In a test: notifications are recorded.
    Alone(RefCell<Vec<(String, Value)>>),
}

/// The user's answer to an elicitation.
#[derive(Debug, Clone, PartialEq)]
pub enum UserAnswer<T> {
    /// The user gave this answer.
    Accepted(T),
    /// The user declined to answer.
    Declined,
    /// The user closed the question.
    Cancelled,
}

#[derive(Deserialize)]
struct ElicitResult {
    action: String,
    #[serde(default)]
    content: Value,
}

/// Reads the answer to one of several questions.
fn answered(mut answer: Value) -> Result<Value> {
    match answer.get_mut("error") {
        None => Ok(answer["result"].take()),
        Some(error) => Err(refused(error)),
    }
}

// === impl Context ===

impl Context {
    /// A context for tests: notifications are recorded for [`Context::recorded_notifications`], and questions get no answer.
    pub fn for_tests() -> Self {
        Self(ContextKind::Alone(RefCell::default()))
    }

    pub(crate) fn hosted(line: HostLine) -> Self {
        Self(ContextKind::Hosted(line))
    }

    /// In a context for tests: the notifications so far, each with its parameters.
    pub fn recorded_notifications(&self) -> Vec<(String, Value)> {
        match &self.0 {
            ContextKind::Alone(said) => said.borrow().clone(),
            ContextKind::Hosted(_) => Vec::new(),
        }
    }

    /// Logs a line. The level is one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`,
    /// `emergency`; any other is `info`.
    pub fn log(&self, level: &str, text: impl fmt::Display) {
        self.log_data(level, "", &Value::String(text.to_string()));
    }

    /// Logs any value, under the name of a logger.
    pub fn log_data(&self, level: &str, logger: &str, data: &Value) {
        let number = LOG_LEVELS.iter().position(|known| *known == level).unwrap_or(1);
        match &self.0 {
            ContextKind::Hosted(line) => line.log(number, logger, &data.to_string()),
            ContextKind::Alone(_) => {
                let params = json!({ "level": LOG_LEVELS[number], "logger": logger, "data": data });
                self.keep("notifications/message", params);
            }
        }
    }

    /// Reports progress.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: &str) {
        match &self.0 {
            ContextKind::Hosted(line) => line.progress(progress, total.unwrap_or(-1.0), message),
            ContextKind::Alone(_) => {
                let params = json!({ "progress": progress, "total": total, "message": message });
                self.keep("notifications/progress", params);
            }
        }
    }

    /// Sends any other notification to the client that made this call.
    pub fn notify(&self, method: &str, params: &Value) {
        match &self.0 {
            ContextKind::Hosted(line) => line.notify(method, &params.to_string()),
            ContextKind::Alone(_) => self.keep(method, params.clone()),
        }
    }

    /// Tells every client that a list of this plugin has changed.
    pub fn list_changed(&self, list: &str) {
        self.announce(&format!("notifications/{list}/list_changed"), &json!({}));
    }

    /// Tells every subscriber of a resource that it has changed.
    pub fn updated(&self, uri: &str) {
        self.announce("notifications/resources/updated", &json!({ "uri": uri }));
    }

    fn announce(&self, method: &str, params: &Value) {
        match &self.0 {
            ContextKind::Hosted(line) => line.announce(method, &params.to_string()),
            ContextKind::Alone(_) => self.keep(method, params.clone()),
        }
    }

    /// Whether the call was cancelled.
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            ContextKind::Hosted(line) => line.is_cancelled(),
            ContextKind::Alone(_) => false,
        }
    }

    /// Waits, unless the call is cancelled first.
    pub fn sleep(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            if self.is_cancelled() {
                return Err(Failure::Cancelled);
            }
            match end.checked_duration_since(Instant::now()) {
                None | Some(Duration::ZERO) => return Ok(()),
                Some(left) => std::thread::sleep(left.min(CANCEL_POLL_INTERVAL)),
            }
        }
    }

    /// Asks the user to fill in a form that a schema describes. Waits for the answer.
    pub fn elicit<T: DeserializeOwned>(
        &self,
        message: &str,
        schema: &Value,
    ) -> Result<UserAnswer<T>> {
        let params = json!({ "message": message, "requestedSchema": schema });
        let answer = match &self.0 {
            ContextKind::Hosted(line) => line.elicit(&params.to_string())?,
            ContextKind::Alone(_) => return Ok(UserAnswer::Cancelled),
        };
        let ElicitResult { action, content } = serde_json::from_str(&answer)?;
        Ok(match action.as_str() {
            "accept" => UserAnswer::Accepted(serde_json::from_value(content)?),
            "decline" => UserAnswer::Declined,
            _ => UserAnswer::Cancelled,
        })
    }

    /// Sends any request that a server may send to a client: `sampling/createMessage`, `roots/list`. Waits
    /// for the answer.
    pub fn request(&self, method: &str, params: &Value) -> Result<Value> {
        match &self.0 {
            ContextKind::Hosted(line) => {
                Ok(serde_json::from_str(&line.request(method, &params.to_string())?)?)
            }
            ContextKind::Alone(_) => Err(Failure::new("there is no client to ask")),
        }
    }

    /// Asks several questions at once, which saves the client a round trip: each with a key, a method and its
    /// parameters. The answers come in the order of the questions.
    pub fn request_all(&self, questions: &[(&str, &str, Value)]) -> Result<Vec<Result<Value>>> {
        let asked = questions.iter().map(|(key, method, params)| {
            ((*key).to_owned(), json!({ "method": method, "params": params }))
        });
        let asked = Value::Object(asked.collect());
        let answers = match &self.0 {
            ContextKind::Hosted(line) => line.request(QUESTIONS, &asked.to_string())?,
            ContextKind::Alone(_) => return Err(Failure::new("there is no client to ask")),
        };
        let mut answers: Value = serde_json::from_str(&answers)?;
        let answer = |(key, ..): &(&str, &str, Value)| answered(answers[*key].take());
        Ok(questions.iter().map(answer).collect())
    }

    /// Turns the call into a task: the client gets a handle at once, and polls it for progress, questions and
    /// the result. The function continues, and its return value is the task's result.
    ///
    /// Returns an error if the client does not support tasks: a function that returns this error does nothing
    /// for that client, a function that ignores it makes the client wait for the result. The plugin must
    /// declare [`crate::Plugin::extension`] `io.modelcontextprotocol/tasks`.
    pub fn become_task(&self) -> Result<()> {
        self.request(TASK, &json!({})).map(drop)
    }

    fn keep(&self, method: &str, params: Value) {
        if let ContextKind::Alone(said) = &self.0 {
            said.borrow_mut().push((method.to_owned(), params));
        }
    }
}
