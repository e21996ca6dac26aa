//! Routes under `/questions`, and [`QuestionInfo`], the JSON form of a question.
//!
//! Used by `routes`, `events`, `people`, `lease` and `call`, and by `cli` to show questions. It does not keep questions: the
//! queue is in `core::engine`, those of a call or a lease are in `waiting_questions`.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer, QuestionKind};
use switchboard_core::engine::{QuestionQueue, QueuedQuestion};
use switchboard_core::remote::RemoteAnswer;
use switchboard_wire::json::{JsonKind, Raw, decode_string};
use switchboard_wire::sanitize;

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{JsonBody, json};

/// The prefix of ids of questions in the queue.
const QUEUE_ID_PREFIX: &str = "q";
/// Members with text for people, which are sanitized.
const TEXT_MEMBERS: [&str; 3] = ["message", "title", "description"];

/// A question that waits for an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionInfo {
    /// The id of the question.
    pub id: String,
    /// The server that asks.
    pub server: String,
    /// The name of the client that made the call, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The question: `kind` is `permission`, `elicitation` or `sampling`.
    pub about: Raw,
    /// How long a question of the queue has waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_millis: Option<u64>,
    /// How long a question of the queue will wait before it is answered with *cancel*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_millis: Option<u64>,
}

// === impl QuestionInfo ===

impl QuestionInfo {
    pub(super) fn from_question(id: String, question: &PendingQuestion) -> Self {
        let (server, about) = (clean(&question.server), redact_question(&question.about));
        let client = question.client.as_deref().map(clean);
        Self { id, server, client, about, waited_millis: None, left_millis: None }
    }

    fn from_queue(waits: &QueuedQuestion) -> Self {
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
        Self {
            id: format!("{QUEUE_ID_PREFIX}{}", waits.id),
            server: clean(&waits.server),
            client: waits.client.as_deref().map(clean),
            about: redact_question(&waits.about),
            waited_millis: millis(waits.waited),
            left_millis: millis(waits.left),
        }
    }
}

/// A queue, oldest first.
pub(super) fn list_queue(queue: &QuestionQueue) -> Vec<QuestionInfo> {
    queue.questions().iter().map(QuestionInfo::from_queue).collect()
}

/// Answers a question of a queue; `false` if it does not wait there.
pub(super) fn answer_queue(queue: &QuestionQueue, id: &str, answer: QuestionAnswer) -> bool {
    let number = id.strip_prefix(QUEUE_ID_PREFIX).and_then(|number| number.parse().ok());
    number.is_some_and(|number| queue.answer(number, answer).is_ok())
}

pub(super) fn no_question(id: &str) -> AdminProblem {
    let title = format!("no question `{id}` waits for an answer");
    AdminProblem::new(AdminProblemKind::NoSuchQuestion, title)
        .with_detail("it was answered, its call has ended, or it waited too long")
        .with_hint("see `GET /api/v1/questions`")
}

/// `GET /questions`.
pub(super) async fn list(State(admin): State<AdminApi>) -> Response {
    json(StatusCode::OK, &serde_json::json!({ "questions": list_queue(admin.0.engine.queue()) }))
}

/// `POST /questions/{id}`.
pub(super) async fn answer(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(answer): JsonBody<RemoteAnswer>,
) -> Result<Response, AdminProblem> {
    let was_there = if id.starts_with(QUEUE_ID_PREFIX) {
        answer_queue(admin.0.engine.queue(), &id, answer.into_answer())
    } else {
        admin.0.asked.answer(&id, answer.into_answer())
    };
    if was_there { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(no_question(&id)) }
}

/// The question with sanitized texts, and without default values for secret fields. It is not decoded into a `Value`,
/// which holds fewer levels than a server may send.
fn redact_question(about: &QuestionKind) -> Raw {
    match Raw::from_value(about) {
        Ok(about) => redact_value(&about),
        // Clients show no question of a kind that they do not know.
        Err(error) => Raw::object([
            ("kind", Raw::string("unreadable")),
            ("reason", Raw::string(&error.to_string())),
        ]),
    }
}

fn redact_value(value: &Raw) -> Raw {
    match value.kind() {
        JsonKind::Array => Raw::array(value.elements().map(|element| redact_value(&element))),
        JsonKind::Object => {
            let is_secret = is_secret(value);
            let named =
                value.entries().filter_map(|(key, member)| Some((decode_string(key)?, member)));
            let shown = named.filter(|(name, _)| !(is_secret && name == "default"));
            Raw::object(shown.map(|(name, member)| {
                let is_text = TEXT_MEMBERS.contains(&&*name);
                let text = is_text.then(|| member.to_text()).flatten();
                let redacted = match text {
                    Some(text) => Raw::string(&sanitize::sanitize_block(&text)),
                    None => redact_value(&member),
                };
                (name, redacted)
            }))
        }
        _ => value.clone(),
    }
}

/// Whether a field of a form holds a secret.
fn is_secret(field: &Raw) -> bool {
    field.members().any(|member| {
        member.is_named("writeOnly") && member.value == "true"
            || member.is_named("format")
                && decode_string(member.value).is_some_and(|format| format == "password")
    })
}

fn clean(text: &str) -> String {
    sanitize::sanitize_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server may nest deeper than a decoded `Value` holds.
    #[test]
    fn a_deep_form_is_shown() {
        let deep = "[".repeat(400) + &"]".repeat(400);
        let params = format!(r#"{{"message":"Sign\u001b[31m in","requestedSchema":{deep}}}"#);
        let about = QuestionKind::Elicitation { params: Raw::parse(params).unwrap() };
        let shown = redact_question(&about);
        assert_eq!(shown.get("kind").unwrap().unwrap().as_str(), r#""elicitation""#);
        assert!(shown.as_str().contains(&deep) && !shown.as_str().contains("u001b"), "{shown}");
    }

    #[test]
    fn what_is_shown_of_a_form() {
        let params = r#"{"message":"Sign\u001b[31m in","requestedSchema":{"properties":{
            "user":{"type":"string","default":"me"},
            "pin":{"type":"string","format":"password","default":"1234"},
            "key":{"type":"string","writeOnly":true,"default":"sk-1"}}}}"#;
        let params = Raw::parse(params.to_owned()).unwrap();
        let shown = redact_question(&QuestionKind::Elicitation { params });
        let text = shown.as_str();
        assert!(
            !text.contains("1234") && !text.contains("sk-1") && !text.contains("u001b"),
            "{text}"
        );
        assert!(text.contains(r#""default":"me""#), "{text}");
    }
}
