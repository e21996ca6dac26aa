//! Tests of resource subscriptions, which survive changes of workers and clients.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use switchboard_plugin::PluginServer;

use crate::{
    client::Client,
    source::{Folder, Source, host, put},
};

/// Longer than any step of these tests takes.
const PATIENCE: Duration = Duration::from_secs(20);

async fn subscribe(client: &mut Client, uri: &str) {
    let done = client.ask("resources/subscribe", json!({ "uri": uri })).await;
    assert_eq!(done["result"], json!({}), "{uri}");
}

/// Waits until the plugin reports these subscriptions, which reach it independently of calls.
async fn wanted(client: &mut Client, expected: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = client.call("wanted", json!({})).await;
        if found == expected {
            return;
        }
        assert!(Instant::now() < end, "wanted are `{found}`, not `{expected}`");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits for the notification that a resource has changed.
async fn updated(client: &mut Client, uri: &str) {
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
    let is_it = |message: &Value| *message == note;
    if let Some(at) = client.heard.iter().position(is_it) {
        client.heard.remove(at);
        return;
    }
    while !is_it(&client.next().await) {}
}

async fn plugins(folder: &Folder) -> Arc<PluginServer> {
    folder.compile_of(Source::Two, "plugin", &["VERSION=\"1\""]);
    Arc::new(host(folder).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_who_wants_a_resource_and_the_last_are_told() {
    let folder = Folder::new();
    let plugins = plugins(&folder).await;
    let (mut one, mut two) = (Client::greeted(&plugins).await, Client::greeted(&plugins).await);
    subscribe(&mut one, "note://a").await;
    // A second subscription of one client counts once.
    subscribe(&mut one, "note://a").await;
    subscribe(&mut two, "note://a").await;
    subscribe(&mut two, "note://b").await;
    wanted(&mut one, "note://a note://b ").await;
    updated(&mut two, "note://b").await;
    one.ask("resources/unsubscribe", json!({ "uri": "note://a" })).await;
    // A client cannot end another client's subscription.
    one.ask("resources/unsubscribe", json!({ "uri": "note://a" })).await;
    one.ask("resources/unsubscribe", json!({ "uri": "note://b" })).await;
    two.ask("resources/unsubscribe", json!({ "uri": "note://b" })).await;
    wanted(&mut one, "note://a ").await;
    // The subscriptions of a client that disconnects end.
    drop(two);
    wanted(&mut one, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_follows_a_crash_knows_what_is_wanted() {
    let folder = Folder::new();
    let plugins = plugins(&folder).await;
    let mut client = Client::greeted(&plugins).await;
    subscribe(&mut client, "note://a").await;
    updated(&mut client, "note://a").await;
    assert!(client.call("crash", json!({})).await.contains("SIGABRT"));
    // A plugin with subscriptions runs even without a call.
    updated(&mut client, "note://a").await;
    wanted(&mut client, "note://a ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_knows_what_is_wanted() {
    let (folder, made) = (Folder::new(), Folder::new());
    let plugins = plugins(&folder).await;
    let mut client = Client::greeted(&plugins).await;
    subscribe(&mut client, "note://a").await;
    updated(&mut client, "note://a").await;
    let newer = made.compile_of(Source::Two, "newer", &["VERSION=\"2\""]);
    put(&newer, &folder.path().join("plugin.so"));
    updated(&mut client, "note://a").await;
    assert_eq!(client.call("act", json!({})).await, "2");
    wanted(&mut client, "note://a ").await;
    // A plugin that was gone for a while gets the subscriptions when it is back.
    let plugin = folder.path().join("plugin.so");
    std::fs::remove_file(&plugin).unwrap();
    let end = Instant::now() + PATIENCE;
    while client.call("act", json!({})).await == "2" {
        assert!(Instant::now() < end, "it is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    put(&newer, &plugin);
    updated(&mut client, "note://a").await;
}
