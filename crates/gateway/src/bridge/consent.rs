//! Permission questions as form elicitations, and the conversion of a client's answers.
//!
//! Used by `call` and `local_tasks`. It does not decide about calls (`core::dispatch`).

use serde_json::json;
use switchboard_core::connection::OpaqueCapabilities;
use switchboard_core::dispatch::{
    PendingQuestion, PermissionQuestion, QuestionAnswer, QuestionKind,
};
use switchboard_core::permission::{
    AnswerLifetime, PermissionAnswer, describe_annotations, permission_sentence,
};
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use switchboard_wire::server::RequestContext;

use super::tasks::hide_task_of;

/// The key of the question; one is asked at a time.
const QUESTION_KEY: &str = "question";
/// How many characters of the arguments are shown.
const MAX_SHOWN_CHARS: usize = 500;

/// The answers of the form, each with its value. An answer through a client lasts for the session at most.
const FORM_ANSWERS: [(&str, PermissionAnswer); 3] = [
    ("once", PermissionAnswer::AllowOnce),
    ("session", PermissionAnswer::AllowForSession),
    ("no", PermissionAnswer::Deny),
];

/// Converts a question to the form of the protocol.
pub(super) fn to_input_request(question: &PendingQuestion) -> InputRequest {
    let (method, params) = match &question.about {
        QuestionKind::Permission(consent) => (method::ELICIT, consent_form(question, consent)),
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
            OpaqueCapabilities::of_client(&context.capabilities).declared.accepts_method(method)
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

/// Converts a form result. A form without a known decision denies the call.
fn to_reply(result: &Raw) -> QuestionAnswer {
    let text = |path: &[&str]| {
        result.get_path(path).ok().flatten().and_then(|value| value.to_text()).unwrap_or_default()
    };
    let decision = text(&["content", "decision"]);
    let chosen = FORM_ANSWERS.iter().find(|(value, _)| *value == decision);
    match (text(&["action"]).as_str(), chosen) {
        ("accept", Some((_, answer))) => (*answer).into(),
        ("accept" | "decline", _) => QuestionAnswer::Deny(AnswerLifetime::Once),
        _ => QuestionAnswer::Cancel,
    }
}

/// The form has no default: some clients fill in defaults without showing the form, and consent must come from a
/// person.
fn consent_form(question: &PendingQuestion, consent: &PermissionQuestion) -> Raw {
    let arguments = consent.arguments.as_str();
    let shown: String = arguments.chars().take(MAX_SHOWN_CHARS).collect();
    let more = if shown.len() < arguments.len() { "…" } else { "" };
    let sentence = permission_sentence(question.client.as_deref(), &consent.tool, &question.server);
    let claims = describe_annotations(consent.annotations);
    let claims = if claims.is_empty() { claims } else { format!("\nThe tool: {claims}") };
    let message =
        format!("{sentence}\nAsked because: {}{claims}\n\n{shown}{more}", consent.because);
    let form = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "enum": FORM_ANSWERS.map(|(value, _)| value),
                    "enumNames": FORM_ANSWERS.map(|(_, answer)| answer.label()),
                },
            },
            "required": ["decision"],
        },
    });
    Raw::from(form)
}

#[cfg(test)]
mod tests {
    use switchboard_config::PermissionMode;
    use switchboard_core::permission::{DecisionReason, ToolAnnotations};

    use super::*;

    #[test]
    fn a_form_asks_in_the_words_of_the_other_fronts() {
        let consent = PermissionQuestion {
            tool: "kiosk__order".to_owned(),
            arguments: Raw::from(json!({ "what": "tea" })),
            annotations: ToolAnnotations::default(),
            because: DecisionReason::Mode { mode: PermissionMode::Default },
            allow: "mcp__kiosk__order".to_owned(),
        };
        let (question, _) =
            PendingQuestion::new("kiosk", QuestionKind::Permission(Box::new(consent)));
        let asked = to_input_request(&question.of_client("ada")).params;
        let text = |path: &[&str]| asked.get_path(path).unwrap().unwrap().to_string();
        assert_eq!(
            text(&["message"]),
            r#""ada wants to call kiosk__order on kiosk.\nAsked because: mode `default`\nThe tool: may delete or overwrite\n\n{\"what\":\"tea\"}""#
        );
        let decision = ["requestedSchema", "properties", "decision"];
        let names = text(&[decision[0], decision[1], decision[2], "enumNames"]);
        assert_eq!(names, r#"["Allow once","Allow for this session","Deny"]"#);
    }

    #[test]
    fn the_values_of_the_form_keep_their_meaning() {
        for (action, decision, expected) in [
            ("accept", "once", "Allow(Once)"),
            ("accept", "session", "Allow(Session)"),
            ("accept", "no", "Deny(Once)"),
            ("accept", "always", "Deny(Once)"),
            ("decline", "once", "Deny(Once)"),
            ("cancel", "once", "Cancel"),
        ] {
            let content = json!({ "action": action, "content": { "decision": decision } });
            assert_eq!(format!("{:?}", to_reply(&Raw::from(content))), expected, "{decision}");
        }
    }
}
