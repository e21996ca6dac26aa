//! Tests of a plugin that floods: its call ends, the next call is answered, and no other plugin is affected.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use switchboard_plugin::{PluginHostOptions, PluginRunOptions};

use crate::{
    client::{Client, words},
    source::{Folder, Source, host_with, options},
};

/// Much less than the timeout of a call, which a flood keeps extending.
const SOON: Duration = Duration::from_secs(25);

fn patient() -> PluginHostOptions {
    PluginHostOptions { terms: PluginRunOptions::default(), ..options() }
}

const FLOODED: &str = "it was stopped because it flooded: \
    more than 2000 notifications or 4 MiB of output a second";

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_any_kind_ends_with_its_worker() {
    let folder = Folder::new();
    folder.compile("v1", &[]);
    let plugins = Arc::new(host_with(&folder, patient()).await);
    let kinds = [
        "flood of notifications",
        "flood of lines",
        "flood of line ends",
        "flood without a line end",
        "flood of errors",
    ];
    for how in kinds {
        let mut client = Client::greeted(&plugins).await;
        let begun = Instant::now();
        let found = client.call("act", json!({ "how": how })).await;
        assert_eq!(found, format!("error: plugin `v1`: {FLOODED}"), "{how}");
        assert_eq!(client.call("act", json!({})).await, "1.0", "after a {how}");
        assert!(begun.elapsed() < SOON, "{how} took {:?}", begun.elapsed());
    }
}

/// The next call comes while the worker floods, and waits for its turn (version 1) or starts at once (version
/// 2).
#[tokio::test(flavor = "multi_thread")]
async fn a_call_beside_a_flood_ends_too() {
    for (source, tool, expected) in [(Source::One, "act", "1.0"), (Source::Two, "flood", "1")] {
        let folder = Folder::new();
        folder.compile_of(source, "flooding", &[]);
        let plugins = Arc::new(host_with(&folder, patient()).await);
        let mut flooding = Client::greeted(&plugins).await;
        let mut beside = Client::greeted(&plugins).await;
        let params = json!({ "name": tool, "arguments": { "how": "flood of notifications" } });
        let begun = Instant::now();
        let flood = flooding.begin("tools/call", params).await;
        // The flood has begun.
        while flooding.next().await["method"] != "notifications/message" {}
        let next = beside.begin("tools/call", json!({ "name": "act" })).await;
        let found = words(&flooding.answer(flood).await);
        assert!(found.ends_with(FLOODED), "{source:?}: {found}");
        let found = words(&beside.answer(next).await);
        assert!(found == expected || found.ends_with(FLOODED), "{source:?}: {found}");
        assert_eq!(beside.call("act", json!({})).await, expected, "{source:?}");
        assert!(begun.elapsed() < SOON, "{source:?} took {:?}", begun.elapsed());
    }
}

/// Ten thousand notifications at once are no flood.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_only_talks_much_is_answered() {
    let folder = Folder::new();
    folder.compile("v1", &[]);
    let plugins = Arc::new(host_with(&folder, patient()).await);
    let mut client = Client::greeted(&plugins).await;
    assert_eq!(client.call("act", json!({ "how": "chatter" })).await, "1.0");
    assert_eq!(plugins.problems(), []);
}
