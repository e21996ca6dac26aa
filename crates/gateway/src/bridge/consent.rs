//! A question about permission, as a form that a client can show.

use serde_json::json;
use switchboard_core::dispatch::{About, Consent, Question, Reply};
use switchboard_core::permission::Remember;
use switchboard_wire::client::{Answer, InputRequest};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;

use super::tasks::hide_task_of;

/// The key of the one question that is asked at a time.
const KEY: &str = "question";
/// How much of the arguments is shown.
const SHOWN: usize = 500;

/// A question in the form of the protocol.
pub(super) fn asked(about: &About) -> InputRequest {
    let (method, params) = match about {
        About::Permission(consent) => (method::ELICIT, form(consent)),
        About::Elicitation { params } => (method::ELICIT, params.clone()),
        About::Sampling { params } => (method::SAMPLE, params.clone()),
        About::Roots => (method::ROOTS_LIST, Raw::empty_object()),
    };
    hide_task_of(InputRequest { key: KEY.to_owned(), method: method.to_owned(), params })
}

/// Whether a client that declared these capabilities can be asked.
pub(super) fn can_be_asked(about: &About, has: impl Fn(&[&str]) -> bool) -> bool {
    match about {
        About::Permission(_) => has(&["elicitation"]),
        About::Elicitation { params } => {
            let is_url = matches!(params.get("mode"), Ok(Some(mode)) if mode.as_str() == "\"url\"");
            if is_url { has(&["elicitation", "url"]) } else { has(&["elicitation"]) }
        }
        About::Sampling { .. } => has(&["sampling"]),
        About::Roots => has(&["roots"]),
    }
}

/// The answer to the one question that is asked at a time.
pub(super) fn find_answer(answers: Vec<Answer>) -> Option<Answer> {
    answers.into_iter().find(|answer| answer.key == KEY)
}

/// Passes on the answer to a question, whatever key it was asked under.
pub(super) fn answer_with(question: Question, answer: Answer) {
    match question.about {
        About::Permission(_) => {
            let reply = answer.outcome.as_ref().map_or(Reply::Cancel, decided);
            question.answer(reply);
        }
        _ => question.answer(Reply::Result(answer.outcome)),
    }
}

/// Through a client an answer lasts for the session at most.
fn decided(result: &Raw) -> Reply {
    let text = |path: &[&str]| {
        result.get_path(path).ok().flatten().and_then(|value| value.to_text()).unwrap_or_default()
    };
    match (text(&["action"]).as_str(), text(&["content", "decision"]).as_str()) {
        ("accept", "once") => Reply::Allow(Remember::Once),
        ("accept", "session") => Reply::Allow(Remember::Session),
        ("accept" | "decline", _) => Reply::Deny(Remember::Once),
        _ => Reply::Cancel,
    }
}

/// The form has no default: some clients fill defaults in without showing the form, and consent must come from a person.
fn form(consent: &Consent) -> Raw {
    let arguments = consent.arguments.as_str();
    let shown: String = arguments.chars().take(SHOWN).collect();
    let more = if shown.len() < arguments.len() { "…" } else { "" };
    let message = format!(
        "May `{}` be called? ({}){}\n\n{shown}{more}",
        consent.tool,
        consent.because,
        if consent.annotations.is_destructive() {
            "\nIt may change or destroy something."
        } else {
            ""
        },
    );
    let form = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "enum": ["once", "session", "no"],
                    "enumNames": ["This time", "For this session", "No"],
                },
            },
            "required": ["decision"],
        },
    });
    Raw::of(&form).unwrap_or_else(|_| Raw::empty_object())
}
