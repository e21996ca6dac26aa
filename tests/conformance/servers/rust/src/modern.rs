//! Tools and a prompt that ask modern clients: a call ends with questions, and is made again with the answers. A
//! question stands until it has an answer of its kind.

use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ContentBlock, CreateMessageRequest,
    CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, GetPromptResponse,
    InputRequest, InputRequiredResult, InputResponses, ListRootsRequest, RequestStateCodec,
    SamplingMessage,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use serde_json::{Value, json};

use crate::content::messages;
use crate::handler::ConformanceServer;
use crate::tools::{say, undeliverable};

/// States outlive no run of the server, and guard nothing.
const STATE_KEY: [u8; 32] = [7; 32];

/// What a call carries of the round before it.
pub(crate) struct Round {
    responses: InputResponses,
    state: Option<String>,
}

pub(crate) type Question = (&'static str, InputRequest);
pub(crate) type Asked = Result<CallToolResponse, ErrorData>;

#[tool_router(router = modern_tools, vis = "pub(crate)")]
impl ConformanceServer {
    #[tool(description = "Asks for a name")]
    async fn test_input_required_result_elicitation(&self, round: Round) -> Asked {
        ask(&round, vec![name("user_name")?], None)
    }

    #[tool(description = "Asks for a name")]
    async fn test_streaming_elicitation(&self, round: Round) -> Asked {
        ask(&round, vec![name("user_name")?], None)
    }

    #[tool(description = "Asks the client's model")]
    async fn test_input_required_result_sampling(&self, round: Round) -> Asked {
        let question = sampling("capital_question", "What is the capital of France?", 100);
        ask(&round, vec![question], None)
    }

    #[tool(description = "Asks for roots")]
    async fn test_input_required_result_list_roots(&self, round: Round) -> Asked {
        ask(&round, vec![roots()], None)
    }

    #[tool(description = "Asks, and keeps a state")]
    async fn test_input_required_result_request_state(&self, round: Round) -> Asked {
        ask(&round, vec![confirm("confirm")?], Some("state-ok"))
    }

    #[tool(description = "Refuses a state that was altered")]
    async fn test_input_required_result_tampered_state(&self, round: Round) -> Asked {
        ask(&round, vec![confirm("confirm")?], Some("intact"))
    }

    #[tool(description = "Asks three things at once")]
    async fn test_input_required_result_multiple_inputs(&self, round: Round) -> Asked {
        ask(&round, vec![name("user_name")?, greeting(), roots()], Some("all"))
    }

    #[tool(description = "Asks one thing after another")]
    async fn test_input_required_result_multi_round(&self, round: Round) -> Asked {
        let first = round.answer(&name("step1")?);
        match round.state.as_deref() {
            Some("first") if first.is_some() => ask(&round, vec![colour()?], Some("second")),
            Some("second") => ask(&round, vec![colour()?], Some("second")),
            _ => ask(&round, vec![name("step1")?], Some("first")),
        }
    }

    #[tool(description = "Asks what the client can be asked")]
    async fn test_input_required_result_capabilities(
        &self,
        round: Round,
        context: RequestContext<RoleServer>,
    ) -> Asked {
        let able = context.client_capabilities().unwrap_or_default();
        let mut questions = Vec::new();
        if able.elicitation.is_some() {
            questions.push(name("user_name")?);
        }
        if able.sampling.is_some() {
            questions.push(greeting());
        }
        ask(&round, questions, None)
    }

    #[tool(description = "Needs a client that can sample")]
    async fn test_missing_capability(
        &self,
        round: Round,
        context: RequestContext<RoleServer>,
    ) -> Asked {
        if context.client_capabilities().is_some_and(|able| able.sampling.is_some()) {
            return ask(&round, vec![greeting()], None);
        }
        let required = ClientCapabilities::builder().enable_sampling().build();
        Err(ErrorData::missing_required_client_capability(required))
    }
}

/// `prompts/get` of the prompt that asks.
pub(crate) fn prompt(responses: Option<InputResponses>) -> Result<GetPromptResponse, ErrorData> {
    let round = Round { responses: responses.unwrap_or_default(), state: None };
    let question =
        form("user_context", "What context should the prompt use?", "context", "string")?;
    match round.answer(&question) {
        Some(answer) => {
            Ok(messages(vec![ContentBlock::text(format!("Use this: {answer}"))]).into())
        }
        None => Ok(questions(vec![question], None).into()),
    }
}

// === impl Round ===

impl<S> FromContextPart<ToolCallContext<'_, S>> for Round {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        let open = |sealed: String| {
            let state = codec()
                .open(&sealed)
                .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
            String::from_utf8(state).map_err(undeliverable)
        };
        Ok(Self {
            responses: context.input_responses.take().unwrap_or_default(),
            state: context.request_state.take().map(open).transpose()?,
        })
    }
}

impl Round {
    /// The answer to a question, if it is of the question's kind.
    pub(crate) fn answer(&self, (key, request): &Question) -> Option<&Value> {
        let member = match request {
            InputRequest::Elicitation(_) => "action",
            InputRequest::CreateMessage(_) => "content",
            _ => "roots",
        };
        self.responses.get(*key).filter(|answer| answer.get(member).is_some())
    }
}

// === questions ===

pub(crate) fn ask(round: &Round, asked: Vec<Question>, state: Option<&str>) -> Asked {
    let answers: Option<Vec<_>> = asked.iter().map(|question| round.answer(question)).collect();
    match answers {
        Some(answers) if round.state.as_deref() == state => {
            Ok(say(format!("{} {}", json!(answers), state.unwrap_or_default())).into())
        }
        _ => Ok(questions(asked, state).into()),
    }
}

fn questions(asked: Vec<Question>, state: Option<&str>) -> InputRequiredResult {
    let requests = asked.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    InputRequiredResult::new(Some(requests), state.map(|state| codec().seal(state.as_bytes())))
}

fn codec() -> RequestStateCodec {
    RequestStateCodec::new(STATE_KEY)
}

fn form(key: &'static str, message: &str, member: &str, kind: &str) -> Result<Question, ErrorData> {
    let schema = json!({ "type": "object", "properties": { member: { "type": kind } }, "required": [member] });
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.into(),
        requested_schema: serde_json::from_value(schema).map_err(undeliverable)?,
    };
    Ok((key, InputRequest::Elicitation(ElicitRequest::new(params))))
}

pub(crate) fn name(key: &'static str) -> Result<Question, ErrorData> {
    form(key, "What is your name?", "name", "string")
}

fn colour() -> Result<Question, ErrorData> {
    form("step2", "Step 2: What is your favorite color?", "color", "string")
}

pub(crate) fn confirm(key: &'static str) -> Result<Question, ErrorData> {
    form(key, "Please confirm", "ok", "boolean")
}

fn sampling(key: &'static str, prompt: &str, max_tokens: u32) -> Question {
    let params =
        CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], max_tokens);
    (key, InputRequest::CreateMessage(CreateMessageRequest::new(params)))
}

fn greeting() -> Question {
    sampling("greeting", "Generate a greeting", 50)
}

fn roots() -> Question {
    ("client_roots", InputRequest::ListRoots(ListRootsRequest::default()))
}
