//! Permission questions as form elicitations, and the conversion of a client's answers.
//!
//! Used by `call` and `local_tasks`. It does not decide about calls (`core::dispatch`).

use serde_json::json;
use switchboard_core::connection::OpaqueCapabilities;
use switchboard_core::dispatch::{
    PendingQuestion, PermissionQuestion, QuestionAnswer, QuestionKind,
};
use switchboard_core::permission::AnswerLifetime;
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use switchboard_wire::server::RequestContext;

use super::tasks::hide_task_of;

/// The key of the question; one is asked at a time.
const QUESTION_KEY: &str = "question";
/// How many characters of the arguments are shown.
const MAX_SHOWN_CHARS: usize = 500;

/// Converts a question to the form of the protocol.
pub(super) fn to_input_request(about: &QuestionKind) -> InputRequest {
    let (method, params) = match about {
        QuestionKind::Permission(consent) => (method::ELICIT, consent_form(consent)),
        QuestionKind::Elicitation { params } => (method::ELICIT, params.clone()),
        QuestionKind::Sampling { params } => (method::SAMPLE, params.clone()),
        QuestionKind::Roots => (method::ROOTS_LIST, Raw::empty_object()),
        QuestionKind::Extension { method, params } => (method.as_str(), params.clone()),
    };
    hide_task_of(InputRequest { key: QUESTION_KEY.to_owned(), method: method.to_owned(), params })
}

/// Whether a client with these capabilities can show the question.
pub(super) fn can_be_asked(about: &QuestionKind, context: &RequestContext) -> bool {
    let has = |path: &[&str]| context.has_capability(path);
    match about {
        QuestionKind::Permission(_) => has(&["elicitation"]),
        QuestionKind::Elicitation { params } => {
            let is_url = matches!(params.get("mode"), Ok(Some(mode)) if mode.as_str() == "\"url\"");
            if is_url { has(&["elicitation", "url"]) } else { has(&["elicitation"]) }
        }
        QuestionKind::Sampling { .. } => has(&["sampling"]),
        QuestionKind::Roots => has(&["roots"]),
        QuestionKind::Extension { method, .. } => {
            OpaqueCapabilities::of_client(&context.capabilities).declared.has_method(method)
        }
    }
}

/// The answer to the one open question.
pub(super) fn find_answer(answers: Vec<InputResponse>) -> Option<InputResponse> {
    answers.into_iter().find(|answer| answer.key == QUESTION_KEY)
}

/// Whether a modern client's response is a valid answer: an object, and for a form one with a known action. A server
/// would take any other response for the result.
pub(super) fn is_usable(about: &QuestionKind, answer: &InputResponse) -> bool {
    // A refusal is a valid answer.
    let Ok(result) = &answer.outcome else { return true };
    match about {
        QuestionKind::Permission(_) | QuestionKind::Elicitation { .. } => {
            let action = result.get("action").ok().flatten().and_then(|action| action.to_text());
            matches!(action.as_deref(), Some("accept" | "decline" | "cancel"))
        }
        QuestionKind::Sampling { .. } | QuestionKind::Roots | QuestionKind::Extension { .. } => {
            result.as_str().starts_with('{')
        }
    }
}

/// Passes the answer on to its question, under any key.
pub(super) fn answer_with(question: PendingQuestion, answer: InputResponse) {
    match question.about {
        QuestionKind::Permission(_) => {
            let reply = answer.outcome.as_ref().map_or(QuestionAnswer::Cancel, to_reply);
            question.answer(reply);
        }
        _ => question.answer(QuestionAnswer::Result(answer.outcome)),
    }
}

/// Converts a form result. An answer through a client lasts for the session at most.
fn to_reply(result: &Raw) -> QuestionAnswer {
    let text = |path: &[&str]| {
        result.get_path(path).ok().flatten().and_then(|value| value.to_text()).unwrap_or_default()
    };
    match (text(&["action"]).as_str(), text(&["content", "decision"]).as_str()) {
        ("accept", "once") => QuestionAnswer::Allow(AnswerLifetime::Once),
        ("accept", "session") => QuestionAnswer::Allow(AnswerLifetime::Session),
        ("accept" | "decline", _) => QuestionAnswer::Deny(AnswerLifetime::Once),
        _ => QuestionAnswer::Cancel,
    }
}

/// The form has no default: some clients fill in defaults without showing the form, and consent must come from a
/// person.
fn consent_form(consent: &PermissionQuestion) -> Raw {
    let arguments = consent.arguments.as_str();
    let shown: String = arguments.chars().take(MAX_SHOWN_CHARS).collect();
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
    Raw::from(form)
}
