//! Tests of changed files under load: the new version takes over as a whole, or the old one continues.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use switchboard_plugin::PluginServer;

use crate::{
    client::{Client, words},
    source::{Folder, host, host_with, options, put},
};

/// How long a change may take to be noticed; an idle machine is far faster.
const NOTICED: Duration = Duration::from_secs(10);

/// Calls until the answer is `expected`.
async fn until(client: &mut Client, expected: &str) {
    let end = Instant::now() + NOTICED;
    loop {
        let found = client.call("act", json!({})).await;
        if found == expected {
            return;
        }
        assert!(Instant::now() < end, "{found}, not {expected}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits for a problem that contains `expected`.
async fn problem(plugins: &PluginServer, expected: &str) {
    let end = Instant::now() + NOTICED;
    while !plugins.problems().iter().any(|problem| problem.what.contains(expected)) {
        assert!(Instant::now() < end, "{:?}", plugins.problems());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn changes(client: &Client) -> Vec<&Value> {
    client
        .heard
        .iter()
        .filter(|message| message["method"] == "notifications/tools/list_changed")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_takes_over_and_a_broken_one_does_not() {
    let (folder, made) = (Folder::new(), Folder::new());
    let one = made.compile("one", &["VERSION=\"1\""]);
    let two = made.compile("two", &["VERSION=\"2\""]);
    let more = made.compile("more", &["VERSION=\"3\"", "MORE"]);
    let broken = made.compile("broken", &["FAIL_INITIALIZE"]);
    let plugin = folder.path().join("plugin.so");
    put(&one, &plugin);
    let plugins = Arc::new(host(&folder).await);
    let mut client = Client::greeted(&plugins).await;
    until(&mut client, "1").await;

    // A running call finishes on the version it began on.
    let slow = json!({ "name": "act", "arguments": { "how": "sleep" } });
    let id = client.begin("tools/call", slow).await;
    put(&two, &plugin);
    assert_eq!(words(&client.answer(id).await), "1");
    until(&mut client, "2").await;
    assert!(changes(&client).is_empty(), "the list is what it was");

    put(&broken, &plugin);
    problem(&plugins, "`Initialize` failed").await;
    assert_eq!(client.call("act", json!({})).await, "2");

    put(&more, &plugin);
    until(&mut client, "3").await;
    // The list notification is independent of answers, and may come after an answer of the new version.
    let end = Instant::now() + NOTICED;
    while changes(&client).is_empty() && Instant::now() < end {
        client.call("act", json!({})).await;
    }
    assert_eq!(changes(&client).len(), 1, "{:?}", client.heard);
    assert_eq!(plugins.problems(), []);

    std::fs::remove_file(&plugin).unwrap();
    until(&mut client, "error: there is no tool `act`").await;
    put(&one, &plugin);
    until(&mut client, "1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_keeps_crashing_is_rolled_back() {
    let (folder, made) = (Folder::new(), Folder::new());
    let good = made.compile("good", &["VERSION=\"good\""]);
    let bad = made.compile("bad", &["VERSION=\"bad\"", "ALWAYS_CRASH"]);
    let plugin = folder.path().join("plugin.so");
    put(&good, &plugin);
    let plugins = Arc::new(host(&folder).await);
    let mut client = Client::greeted(&plugins).await;
    until(&mut client, "good").await;
    put(&bad, &plugin);
    let end = Instant::now() + NOTICED;
    let mut crashed = 0;
    while Instant::now() < end && crashed < 3 {
        crashed += u32::from(client.call("act", json!({})).await.contains("SIGABRT"));
    }
    assert_eq!(crashed, 3);
    until(&mut client, "good").await;
    problem(&plugins, "SIGABRT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_outlives_four_newer_versions_and_not_five() {
    let (folder, made) = (Folder::new(), Folder::new());
    let versions =
        ["0", "1"].map(|version| made.compile(version, &[&format!("VERSION=\"{version}\"")]));
    let plugin = folder.path().join("plugin.so");
    put(&versions[0], &plugin);
    let mut options = options();
    options.terms.call = Duration::from_secs(60);
    let plugins = Arc::new(host_with(&folder, options).await);
    let mut client = Client::greeted(&plugins).await;
    let hang = json!({ "name": "act", "arguments": { "how": "hang" } });
    let oldest = client.begin("tools/call", hang.clone()).await;
    for newer in 1..=5 {
        assert!(client.heard.is_empty(), "{:?}", client.heard);
        put(&versions[newer % 2], &plugin);
        until(&mut client, &(newer % 2).to_string()).await;
        client.begin("tools/call", hang.clone()).await;
    }
    // The answer may have come already, among other answers.
    let early = client.heard.iter().position(|message| message["id"] == oldest);
    let ended = match early {
        Some(at) => client.heard.remove(at).unwrap(),
        None => client.answer(oldest).await,
    };
    let ended = words(&ended);
    assert!(ended.contains("too old to be kept"), "{ended}");
}
