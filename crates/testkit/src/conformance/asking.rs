//! Tools and a prompt that ask questions before they answer.
//!
//! Used by `conformance`. A question stays open until its answer has the requested form. Other answers are ignored.

use serde_json::{Value, json};
use switchboard_wire::client::{InputRequest, InputResponse};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::{JsonKind, Raw};
use switchboard_wire::meta::method;
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};

use super::content::{said, words};
use super::tools::say;
use super::{invalid, state, text};

/// Calls the tool `name`, which asks a question.
pub(super) fn tool(
    name: &str,
    asked: &HandlerRequest,
    context: &RequestContext,
) -> Result<HandlerReply, RpcError> {
    match name {
        "test_sampling" => {
            let prompt = text(asked, &["arguments", "prompt"]);
            once(asked, vec![sampling("sampling", &prompt, 100)], None)
        }
        "test_elicitation" => {
            let message = text(asked, &["arguments", "message"]);
            once(asked, vec![form("user", &message, &contact())], None)
        }
        "test_elicitation_sep1034_defaults" => {
            once(asked, vec![form("defaults", "Please review the values", &defaults())], None)
        }
        "test_elicitation_sep1330_enums" => {
            once(asked, vec![form("enums", "Please choose", &enums())], None)
        }
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
            once(asked, vec![user_name("user_name")], None)
        }
        "test_input_required_result_sampling" => {
            let question = sampling("capital_question", "What is the capital of France?", 100);
            once(asked, vec![question], None)
        }
        "test_input_required_result_list_roots" => once(asked, vec![roots()], None),
        "test_input_required_result_request_state" => {
            once(asked, vec![confirm("confirm")], Some("state-ok"))
        }
        "test_input_required_result_tampered_state" => {
            once(asked, vec![confirm("confirm")], Some("intact"))
        }
        "test_input_required_result_multiple_inputs" => {
            let greeting = sampling("greeting", "Generate a greeting", 50);
            once(asked, vec![user_name("user_name"), greeting, roots()], Some("all"))
        }
        "test_input_required_result_multi_round" => rounds(asked),
        "test_input_required_result_capabilities" => within(asked, context),
        other => Err(invalid(format!("no tool is called {other}"))),
    }
}

/// `prompts/get` of the prompt that asks a question.
pub(super) fn prompt(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let schema = object(&json!({ "context": { "type": "string" } }), &["context"]);
    let question = form("user_context", "What context should the prompt use?", &schema);
    match answered(asked, &question) {
        None => Ok(HandlerReply::NeedsInput { questions: vec![question], state: None }),
        Some(answer) => said(&[words(&format!("Use this: {answer}"))]),
    }
}

/// Asks until every question is answered, then returns the answers and the word from the state.
pub(super) fn once(
    asked: &HandlerRequest,
    questions: Vec<InputRequest>,
    word: Option<&str>,
) -> Result<HandlerReply, RpcError> {
    let kept = state::open(asked.state.as_ref())?;
    let answers: Option<Vec<_>> =
        questions.iter().map(|question| answered(asked, question)).collect();
    match answers {
        Some(answers) if kept.as_deref() == word => {
            say(&format!("{} {}", answers.join(" "), word.unwrap_or_default()))
        }
        _ => Ok(HandlerReply::NeedsInput { questions, state: word.map(state::seal) }),
    }
}

/// Asks one question after another, each with its own state.
fn rounds(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let schema = object(&json!({ "color": { "type": "string" } }), &["color"]);
    let colour = form("step2", "Step 2: What is your favorite color?", &schema);
    let ask = |question, word| {
        Ok(HandlerReply::NeedsInput { questions: vec![question], state: Some(state::seal(word)) })
    };
    let name = user_name("step1");
    match state::open(asked.state.as_ref())?.as_deref() {
        Some("first") if answered(asked, &name).is_some() => ask(colour, "second"),
        Some("second") => match answered(asked, &colour) {
            Some(answer) => say(&format!("your colour: {answer}")),
            None => ask(colour, "second"),
        },
        _ => ask(name, "first"),
    }
}

/// Asks only questions that the client's capabilities allow.
fn within(asked: &HandlerRequest, context: &RequestContext) -> Result<HandlerReply, RpcError> {
    let possible = [
        ("elicitation", user_name("user_name")),
        ("sampling", sampling("greeting", "Generate a greeting", 50)),
    ];
    let questions: Vec<_> = possible
        .into_iter()
        .filter(|(capability, _)| context.has_capability(&[capability]))
        .map(|(_, question)| question)
        .collect();
    once(asked, questions, None)
}

/// The answer to a question, if it is valid. A question that the client cannot be asked counts as answered: repeating
/// it would not help.
pub(super) fn answered(asked: &HandlerRequest, question: &InputRequest) -> Option<String> {
    let answer = asked.answers.iter().find(|answer| answer.key == question.key)?;
    match &answer.outcome {
        Err(error) => Some(error.message.clone()),
        Ok(result) => is_proper(answer, question).then(|| result.to_string()),
    }
}

fn is_proper(InputResponse { outcome, .. }: &InputResponse, question: &InputRequest) -> bool {
    let member = match question.method.as_str() {
        method::ELICIT => "action",
        method::SAMPLE => "content",
        _ => "roots",
    };
    outcome.as_ref().is_ok_and(|result| {
        result.kind() == JsonKind::Object && matches!(result.get(member), Ok(Some(_)))
    })
}

fn question(key: &str, method: &str, params: &Value) -> InputRequest {
    InputRequest {
        key: key.to_owned(),
        method: method.to_owned(),
        params: Raw::from_value(params).unwrap(),
    }
}

fn form(key: &str, message: &str, schema: &Value) -> InputRequest {
    question(key, method::ELICIT, &json!({ "message": message, "requestedSchema": schema }))
}

fn sampling(key: &str, prompt: &str, tokens: u32) -> InputRequest {
    let message = json!({ "role": "user", "content": words(prompt) });
    question(key, method::SAMPLE, &json!({ "messages": [message], "maxTokens": tokens }))
}

fn roots() -> InputRequest {
    question("client_roots", method::ROOTS_LIST, &json!({}))
}

pub(super) fn user_name(key: &str) -> InputRequest {
    let schema = object(&json!({ "name": { "type": "string" } }), &["name"]);
    form(key, "What is your name?", &schema)
}

pub(super) fn confirm(key: &str) -> InputRequest {
    let schema = object(&json!({ "ok": { "type": "boolean" } }), &["ok"]);
    form(key, "Please confirm", &schema)
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn contact() -> Value {
    shared(include_str!("../../../../tests/conformance/forms/contact.json"))
}

fn defaults() -> Value {
    shared(include_str!("../../../../tests/conformance/forms/defaults.json"))
}

fn enums() -> Value {
    shared(include_str!("../../../../tests/conformance/forms/enums.json"))
}

/// A form that every server under test must pass on unchanged.
fn shared(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap()
}
