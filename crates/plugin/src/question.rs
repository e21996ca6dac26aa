//! Questions of plugins to clients: one, or several at once.
//!
//! Used by `server`, `tasks` and `parked`. It does not ask the client (`server`).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_plugin_sdk::abi::v2::QUESTIONS;
use switchboard_wire::{
    client::{InputRequest, InputResponse},
    envelope::{Id, RpcError, code},
    json::{JsonKind, Raw},
    meta::method,
};

/// The key of a call's only question.
const ONLY_QUESTION_KEY: &str = "question";

/// A plugin's question, with the answers so far.
pub(crate) struct WorkerQuestion {
    /// The id of the worker's request.
    pub(crate) id: Id,
    many: bool,
    asked: Vec<InputRequest>,
    answers: HashMap<String, Result<Raw, RpcError>>,
}

#[derive(Deserialize)]
struct SingleQuestion<'a> {
    method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

// === impl WorkerQuestion ===

impl WorkerQuestion {
    /// Takes the questions that the client's capabilities permit; the others count as refused.
    pub(crate) fn new(id: Id, asked: String, params: Raw, capabilities: &Raw) -> Self {
        let many = asked == QUESTIONS;
        let all = if many {
            parse_questions(&params)
        } else {
            vec![InputRequest { key: ONLY_QUESTION_KEY.into(), method: asked, params }]
        };
        let mut question = Self { id, many, asked: Vec::new(), answers: HashMap::new() };
        for one in all {
            match missing_capability(&one, capabilities) {
                None => question.asked.push(one),
                Some(refusal) => drop(question.answers.insert(one.key, Err(refusal))),
            }
        }
        question
    }

    /// Sets the question's key, unless the plugin chose its own keys: successive questions of a task must
    /// differ in it.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        if !self.many {
            self.asked.iter_mut().for_each(|asked| key.clone_into(&mut asked.key));
            let answers = self.answers.into_values().map(|answer| (key.to_owned(), answer));
            self.answers = answers.collect();
        }
        self
    }

    /// Applies answers that came before the question. Only keys that the plugin chose can match them.
    pub(crate) fn apply_early_answers(&mut self, answers: &[InputResponse]) {
        if self.many {
            self.apply_answers(answers);
        }
    }

    /// Applies the answers that are valid for their question, and ignores all others.
    pub(crate) fn apply_answers(&mut self, answers: &[InputResponse]) {
        for answer in answers {
            let asked = self.asked.iter().find(|asked| asked.key == answer.key);
            if asked.is_some_and(|asked| is_valid_answer(asked, answer)) {
                self.answers.insert(answer.key.clone(), answer.outcome.clone());
            }
        }
    }

    /// The questions without an answer.
    pub(crate) fn unanswered(&self) -> Vec<InputRequest> {
        let is_open = |asked: &&InputRequest| !self.answers.contains_key(&asked.key);
        self.asked.iter().filter(is_open).cloned().collect()
    }

    /// The answer for the plugin.
    pub(crate) fn into_answer(self) -> Result<Raw, RpcError> {
        if !self.many {
            let nothing =
                || Err(RpcError::new(code::INTERNAL_ERROR, "the question was not answered"));
            return self.answers.into_values().next().unwrap_or_else(nothing);
        }
        Ok(Raw::object(self.answers.iter().map(|(key, outcome)| match outcome {
            Ok(result) => (key, Raw::object([("result", result)])),
            Err(error) => (key, Raw::object([("error", error.to_raw())])),
        })))
    }
}

fn parse_questions(params: &Raw) -> Vec<InputRequest> {
    let questions = params.members().filter_map(|member| {
        let key = switchboard_wire::json::decode_string(member.key)?.into_owned();
        let SingleQuestion { method, params } = serde_json::from_str(member.value).ok()?;
        Some(InputRequest { key, method, params: Raw::parse(params.get().to_owned()).ok()? })
    });
    questions.collect()
}

/// The error if the client lacks the capability for a question.
fn missing_capability(asked: &InputRequest, capabilities: &Raw) -> Option<RpcError> {
    let is_url = matches!(asked.params.get("mode"), Ok(Some(mode)) if mode.as_str() == "\"url\"");
    let (path, shown): (&[&str], &str) = match &*asked.method {
        method::ELICIT if is_url => (&["elicitation", "url"], r#"{"elicitation":{"url":{}}}"#),
        method::ELICIT => (&["elicitation"], r#"{"elicitation":{}}"#),
        method::SAMPLE => (&["sampling"], r#"{"sampling":{}}"#),
        method::ROOTS_LIST => (&["roots"], r#"{"roots":{}}"#),
        _ => return Some(RpcError::new(code::METHOD_NOT_FOUND, "no client can be asked this")),
    };
    let declared = capabilities.get_path(path).ok().flatten();
    if declared.is_some_and(|value| !matches!(value.as_str(), "false" | "null")) {
        return None;
    }
    let error = RpcError::new(code::MISSING_CAPABILITY, "the client cannot be asked this");
    Some(match Raw::parse(format!(r#"{{"requiredCapabilities":{shown}}}"#)) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    })
}

fn is_valid_answer(asked: &InputRequest, answer: &InputResponse) -> bool {
    let member = match &*asked.method {
        method::ELICIT => "action",
        method::SAMPLE => "content",
        _ => "roots",
    };
    match &answer.outcome {
        Err(_) => true,
        Ok(result) => {
            result.kind() == JsonKind::Object && matches!(result.get(member), Ok(Some(_)))
        }
    }
}
