//! A gateway as one writes it with rmcp in an afternoon: its server before, its client behind, one handler between.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::{ErrorData, Peer, RoleClient, RoleServer, ServerHandler, ServiceError, ServiceExt as _};

use super::{Behind, Upstream};

#[derive(Clone)]
struct Forward(Peer<RoleClient>);

pub(super) async fn serve(behind: Behind, upstream: Upstream) {
    let mut child = None;
    let upstream: RunningService<RoleClient, ()> = match behind {
        Behind::Stdio => {
            let mut upstream = super::started(upstream);
            let pipes = (upstream.stdout.take().unwrap(), upstream.stdin.take().unwrap());
            child = Some(upstream);
            ().serve(pipes).await.unwrap()
        }
        Behind::Http(address) => {
            // Its HTTP client wants to know how to encrypt, even where nothing is encrypted.
            rustls::crypto::ring::default_provider().install_default().unwrap();
            let url = format!("http://{address}/mcp");
            ().serve(StreamableHttpClientTransport::from_uri(url)).await.unwrap()
        }
    };
    let forward = Forward(upstream.peer().clone());
    super::serve(StreamableHttpServerConfig::default(), move || forward.clone()).await;
    drop((upstream, child));
}

// === impl Forward ===

impl ServerHandler for Forward {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call_tool_once(request).await.map_err(refused)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.list_tools(request).await.map_err(refused)
    }
}

fn refused(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}
