//! Tools that answer, and tools that notify before they do.

use std::time::Duration;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam,
};
use rmcp::schemars::JsonSchema;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use serde::Deserialize;
use serde_json::json;

use crate::content::{audio, image, resource, schema_2020_12};
use crate::handler::{Change, ConformanceServer};

const PAUSE: Duration = Duration::from_millis(50);
/// Longer than a gateway waits before it makes a stream of its answer.
const LONG_PAUSE: Duration = Duration::from_secs(1);

#[derive(Deserialize, JsonSchema)]
struct HeaderArguments {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

pub(crate) fn say(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

#[tool_router(router = simple_tools, vis = "pub(crate)")]
impl ConformanceServer {
    #[tool(description = "Answers with text")]
    async fn test_simple_text(&self) -> CallToolResult {
        say("This is a simple text response for testing.")
    }

    #[tool(description = "Answers with an image")]
    async fn test_image_content(&self) -> CallToolResult {
        CallToolResult::success(vec![image()])
    }

    #[tool(description = "Answers with a recording")]
    async fn test_audio_content(&self) -> CallToolResult {
        CallToolResult::success(vec![audio()])
    }

    #[tool(description = "Answers with a resource")]
    async fn test_embedded_resource(&self) -> CallToolResult {
        let text = "This is an embedded resource content.";
        CallToolResult::success(vec![resource("test://embedded-resource", "text/plain", text)])
    }

    #[tool(description = "Answers with text, an image and a resource")]
    async fn test_multiple_content_types(&self) -> CallToolResult {
        let data = r#"{"test":"data","value":123}"#;
        CallToolResult::success(vec![
            ContentBlock::text("Multiple content types test:"),
            image(),
            resource("test://mixed-content-resource", "application/json", data),
        ])
    }

    #[tool(description = "Fails")]
    async fn test_error_handling(&self) -> CallToolResult {
        let text = "This tool intentionally returns an error for testing";
        CallToolResult::error(vec![ContentBlock::text(text)])
    }

    #[tool(description = "Says a value that travels in a header too")]
    async fn test_custom_header(
        &self,
        Parameters(HeaderArguments { value }): Parameters<HeaderArguments>,
    ) -> CallToolResult {
        say(value)
    }

    #[tool(description = "Has many keywords", input_schema = schema_2020_12())]
    async fn json_schema_2020_12_tool(&self) -> CallToolResult {
        say("the schema is what matters")
    }

    #[tool(description = "Logs three times")]
    async fn test_tool_with_logging(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            log(&context, text).await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(say("logged three times"))
    }

    #[tool(description = "Logs for clients that asked")]
    async fn test_logging_tool(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        if context.meta.log_level().is_some() {
            log(&context, "only for clients that asked").await?;
        }
        Ok(say("logged"))
    }

    #[tool(description = "Reports progress three times")]
    async fn test_tool_with_progress(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(token) = context.meta.get_progress_token() else {
            return Ok(say("no progress was asked for"));
        };
        for step in [0.0, 50.0, 100.0] {
            let progress = ProgressNotificationParam::new(token.clone(), step).with_total(100.0);
            let sent =
                context.peer.notify_progress(progress.with_message(format!("{step} of 100"))).await;
            sent.map_err(undeliverable)?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(say("made progress three times"))
    }

    #[tool(description = "Takes a moment")]
    async fn test_reconnection(&self) -> CallToolResult {
        tokio::time::sleep(LONG_PAUSE).await;
        say("Reconnection test completed successfully")
    }

    #[tool(description = "Announces that the tools changed")]
    async fn test_trigger_tool_change(&self) -> CallToolResult {
        self.announce(Change::Tools);
        say("announced")
    }

    #[tool(description = "Announces that the prompts changed")]
    async fn test_trigger_prompt_change(&self) -> CallToolResult {
        self.announce(Change::Prompts);
        say("announced")
    }
}

async fn log(context: &RequestContext<RoleServer>, text: &str) -> Result<(), ErrorData> {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
    context.peer.notify_logging_message(message).await.map_err(undeliverable)
}

pub(crate) fn undeliverable(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
