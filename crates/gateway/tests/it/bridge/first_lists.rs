//! What a client waits for that comes before its servers do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::engine::InProcessServer;
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_gateway::bridge::{BridgeOptions, ToolSearch};
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, ListKind};
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::{Era, Version};
use tokio::time::Instant;

use super::changes::Growing;
use super::{ALL, Gateway, raw, soon};

/// A server that takes connections and says nothing.
fn silent(name: &str) -> InProcessServer {
    let ends = Mutex::new(Vec::new());
    InProcessServer::from_link(name, move || {
        let (ours, theirs) = link_pair();
        ends.lock().unwrap().push(theirs);
        Ok(ours)
    })
}

#[tokio::test(start_paused = true)]
async fn a_first_list_is_over_at_one_deadline_however_often_it_waits() {
    let server = Arc::new(Growing::default());
    server.held.send_replace(true);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let options = BridgeOptions::default();
    let (patience, servers) =
        (options.first_list, vec![server.in_process("slow", Era::Legacy), silent("silent")]);
    let gateway = Gateway::among(folder, servers, "{}", options).await;
    // Its era is known, so that a client of another kind waits for a connection of its own there; and then for the
    // server that says nothing.
    let mut changes = gateway.engine.changes();
    let is_connected = || {
        let snapshot = gateway.engine.snapshot(&"test".into()).unwrap();
        snapshot.server("slow").unwrap().status.word() == "connected"
    };
    soon(async {
        while !is_connected() {
            changes.changed().await.unwrap();
        }
    })
    .await;
    // The handshake waits, so that the client learns of the extensions of its servers.
    let began = Instant::now();
    let (client, _inbox) = gateway
        .client_of(Version::LATEST_LEGACY, ALL, LOCAL_PRINCIPAL, ViewSelection::Everything)
        .await;
    soon(client.list(ListKind::Tools)).await.unwrap();
    let waited = began.elapsed();
    assert!(waited >= patience, "it waited: {waited:?}");
    assert!(waited < patience + Duration::from_millis(500), "{waited:?}");
    gateway.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_first_search_waits_for_servers_that_have_not_said_what_they_offer() {
    let version = Version::LATEST_LEGACY;
    let server = Arc::new(Growing::default());
    server.held.send_replace(true);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let options = BridgeOptions { tool_search: ToolSearch::On, ..BridgeOptions::default() };
    let servers = vec![server.in_process("late", Era::Modern)];
    let gateway = Gateway::among(folder, servers, "{}", options).await;
    // The handshake waits already.
    let finding = async {
        let (client, _inbox) =
            gateway.client_of(version, "{}", LOCAL_PRINCIPAL, ViewSelection::Everything).await;
        let call = CallRequest::call_tool("find_tools", &raw(r#"{"query":"t0"}"#));
        client.call(call).result().await
    };
    let coming = async {
        // The clock of the test: nothing else is left to do by then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.held.send_replace(false);
    };
    let (found, ()) = soon(async { tokio::join!(finding, coming) }).await;
    let found: Value = found.unwrap().decode().unwrap();
    let found: Value = serde_json::from_str(found["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(found[0]["name"], json!("late__t0"), "{version}: {found}");
    gateway.engine.shutdown().await;
}
