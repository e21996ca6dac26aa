//! Tools that ask over the back channel of a legacy session. A modern client has none; there the SDK refuses.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, CreateMessageRequestParams, ElicitRequestParams, SamplingMessage,
};
use rmcp::schemars::JsonSchema;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, elicit_safe, tool, tool_router};
use serde::{Deserialize, Serialize};

use crate::content::parse;
use crate::handler::ConformanceServer;
use crate::tools::{say, undeliverable};

const DEFAULTS: &str = include_str!("../../../forms/defaults.json");
const ENUMS: &str = include_str!("../../../forms/enums.json");

#[derive(Deserialize, JsonSchema)]
struct SamplingArguments {
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct ElicitationArguments {
    message: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Contact {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

elicit_safe!(Contact);

#[tool_router(router = legacy_tools, vis = "pub(crate)")]
impl ConformanceServer {
    #[tool(description = "Asks the client's model")]
    async fn test_sampling(
        &self,
        Parameters(SamplingArguments { prompt }): Parameters<SamplingArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
        let answer = context.peer.create_message(params).await.map_err(undeliverable)?;
        Ok(say(format!("{answer:?}")))
    }

    #[tool(description = "Asks for a name and an address")]
    async fn test_elicitation(
        &self,
        Parameters(ElicitationArguments { message }): Parameters<ElicitationArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let answer = context.peer.elicit::<Contact>(message).await.map_err(undeliverable)?;
        Ok(say(format!("{answer:?}")))
    }

    #[tool(description = "Asks with default values")]
    async fn test_elicitation_sep1034_defaults(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        elicit(&context, "Please review the values", DEFAULTS).await
    }

    #[tool(description = "Asks with every form of choice")]
    async fn test_elicitation_sep1330_enums(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        elicit(&context, "Please choose", ENUMS).await
    }
}

async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &str,
    form: &str,
) -> Result<CallToolResult, ErrorData> {
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.into(),
        requested_schema: serde_json::from_value(parse(form)).map_err(undeliverable)?,
    };
    let answer = context.peer.create_elicitation(params).await.map_err(undeliverable)?;
    Ok(say(format!("{answer:?}")))
}
