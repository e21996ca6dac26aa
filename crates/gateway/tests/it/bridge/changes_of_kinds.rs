//! Clients of different kinds behind one view: each hears of changes to its own lists.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_core::engine::InProcessServer;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_wire::client::{CallRequest, Client, ListKind, ServerInbox};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, HandlerReply, HandlerRequest, RequestContext,
    ServeOptions, ServerDescription, ServerHandler, serve,
};

use super::changes::heard;
use super::{Gateway, raw, soon};

const SAMPLING: &str = r#"{"sampling":{}}"#;

/// A legacy server that shows other tools to clients with sampling.
#[derive(Default)]
struct KindServer {
    /// How many tools it has for clients without sampling, and with it.
    tools: [AtomicUsize; 2],
    connections: Mutex<Vec<Arc<KindConnection>>>,
}

/// One connection to it.
struct KindConnection {
    server: Arc<KindServer>,
    changes: ChangeBroadcaster,
    /// Whether its client has sampling, once it has listed the tools.
    kind: Mutex<Option<bool>>,
}

// === impl KindServer ===

impl KindServer {
    fn in_process(self: &Arc<Self>) -> InProcessServer {
        let server = Arc::clone(self);
        InProcessServer::from_link("kinds", move || {
            let (ours, theirs) = link_pair();
            let (changes, kind) = (ChangeBroadcaster::default(), Mutex::default());
            let connection =
                Arc::new(KindConnection { server: Arc::clone(&server), changes, kind });
            server.connections.lock().unwrap().push(Arc::clone(&connection));
            tokio::spawn(async move {
                let changes = connection.changes.clone();
                // It ends with its link.
                let _ = serve(theirs, connection, &changes, ServeOptions::default()).await;
            });
            Ok(switchboard_testkit::older::legacy_only(ours))
        })
    }

    /// One more tool for clients of a kind, of which their connections are told.
    fn grow(&self, has_sampling: bool) {
        self.tools[usize::from(has_sampling)].fetch_add(1, Ordering::Relaxed);
        for connection in self.connections.lock().unwrap().iter() {
            if *connection.kind.lock().unwrap() == Some(has_sampling) {
                connection.changes.announce(ChangeNotification::List(ListKind::Tools));
            }
        }
    }
}

// === impl KindConnection ===

impl ServerHandler for KindConnection {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"kinds","version":"1"}"#),
            capabilities: raw(r#"{"tools":{"listChanged":true}}"#),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let has_sampling = context.has_capability(&["sampling"]);
        let answer = match &*asked.method {
            "tools/list" => {
                *self.kind.lock().unwrap() = Some(has_sampling);
                let count = self.server.tools[usize::from(has_sampling)].load(Ordering::Relaxed);
                let tool = |number| json!({ "name": format!("{has_sampling}{number}"), "inputSchema": { "type": "object" } });
                let tools: Vec<Value> = (0..=count).map(tool).collect();
                Ok(HandlerReply::Complete(Raw::from_value(&json!({ "tools": tools })).unwrap()))
            }
            "tools/call" => Ok(HandlerReply::Complete(raw(r#"{"content":[]}"#))),
            other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
        };
        Box::pin(std::future::ready(answer))
    }
}

async fn names(client: &Client) -> Vec<String> {
    let listed = soon(client.list(ListKind::Tools)).await.unwrap().items;
    listed.iter().map(|tool| tool.get("name").unwrap().unwrap().to_text().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_client_hears_of_its_own_lists() {
    let server = Arc::new(KindServer::default());
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let options = BridgeOptions::default();
    let gateway = Gateway::among(folder, vec![server.in_process()], "{}", options).await;
    let mut clients = gateway.clients_of_one_view(&[SAMPLING, "{}"]).await;
    let expected = [("kinds__true0", true), ("kinds__false0", false)];
    for ((client, _), (tool, _)) in clients.iter().zip(expected) {
        assert_eq!(names(client).await[0], tool);
        // A call declares more than a list does, and is of the same kind of client.
        soon(client.call(CallRequest::call_tool(tool, &raw("{}"))).result()).await.unwrap();
    }
    let mut inboxes: Vec<&mut ServerInbox> = clients.iter_mut().map(|(_, inbox)| inbox).collect();
    for inbox in &mut inboxes {
        assert_eq!(heard(inbox).await, [], "nothing changed since it was listed");
    }
    // The kind of the first client, of the last one, and of the first again.
    for grown in [0, 1, 0] {
        server.grow(expected[grown].1);
        for (at, inbox) in inboxes.iter_mut().enumerate() {
            let told: &[ListKind] = if at == grown { &[ListKind::Tools] } else { &[] };
            assert_eq!(heard(inbox).await, told, "client {at}, change of {grown}");
        }
    }
    gateway.engine.shutdown().await;
}
