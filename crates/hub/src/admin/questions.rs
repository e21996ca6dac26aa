//! Questions, as whoever may answer them sees them.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_core::dispatch::{About, Question};
use switchboard_core::engine::Waits;
use switchboard_core::told::Answer;
use switchboard_wire::json::Raw;
use switchboard_wire::sanitize;

use super::Admin;
use super::problem::{Kind, Problem};
use super::routes::{Body, json};

/// What the names of questions in the queue begin with.
const PREFIX: &str = "q";
/// Members that are words for people.
const WORDS: [&str; 3] = ["message", "title", "description"];

/// A question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asking {
    /// Names it.
    pub id: String,
    /// The server it comes from.
    pub server: String,
    /// The client whose call it is, as it calls itself, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What is asked: `kind` is `permission`, `elicitation` or `sampling`.
    pub about: Raw,
    /// How long it has waited, of one in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_millis: Option<u64>,
    /// How long it goes on waiting before it is answered with *cancel*, of one in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_millis: Option<u64>,
}

// === impl Asking ===

impl Asking {
    pub(super) fn of(id: String, question: &Question) -> Self {
        let (server, about) = (clean(&question.server), shown(&question.about));
        let client = question.client.as_deref().map(clean);
        Self { id, server, client, about, waited_millis: None, left_millis: None }
    }

    fn waiting(waits: &Waits) -> Self {
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
        Self {
            id: format!("{PREFIX}{}", waits.id),
            server: clean(&waits.server),
            client: waits.client.as_deref().map(clean),
            about: shown(&waits.about),
            waited_millis: millis(waits.waited),
            left_millis: millis(waits.left),
        }
    }
}

/// The queue, oldest first.
pub(super) fn queue(admin: &Admin) -> Vec<Asking> {
    admin.0.engine.queue().waiting().iter().map(Asking::waiting).collect()
}

/// `GET /questions`.
pub(super) async fn list(State(admin): State<Admin>) -> Response {
    json(StatusCode::OK, &serde_json::json!({ "questions": queue(&admin) }))
}

/// `POST /questions/{id}`.
pub(super) async fn answer(
    State(admin): State<Admin>,
    Path(id): Path<String>,
    Body(answer): Body<Answer>,
) -> Result<Response, Problem> {
    let gone = || {
        Problem::new(Kind::NoSuchQuestion, format!("no question `{id}` waits for an answer"))
            .detailed("it was answered, its call has ended, or it waited too long")
            .hinted("see `GET /api/v1/questions`")
    };
    let queued = id.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
    let was_there = match queued {
        Some(number) => admin.0.engine.queue().answer(number, answer.reply()).is_ok(),
        None => admin.0.asked.answer(&id, answer.reply()),
    };
    if was_there { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(gone()) }
}

/// What is asked, with clean words, and without what a server would fill into a field that is kept secret.
fn shown(about: &About) -> Raw {
    let mut value = serde_json::to_value(about).unwrap_or_default();
    tidy(&mut value);
    Raw::of(&value).unwrap_or_else(|_| Raw::empty_object())
}

fn tidy(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            if is_secret(members) {
                members.remove("default");
            }
            for (name, member) in members {
                match member {
                    Value::String(text) if WORDS.contains(&name.as_str()) => {
                        *text = sanitize::block(text).into_owned();
                    }
                    member => tidy(member),
                }
            }
        }
        _ => {}
    }
}

/// Whether a field of a form is one whose value nobody should see.
fn is_secret(field: &Map<String, Value>) -> bool {
    field.get("writeOnly") == Some(&Value::Bool(true))
        || field.get("format").and_then(Value::as_str) == Some("password")
}

fn clean(text: &str) -> String {
    sanitize::line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_form() {
        let params = r#"{"message":"Sign\u001b[31m in","requestedSchema":{"properties":{
            "user":{"type":"string","default":"me"},
            "pin":{"type":"string","format":"password","default":"1234"},
            "key":{"type":"string","writeOnly":true,"default":"sk-1"}}}}"#;
        let params = Raw::parse(params.to_owned()).unwrap();
        let shown = shown(&About::Elicitation { params });
        let text = shown.as_str();
        assert!(
            !text.contains("1234") && !text.contains("sk-1") && !text.contains("u001b"),
            "{text}"
        );
        assert!(text.contains(r#""default":"me""#), "{text}");
    }
}
