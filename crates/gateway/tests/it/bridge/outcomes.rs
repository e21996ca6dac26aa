//! Tests of servers that end during a call: it is unknown whether the call was carried out, and the client is told
//! so.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::face::{self, FaceOptions};
use switchboard_gateway::view_provider::{OpenView, ViewError, ViewProvider, ViewRequest};
use switchboard_testkit::programs::program;
use switchboard_wire::client::{CallRequest, Client, ListKind};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServerDescription,
    ServerHandler,
};
use switchboard_wire::{Era, Error, Version};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Gateway, raw, soon};

/// A network server that closes all connections and ends when its tool `die` is called or its note is read.
struct Doomed {
    dies: Arc<Notify>,
}

impl Doomed {
    /// Serves on its own thread, where everything ends at once. Returns the address.
    fn start() -> std::net::SocketAddr {
        let (say, said) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                say.send(listener.local_addr().unwrap()).unwrap();
                let dies = Arc::<Notify>::default();
                let front = Arc::new(Self { dies: Arc::clone(&dies) });
                let over = CancellationToken::new();
                tokio::select! {
                    served = face::serve(listener, front, FaceOptions::local(), over) => {
                        served.unwrap();
                    }
                    () = dies.notified() => {}
                }
            });
        });
        said.recv().unwrap()
    }
}

impl ViewProvider for Doomed {
    type View = Self;

    async fn open(&self, _: ViewRequest) -> Result<OpenView<Self>, ViewError> {
        let view = Arc::new(Self { dies: Arc::clone(&self.dies) });
        Ok(OpenView { view, changes: ChangeBroadcaster::default() })
    }
}

impl ServerHandler for Doomed {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"doomed","version":"1"}"#),
            capabilities: raw(r#"{"tools":{},"resources":{}}"#),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            let tool = json!({ "name": "die", "inputSchema": { "type": "object" } });
            let note = json!({ "uri": "note://doomed", "name": "note" });
            let result = match &*asked.method {
                "tools/list" => json!({ "tools": [tool] }),
                "resources/list" => json!({ "resources": [note] }),
                "resources/templates/list" => json!({ "resourceTemplates": [] }),
                "tools/call" | "resources/read" => {
                    self.dies.notify_one();
                    std::future::pending().await
                }
                other => return Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            };
            Ok(HandlerReply::Complete(raw(&result.to_string())))
        })
    }
}

/// The remedy and the text of a failed request.
async fn failure(client: &Client, call: CallRequest) -> (String, String) {
    match soon(client.call(call).result()).await {
        Err(Error::Rpc(error)) => {
            let data: Value = error.data.unwrap().decode().unwrap();
            (data["remedy"].as_str().unwrap().to_owned(), error.message)
        }
        other => panic!("{other:?}"),
    }
}

/// A client of a gateway with a server of this entry, once the server has listed its tools.
async fn before(entry: &Value, version: Version) -> (Gateway, Client) {
    let servers = json!({ "mcpServers": { "doomed": entry } });
    let gateway = Gateway::start(Era::Modern, &servers.to_string()).await;
    let (client, _inbox) = gateway.client(version, "{}").await;
    let listed = soon(client.list(ListKind::Tools)).await.unwrap();
    assert!(listed.items.iter().any(|tool| tool.as_str().contains("doomed__die")), "{listed:?}");
    (gateway, client)
}

#[tokio::test]
async fn a_call_that_may_have_run_is_not_to_be_retried() {
    type Entry = fn() -> Value;
    let process: Entry = || json!({ "command": program("faulty") });
    let http: Entry =
        || json!({ "type": "http", "url": format!("http://{}/mcp", Doomed::start()) });
    let ws: Entry = || json!({ "type": "ws", "url": format!("ws://{}/ws", Doomed::start()) });
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        for (transport, entry) in [("stdio", process), ("http", http), ("ws", ws)] {
            let (gateway, client) = before(&entry(), version).await;
            let (remedy, words) =
                failure(&client, CallRequest::call_tool("doomed__die", &raw("{}"))).await;
            assert_eq!(remedy, "unknown", "{transport}, {version}: {words}");
            assert!(words.contains("check before you repeat it"), "{transport}: {words}");
            client.close().await;
            gateway.engine.shutdown().await;
        }
        // Reading has no effect, so it may be repeated.
        for (transport, entry) in [("http", http), ("ws", ws)] {
            let (gateway, client) = before(&entry(), version).await;
            let (remedy, words) =
                failure(&client, CallRequest::read_resource("note://doomed")).await;
            assert_eq!(remedy, "retry", "{transport}, {version}: {words}");
            assert!(!words.contains("carried out"), "{transport}: {words}");
            client.close().await;
            gateway.engine.shutdown().await;
        }
    }
}

/// A call that timed out may have been carried out, too.
#[tokio::test]
async fn a_call_that_is_not_answered_in_time_may_have_run() {
    let settings = r#"{"env":{"MCP_TOOL_TIMEOUT":"50"}}"#;
    let gateway =
        Gateway::with_user_settings(Era::Legacy, settings, BridgeOptions::default()).await;
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    let (remedy, words) = failure(&client, CallRequest::call_tool("one__hang", &raw("{}"))).await;
    assert_eq!(remedy, "unknown", "{words}");
    client.close().await;
    gateway.engine.shutdown().await;
}
