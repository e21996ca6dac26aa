//! Tests that one change is announced once, for any number of servers, connections and lists.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_core::engine::InProcessServer;
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, InboxEvent, ListKind, ServerInbox};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, HandlerReply, HandlerRequest, RequestContext,
    ServeOptions, ServerDescription, ServerHandler, serve,
};
use switchboard_wire::{Era, Version};

use tokio::sync::watch;

use super::{ALL, Gateway, raw, soon};

/// A server with lists that a test changes. Each list has as many items as its number says.
#[derive(Default)]
pub(super) struct Growing {
    /// While set, it answers nothing.
    pub(super) held: watch::Sender<bool>,
    changes: ChangeBroadcaster,
    tools: Mutex<usize>,
    prompts: Mutex<usize>,
    resources: Mutex<usize>,
    templates: Mutex<usize>,
}

impl Growing {
    fn grow(&self, list: ListKind) {
        let count = match list {
            ListKind::Tools => &self.tools,
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
        };
        *count.lock().unwrap() += 1;
    }

    pub(super) fn in_process(self: &Arc<Self>, name: &str, era: Era) -> InProcessServer {
        let server = Arc::clone(self);
        InProcessServer::from_link(name, move || {
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
}

impl ServerHandler for Growing {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"growing","version":"1"}"#),
            capabilities: raw(
                r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}}"#,
            ),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let list = |member: &str, count: &Mutex<usize>, item: fn(usize) -> Value| {
            let items: Vec<Value> = (0..=*count.lock().unwrap()).map(item).collect();
            Ok(HandlerReply::Complete(Raw::from_value(&json!({ member: items })).unwrap()))
        };
        let tool =
            |number| json!({ "name": format!("t{number}"), "inputSchema": { "type": "object" } });
        let uri = |number| json!({ "name": "r", "uri": format!("r:{number}") });
        let template = |number| json!({ "name": "t", "uriTemplate": format!("t{number}:{{x}}") });
        let answer = match &*asked.method {
            "tools/list" => list("tools", &self.tools, tool),
            "prompts/list" => {
                list("prompts", &self.prompts, |n| json!({ "name": format!("p{n}") }))
            }
            "resources/list" => list("resources", &self.resources, uri),
            "resources/templates/list" => list("resourceTemplates", &self.templates, template),
            "tools/call" => Ok(HandlerReply::Complete(raw(r#"{"content":[]}"#))),
            "resources/read" => Ok(HandlerReply::Complete(raw(r#"{"contents":[]}"#))),
            other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
        };
        let mut held = self.held.subscribe();
        Box::pin(async move {
            // The sender is in the server.
            let _ = held.wait_for(|held| !held).await;
            answer
        })
    }
}

/// The lists that a client hears of until long after the last change, on a paused clock.
pub(super) async fn heard(inbox: &mut ServerInbox) -> Vec<ListKind> {
    let mut heard = Vec::new();
    let rest = tokio::time::Instant::now() + Duration::from_secs(30);
    while let Ok(incoming) = tokio::time::timeout_at(rest, inbox.next()).await {
        if let InboxEvent::ListChanged(list) = incoming.unwrap() {
            heard.push(list);
        }
    }
    heard
}

async fn list_all(client: &Client) {
    for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates] {
        soon(client.list(list)).await.unwrap();
    }
}

async fn gateway(count: usize, era: Era) -> (Gateway, Vec<Arc<Growing>>) {
    let servers: Vec<Arc<Growing>> = (0..count).map(|_| Arc::default()).collect();
    let name = |number| format!("s{number}");
    let in_process =
        servers.iter().enumerate().map(|(number, server)| server.in_process(&name(number), era));
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let options = BridgeOptions::default();
    (Gateway::among(folder, in_process.collect(), "{}", options).await, servers)
}

#[tokio::test(start_paused = true)]
async fn one_change_is_told_once() {
    for (count, era) in [1, 4].into_iter().flat_map(|n| [(n, Era::Legacy), (n, Era::Modern)]) {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let cell = format!("{version} client, {count} {era} servers");
            let (gateway, servers) = gateway(count, era).await;
            // With legacy servers its calls take their own connection, and each connection hears of a change.
            let (client, mut inbox) = gateway.client(version, ALL).await;
            list_all(&client).await;
            soon(client.call(CallRequest::call_tool("s0__t0", &raw("{}"))).result()).await.unwrap();
            assert_eq!(heard(&mut inbox).await, [], "{cell}: nothing changed since it was listed");

            let told = |list| if list == ListKind::Templates { ListKind::Resources } else { list };
            for list in
                [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates]
            {
                servers[0].grow(list);
                servers[0].changes.announce(ChangeNotification::List(list));
                assert_eq!(heard(&mut inbox).await, [told(list)], "{cell}");
            }
            // A server's notification is passed on once, even if the server repeats it.
            servers[0].changes.announce(ChangeNotification::List(ListKind::Tools));
            assert_eq!(heard(&mut inbox).await, [ListKind::Tools], "{cell}: said without a change");
            servers[0].grow(ListKind::Tools);
            for _ in 0..5 {
                servers[0].changes.announce(ChangeNotification::List(ListKind::Tools));
            }
            assert_eq!(heard(&mut inbox).await, [ListKind::Tools], "{cell}: said five times");
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_of_one_moment_are_told_once_to_those_who_see_them() {
    for era in [Era::Legacy, Era::Modern] {
        let (gateway, servers) = gateway(4, era).await;
        let (client, mut inbox) = gateway.client(Version::LATEST, "{}").await;
        let part = ViewSelection::Server("s3".into());
        let (one, mut aside) = gateway.client_of(Version::LATEST, "{}", "me", part).await;
        list_all(&client).await;
        list_all(&one).await;
        assert_eq!((heard(&mut inbox).await, heard(&mut aside).await), (vec![], vec![]), "{era}");
        for server in &servers[..3] {
            server.grow(ListKind::Tools);
            server.changes.announce(ChangeNotification::List(ListKind::Tools));
        }
        assert_eq!(heard(&mut inbox).await, [ListKind::Tools], "{era}");
        assert_eq!(heard(&mut aside).await, [], "{era}: it sees another server");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_hears_of_a_list_once_it_has_listed_it() {
    for era in [Era::Legacy, Era::Modern] {
        let (gateway, servers) = gateway(2, era).await;
        servers[1].held.send_replace(true);
        // The principal whose servers no opening waits for.
        let (client, mut inbox) = gateway
            .client_of(Version::LATEST_LEGACY, ALL, LOCAL_PRINCIPAL, ViewSelection::Everything)
            .await;
        let grow = |server: &Growing, list| {
            server.grow(list);
            server.changes.announce(ChangeNotification::List(list));
        };
        grow(&servers[0], ListKind::Tools);
        grow(&servers[0], ListKind::Prompts);
        assert_eq!(heard(&mut inbox).await, [], "{era}: it knows no list yet");

        // One server has not answered when the first list is over: that list is told of when it has.
        soon(client.list(ListKind::Tools)).await.unwrap();
        servers[1].held.send_replace(false);
        assert_eq!(heard(&mut inbox).await, [ListKind::Tools], "{era}: its list was a partial one");
        grow(&servers[0], ListKind::Prompts);
        assert_eq!(heard(&mut inbox).await, [], "{era}: it never listed prompts");
        soon(client.list(ListKind::Prompts)).await.unwrap();
        assert_eq!(heard(&mut inbox).await, [], "{era}: its list is of now");
        grow(&servers[0], ListKind::Prompts);
        assert_eq!(heard(&mut inbox).await, [ListKind::Prompts], "{era}");
        gateway.engine.shutdown().await;
    }
}

/// A server that is gone, switched off or withheld leaves no dead tools in a client.
#[tokio::test(start_paused = true)]
async fn a_server_that_leaves_is_told_of() {
    let reasons = [
        ("removed", None),
        ("disabled", Some(r#"{"disabledMcpServers":["s0"]}"#)),
        ("withheld", Some(r#"{"deniedMcpServers":[{"serverName":"s0"}]}"#)),
    ];
    for (reason, settings) in reasons {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            for era in [Era::Legacy, Era::Modern] {
                let cell = format!("{reason}, {version} client, {era} servers");
                let (gateway, servers) = gateway(2, era).await;
                let (client, mut inbox) = gateway.client(version, ALL).await;
                list_all(&client).await;
                assert_eq!(heard(&mut inbox).await, [], "{cell}: nothing changed");
                let rest = settings.map_or(1, |_| 0);
                if let Some(settings) = settings {
                    let managed = gateway.folder.path().join("managed");
                    std::fs::create_dir_all(&managed).unwrap();
                    std::fs::write(managed.join("managed-settings.json"), settings).unwrap();
                }
                let left = servers.iter().enumerate().skip(rest);
                let left =
                    left.map(|(number, server)| server.in_process(&format!("s{number}"), era));
                gateway.apply_again(left.collect());
                let all = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
                assert_eq!(heard(&mut inbox).await, all, "{cell}");
                let tools = soon(client.list(ListKind::Tools)).await.unwrap();
                let name = |tool: &Raw| tool.get("name").unwrap().unwrap().to_text().unwrap();
                let names: Vec<_> = tools.items.iter().map(name).collect();
                let has = |server: &str| names.iter().any(|name| name.starts_with(server));
                assert!(has("s1__") && !has("s0__"), "{cell}: {names:?}");
                gateway.engine.shutdown().await;
            }
        }
    }
}
