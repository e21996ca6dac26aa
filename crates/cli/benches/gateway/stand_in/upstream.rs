//! The server that everybody forwards to: an echo on the official SDK, as most servers are.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;

use super::Upstream;
use crate::client::Era;

/// Has the tools `echo` and `large`, and as many more as asked for.
#[derive(Clone)]
struct Echo {
    speaks: Era,
    tools: Arc<[Tool]>,
    large: Arc<str>,
}

/// The size of a large result.
const LARGE: usize = 1 << 20;

/// On standard streams, without the threads that the SDK's older way to read them takes.
pub(super) async fn stdio(asked: Upstream) {
    let serving = Echo::new(asked).serve(rmcp::transport::stdio_pipes()).await.unwrap();
    serving.waiting().await.unwrap();
}

/// Over HTTP, without sessions, and with an answer where a stream of one event would do as well.
pub(super) async fn http(asked: Upstream) {
    let config = StreamableHttpServerConfig::default();
    let config = config.with_legacy_session_mode(false).with_json_response(true);
    let echo = Echo::new(asked);
    super::serve(config, move || echo.clone()).await;
}

// === impl Echo ===

impl Echo {
    fn new(Upstream { tools: more, speaks }: Upstream) -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "text": { "type": "string", "description": "What to say." } },
            "required": ["text"],
        });
        let schema = object(schema);
        let mut tools = vec![
            Tool::new("echo", "Says what it was told.", Arc::clone(&schema)),
            Tool::new("large", "Says much.", object(json!({ "type": "object" }))),
        ];
        tools.extend((0..more).map(|number| {
            let description = format!("The tool of number {number}, of which there are many.");
            Tool::new(format!("tool_{number}"), description, Arc::clone(&schema))
        }));
        Self { speaks, tools: tools.into(), large: "x".repeat(LARGE).into() }
    }
}

fn object(schema: serde_json::Value) -> Arc<JsonObject> {
    let serde_json::Value::Object(schema) = schema else { panic!("{schema} is no object") };
    Arc::new(schema)
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    /// Of one era: whoever stands before it is answered in the same way, and at the same cost.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match self.speaks {
            Era::Legacy => &[ProtocolVersion::V_2025_11_25],
            Era::Modern => &[ProtocolVersion::V_2026_07_28],
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let said = match &*request.name {
            "large" => self.large.to_string(),
            _ => {
                let arguments = request.arguments.unwrap_or_default();
                arguments.get("text").and_then(|text| text.as_str()).unwrap_or("").to_owned()
            }
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }
}
