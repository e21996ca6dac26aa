//! Tests of the report of extensions: on what clients and servers agree, and what is lost.

use std::time::Duration;

use serde_json::json;
use switchboard_core::connection::LostCapability;
use switchboard_core::engine::{ClientExtensions, ExtensionReport};
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::CallRequest;

use super::extensions::names;
use super::matrix::run;
use super::thing_server::{CLIENT, ID, ThingServer, gateway, pairings};
use super::{Gateway, raw, soon};

/// The report, once it fits.
async fn report(gateway: &Gateway, fits: impl Fn(&ExtensionReport) -> bool) -> ExtensionReport {
    let mut changes = gateway.engine.changes();
    let waiting = async {
        loop {
            let report = gateway.engine.snapshot(&"test".into()).unwrap().extensions.clone();
            if fits(&report) {
                return report;
            }
            changes.changed().await.unwrap();
        }
    };
    soon(waiting).await
}

fn agreed(client: &ClientExtensions) -> Vec<&str> {
    client.negotiated.keys().map(String::as_str).collect()
}

fn lost_names(lost: &[LostCapability]) -> Vec<&str> {
    lost.iter().map(|lost| &*lost.name).collect()
}

#[tokio::test]
async fn a_client_agrees_with_the_servers_that_it_sees() {
    for (era, version) in pairings() {
        let servers = [ThingServer::new("{}"), ThingServer::new("{}")];
        let gateway = gateway(&[("one", &servers[0]), ("two", &servers[1])], era).await;
        for (part, expected) in [
            (ViewSelection::Server("two".into()), vec!["two"]),
            (ViewSelection::Everything, vec!["one", "two"]),
        ] {
            let (client, inbox) = gateway.client_of(version, CLIENT, "local", part).await;
            names(&client).await;
            let report = report(&gateway, |report| !report.clients.is_empty()).await;
            assert_eq!(agreed(&report.clients[0]), expected, "{version} client, {era} server");
            assert_eq!(report.clients[0].lost, [], "{version} client, {era} server");
            client.close().await;
            drop((client, inbox));
            self::report(&gateway, |report| report.clients.is_empty()).await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_ready_after_the_handshake_is_a_loss() {
    for (era, version) in pairings() {
        for (declared, agrees) in [(CLIENT, true), ("{}", false)] {
            let cell = format!("{version} client that declares {declared}, {era} server");
            let server = ThingServer::new("{}");
            server.held.send_replace(true);
            let gateway = gateway(&[("late", &server)], era).await;
            let part = ViewSelection::Everything;
            let (client, inbox) = gateway.client_of(version, declared, "local", part).await;
            let told = client.server_facts().capabilities.get_path(&["extensions", ID]).unwrap();
            assert_eq!(told, None, "{cell}");
            server.held.send_replace(false);
            let fits = |report: &ExtensionReport| {
                report.clients.first().is_some_and(|client| !client.lost.is_empty())
            };
            let late = report(&gateway, fits).await;
            assert_eq!(agreed(&late.clients[0]), [""; 0], "{cell}");
            let lost = lost_names(&late.clients[0].lost);
            assert!(
                lost.contains(&"extensions.vendor.example/things of `late`"),
                "{cell}: {lost:?}"
            );
            // A client that connects now is told.
            client.close().await;
            drop((client, inbox));
            self::report(&gateway, |report| report.clients.is_empty()).await;
            let part = ViewSelection::Everything;
            let (client, _inbox) = gateway.client_of(version, declared, "local", part).await;
            names(&client).await;
            let report = report(&gateway, |_| true).await;
            let client = report.clients.first();
            assert_eq!(client.is_some_and(|client| agreed(client) == ["late"]), agrees, "{cell}");
            assert!(client.is_none_or(|client| client.lost.is_empty()), "{cell}: {client:?}");
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_extensions_waits_for_those_of_starting_servers() {
    for (era, version) in pairings() {
        let server = ThingServer::new("{}");
        server.held.send_replace(true);
        let gateway = gateway(&[("late", &server)], era).await;
        let coming = async {
            // The clock of the test: nothing else is left to do by then.
            tokio::time::sleep(Duration::from_secs(1)).await;
            server.held.send_replace(false);
        };
        let connecting = gateway.client_of(version, "{}", "local", ViewSelection::Everything);
        let ((client, _inbox), ()) = soon(async { tokio::join!(connecting, coming) }).await;
        let told = client.server_facts().capabilities.get_path(&["extensions", ID]).unwrap();
        assert!(told.is_some(), "{version} client, {era} server");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_request_of_a_server_that_no_client_gets_is_reported() {
    for (era, version) in pairings() {
        let cell = format!("{version} client, {era} server");
        let server = ThingServer::new("{}");
        let gateway = gateway(&[("one", &server)], era).await;
        let (client, _inbox) =
            gateway.client_of(version, CLIENT, "local", ViewSelection::Everything).await;
        let arguments = raw(&json!({ "method": "other.example/ask" }).to_string());
        let asking = CallRequest::call_tool("one__plain", &arguments);
        let (happened, result) = soon(run(&client, asking, "{}")).await;
        assert_eq!(happened, [""; 0], "{cell}: {result:?}");
        let report = report(&gateway, |report| !report.servers[0].lost.is_empty()).await;
        let lost = &report.servers[0].lost;
        assert_eq!(lost_names(lost), ["request `other.example/ask` to clients"], "{cell}");
        assert!(lost[0].reason.contains("did not declare"), "{cell}: {}", lost[0].reason);
        gateway.engine.shutdown().await;
    }
}
