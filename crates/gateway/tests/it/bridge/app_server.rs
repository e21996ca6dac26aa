//! A server with MCP Apps, for the tests of `apps`. Its answers name the server, so that a test sees which was reached.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_core::engine::InProcessServer;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_wire::Era;
use switchboard_wire::client::InputRequest;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve,
};

use super::{Gateway, raw};

/// The metadata of every UI resource, with spellings that a copy would change.
pub(super) const UI_META: &str = r#"{"ui":{ "csp":{"connectDomains":["https://\u0061pi.test"]},"permissions":{"camera":{}},"domain":"d.test","prefersBorder":true,"odd":1.0e0}}"#;
/// A tool with a UI, in both forms.
pub(super) const SHOW: &str = r#"{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://shared/view"},"ui/resourceUri":"ui://shared/view"}}"#;
/// A tool for apps only.
pub(super) const REFRESH: &str = r#"{"name":"refresh","description":"reloads the dashboard","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://shared/view","visibility":["app"]}}}"#;
/// A tool for models only.
pub(super) const THINK: &str =
    r#"{"name":"think","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["model"]}}}"#;
/// A tool without UI.
pub(super) const PLAIN: &str = r#"{"name":"plain","inputSchema":{"type":"object"}}"#;

/// A tool that asks the client's model about its UI.
pub(super) const ASK: &str = r#"{"name":"ask","inputSchema":{"type":"object"}}"#;
/// What it asks.
const QUESTION: &str = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"resource_link","uri":"ui://shared/view","name":"v"}]}]}],"maxTokens":5}"#;

/// The server.
pub(super) struct AppServer {
    name: &'static str,
    /// Its tools, as JSON.
    tools: Vec<String>,
    /// Whether it lists its UI resource and template.
    lists_resources: bool,
    /// How many characters its HTML, its structured content and its text have.
    size: usize,
    pub(super) changes: ChangeBroadcaster,
}

impl AppServer {
    /// A server with these tools, which lists its resources.
    pub(super) fn new(name: &'static str, tools: &[&str]) -> Self {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let changes = ChangeBroadcaster::default();
        Self { name, tools, lists_resources: true, size: 10, changes }
    }

    /// The server without lists of resources: only its tools point to its UI.
    pub(super) fn unlisted(self) -> Self {
        Self { lists_resources: false, ..self }
    }

    /// The server with large answers.
    pub(super) fn with_size(self, size: usize) -> Self {
        Self { size, ..self }
    }

    pub(super) fn in_process(self: &Arc<Self>, era: Era) -> InProcessServer {
        let server = Arc::clone(self);
        InProcessServer::from_link(self.name, move || {
            let (ours, theirs) = link_pair();
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                let changes = server.changes.clone();
                // The session ends with its link.
                let _ = serve(theirs, server, &changes, ServeOptions::default()).await;
            });
            Ok(match era {
                Era::Modern => ours,
                Era::Legacy => switchboard_testkit::older::legacy_only(ours),
            })
        })
    }

    fn read(&self, asked: &HandlerRequest) -> Raw {
        let uri = asked.params.get("uri").unwrap().unwrap();
        let html = format!("<p>of {}</p>{}", self.name, "x".repeat(self.size));
        raw(&format!(
            r#"{{"contents":[{{"uri":{uri},"mimeType":"text/html;profile=mcp-app","text":"{html}","_meta":{UI_META}}}]}}"#
        ))
    }

    fn tool(&self, asked: &HandlerRequest) -> Raw {
        let name = asked.params.get("name").unwrap().unwrap();
        let (server, filler) = (self.name, "y".repeat(self.size));
        raw(&format!(
            r#"{{"content":[{{"type":"resource_link","uri":"ui://shared/view","name":"v"}},
                {{"type":"resource","resource":{{"uri":"ui://shared/part","text":"t"}}}},
                {{"type":"text","text":"see ui://shared/view {filler}"}}],
                "structuredContent":{{"server":"{server}","tool":{name},"uri":"ui://shared/view","filler":"{filler}"}},
                "_meta":{{"ui":{{"resourceUri":"ui://shared/view"}}}}}}"#
        ))
    }
}

impl ServerHandler for AppServer {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"apps","version":"1"}"#),
            capabilities: raw(
                r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{}}"#,
            ),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let list = |member: &str, items: Value| {
            let items = if self.lists_resources { items } else { json!([]) };
            Raw::from(json!({ member: items }))
        };
        let answer = match &*asked.method {
            "tools/list" => raw(&format!(r#"{{"tools":[{}]}}"#, self.tools.join(","))),
            "resources/list" => {
                list("resources", json!([{ "uri": "ui://shared/view", "name": "view" }]))
            }
            "resources/templates/list" => list(
                "resourceTemplates",
                json!([{ "uriTemplate": "ui://shared/{id}{?q}", "name": "t" }]),
            ),
            "resources/read" => self.read(&asked),
            "prompts/list" => raw(r#"{"prompts":[{"name":"greet"}]}"#),
            "prompts/get" => raw(
                r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"ui://shared/view","name":"v"}}]}"#,
            ),
            "completion/complete" => {
                let uri = asked.params.get_path(&["ref", "uri"]).unwrap().unwrap();
                raw(&format!(r#"{{"completion":{{"values":[{uri},"{}"]}}}}"#, self.name))
            }
            "tools/call"
                if asked.answers.is_empty() && asked.params.as_str().contains("\"ask\"") =>
            {
                let question = InputRequest {
                    key: "q".to_owned(),
                    method: "sampling/createMessage".to_owned(),
                    params: raw(QUESTION),
                };
                let reply = HandlerReply::NeedsInput { questions: vec![question], state: None };
                return Box::pin(std::future::ready(Ok(reply)));
            }
            "tools/call" => self.tool(&asked),
            other => {
                let error = RpcError::new(code::METHOD_NOT_FOUND, other);
                return Box::pin(std::future::ready(Err(error)));
            }
        };
        Box::pin(std::future::ready(Ok(HandlerReply::Complete(answer))))
    }
}

/// A gateway with these servers of one era.
pub(super) async fn gateway(
    servers: &[&Arc<AppServer>],
    era: Era,
    settings: &str,
    options: BridgeOptions,
) -> Gateway {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let servers = servers.iter().map(|server| server.in_process(era)).collect();
    Gateway::among(folder, servers, settings, options).await
}
