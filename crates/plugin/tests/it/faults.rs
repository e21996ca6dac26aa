//! Tests of faulty plugins: the call gets an error, a problem names the cause, and the next call gets a new
//! worker.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use switchboard_plugin::{
    PluginHostOptions, PluginRunOptions,
    worker::{WorkerLimits, WorkerSandbox},
};

use crate::{
    client::{Client, words},
    source::{Folder, Source, host, host_with, options},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_goes_wrong_fails_alone() {
    let folder = Folder::new();
    folder.compile("v1", &["VERSION=\"1.0\""]);
    let limits = WorkerLimits { memory: 256 << 20, ..WorkerLimits::default() };
    let terms = PluginRunOptions { limits, ..options().terms };
    let plugins = Arc::new(host_with(&folder, PluginHostOptions { terms, ..options() }).await);
    assert_eq!(plugins.problems(), []);
    let mut client = Client::greeted(&plugins).await;
    let rows = [
        ("", "1.0"),
        ("crash", "error: plugin `v1`: its worker ended: killed by SIGSEGV"),
        ("throw", "error: plugin `v1`: its worker ended: killed by SIGABRT: "),
        ("abort", "error: plugin `v1`: its worker ended: killed by SIGABRT"),
        ("exit", "error: plugin `v1`: its worker ended: exited with status 3"),
        ("hang", "error: plugin `v1`: it did not answer within 1500 ms"),
        ("memory", "error: plugin `v1`: its worker ended: killed by SIGABRT: "),
        ("garbage", "error: the plugin returned what is not JSON"),
        ("bytes", "error: the plugin returned what is not UTF-8"),
        ("list", "error: the plugin returned what is not an object"),
        ("null", "error: the plugin failed: it returned NULL"),
        ("mistake", "mistake: "),
        ("print", "1.0"),
        ("lines", ""),
        ("environment", "GIVEN=1;"),
        // Three standard streams and both ends of the channel.
        ("descriptors", "5"),
    ];
    for (how, expected) in rows {
        let found = client.call("act", json!({ "how": how })).await;
        assert!(found.starts_with(expected), "{how}: {found}");
        // The next call is answered, whatever the fault was.
        assert_eq!(client.call("act", json!({})).await, "1.0", "after {how}");
    }
    assert_eq!(client.call("act", json!({ "how": 1 })).await.split(':').next(), Some("mistake"));
    let problems = plugins.problems();
    assert!(problems[0].what.contains("SIGABRT"), "{problems:?}");
    // The plugin may have executed the call that it had when it ended.
    for (how, remedy) in
        [("crash", json!("unknown")), ("hang", json!("unknown")), ("null", json!(null))]
    {
        let call = json!({ "name": "act", "arguments": { "how": how } });
        let call = client.begin("tools/call", call).await;
        let answer = client.answer(call).await;
        assert_eq!(answer["error"]["data"]["remedy"], remedy, "{how}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_plugin_is_a_problem_beside_the_others() {
    let rows = [
        ("unresolved", "UNRESOLVED", "undefined symbol: nobody_has_this"),
        (
            "export",
            "MISSING_EXPORT",
            "it does not export `switchboard_plugin_v2` nor `CreatePlugin`",
        ),
        ("null", "NULL_CREATE", "`CreatePlugin` returned NULL"),
        ("handle", "NULL_HANDLE", "`HandleRequest` is NULL"),
        ("initialize", "FAIL_INITIALIZE", "`Initialize` failed"),
        ("count", "WRONG_COUNT", "`GetToolCount` returned -5"),
        ("tool", "NULL_TOOL", "`GetTool(0)` returned NULL"),
        ("start", "CRASH_AT_START", "its worker ended: killed by SIGABRT"),
        ("slow", "HANG_AT_START", "it was not ready within 1 s"),
        ("schema", r#"SCHEMA="no""#, "tool 1 (`act`) has no `inputSchema` that is an object"),
    ];
    let folder = Folder::new();
    for (name, definition, _) in rows {
        folder.compile(name, &[definition]);
    }
    std::fs::create_dir(folder.path().join("deeper")).unwrap();
    std::fs::write(folder.path().join("deeper/text.so"), "not an object at all").unwrap();
    let mut foreign = std::fs::read(folder.path().join("null.so")).unwrap();
    foreign[18] ^= 0x40;
    std::fs::write(folder.path().join("foreign.so"), foreign).unwrap();
    folder.compile("zwell", &["VERSION=\"7\""]);

    let mut options = options();
    options.times.start = Duration::from_secs(1);
    let plugins = Arc::new(host_with(&folder, options).await);
    let problems = plugins.problems();
    let told = |name: &str| {
        let of = problems.iter().find(|problem| {
            problem.file.as_ref().is_some_and(|file| file.ends_with(format!("{name}.so")))
        });
        of.unwrap_or_else(|| panic!("no problem with {name}: {problems:?}")).what.clone()
    };
    for (name, _, expected) in rows {
        assert!(told(name).contains(expected), "{name}: {}", told(name));
    }
    assert_eq!(told("text"), "it is not a shared object");
    assert_eq!(told("foreign"), "it was built for another architecture than this program");
    assert_eq!(problems.len(), rows.len() + 2, "{problems:?}");
    let mut client = Client::greeted(&plugins).await;
    assert_eq!(client.call("act", json!({})).await, "7");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_under_the_clients_own_token() {
    let folder = Folder::new();
    folder.compile("v1", &[]);
    let plugins = Arc::new(host(&folder).await);
    let mut client = Client::greeted(&plugins).await;
    for token in [json!(7), json!("seven"), json!(0)] {
        let params = json!({ "name": "act", "arguments": { "how": "progress" },
            "_meta": { "progressToken": token } });
        let id = client.begin("tools/call", params).await;
        assert_eq!(words(&client.answer(id).await), "1.0");
        let note = client.heard.pop_front().expect("progress before the answer");
        assert_eq!(note["method"], "notifications/progress");
        let expected = json!({ "progressToken": token, "progress": 1, "total": 2 });
        assert_eq!(note["params"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_the_first_version_come_one_at_a_time() {
    let folder = Folder::new();
    folder.compile("v1", &[]);
    let plugins = Arc::new(host(&folder).await);
    let mut client = Client::greeted(&plugins).await;
    let begun = std::time::Instant::now();
    let params = json!({ "name": "act", "arguments": { "how": "sleep" } });
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(client.begin("tools/call", params.clone()).await);
    }
    for _ in ids {
        let answer = client.next().await;
        assert_eq!(words(&answer), "1.0");
    }
    assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
}

/// Options under which a call that hangs outlives the test.
fn patient() -> PluginHostOptions {
    let terms = PluginRunOptions { call: Duration::from_secs(3600), ..options().terms };
    PluginHostOptions { terms, ..options() }
}

/// A version 1 plugin cannot be told that its call was cancelled, and answers one call at a time: waiting
/// calls move to another worker. Clients cancel more often than a new version may crash, and a cancellation
/// is no fault of the plugin.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_of_the_first_version_ends_its_worker() {
    let folder = Folder::new();
    folder.compile("v1", &[]);
    let plugins = Arc::new(host_with(&folder, patient()).await);
    let mut waiting = Client::greeted(&plugins).await;
    let call = json!({ "name": "act", "arguments": { "how": "progress, then hang" },
        "_meta": { "progressToken": "begun" } });
    for is_dropped in [false, false, false, false, true] {
        let mut client = Client::greeted(&plugins).await;
        let id = client.begin("tools/call", call.clone()).await;
        assert_eq!(client.next().await["method"], "notifications/progress");
        let next = waiting.begin("tools/call", json!({ "name": "act" })).await;
        if is_dropped {
            drop(client);
        } else {
            client.cancel(id).await;
            assert_eq!(client.call("act", json!({})).await, "1.0");
        }
        assert_eq!(words(&waiting.answer(next).await), "1.0");
    }
    assert_eq!(plugins.problems(), []);
}

/// A version 2 plugin is told. A serial plugin that ignores it blocks other calls for a few seconds, not
/// until its timeout.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_does_not_heed_a_cancellation_does_not_block_others() {
    let folder = Folder::new();
    folder.compile_of(Source::Two, "v2", &["FLAGS=0"]);
    let plugins = Arc::new(host_with(&folder, patient()).await);
    let mut client = Client::greeted(&plugins).await;
    let id = client.begin("tools/call", json!({ "name": "hang" })).await;
    assert_eq!(client.next().await["method"], "notifications/message");
    client.cancel(id).await;
    assert_eq!(client.call("act", json!({})).await, "1");
    assert_eq!(plugins.problems(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_closed_in_writes_and_starts_nothing() {
    let folder = Folder::new();
    folder.compile("v1", &[]);
    for (sandbox, expected) in
        [(WorkerSandbox::Open, "wrote ran read"), (WorkerSandbox::Closed, "read")]
    {
        let limits = WorkerLimits { sandbox, ..WorkerLimits::default() };
        let terms = PluginRunOptions { limits, ..options().terms };
        let plugins = Arc::new(host_with(&folder, PluginHostOptions { terms, ..options() }).await);
        // Without Landlock the worker refuses the sandbox, and there is nothing to test.
        if plugins.problems().iter().any(|problem| problem.what.contains("no Landlock")) {
            continue;
        }
        let mut client = Client::greeted(&plugins).await;
        assert_eq!(client.call("act", json!({ "how": "escape" })).await, expected, "{sandbox:?}");
        assert_eq!(client.call("act", json!({})).await, "1.0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_only_crashes_is_given_a_rest() {
    let folder = Folder::new();
    folder.compile("v1", &["ALWAYS_CRASH"]);
    let mut options = options();
    options.times.rest = Duration::from_secs(60);
    options.times.longest_rest = Duration::from_secs(60);
    let plugins = Arc::new(host_with(&folder, options).await);
    let mut client = Client::greeted(&plugins).await;
    // The first end may be bad luck, so the second start is not delayed.
    let expected = ["its worker ended: ", "its worker ended: ", "it is started again in "];
    for expected in expected {
        let found = client.call("act", json!({})).await;
        assert!(found.starts_with(&format!("error: plugin `v1`: {expected}")), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_plugin_is_run_on_its_own_terms() {
    let folder = Folder::new();
    folder.compile("libown", &["NAME=\"own\"", "TOOL=\"own\""]);
    folder.compile("other", &["NAME=\"other\"", "TOOL=\"other\""]);
    let limits = WorkerLimits { memory: 64 << 20, files: 32, ..WorkerLimits::default() };
    let terms = PluginRunOptions { limits, pool: 2, call: Duration::from_millis(600) };
    let own = [("own".to_owned(), terms)].into();
    let plugins =
        Arc::new(host_with(&folder, PluginHostOptions { by_plugin: own, ..options() }).await);
    let mut client = Client::greeted(&plugins).await;
    let rows = [
        ("own", "limits", "67108864 32 no new privileges"),
        ("other", "limits", "1073741824 256 no new privileges"),
        ("own", "hang", "error: plugin `own`: it did not answer within 600 ms"),
        ("other", "hang", "error: plugin `other`: it did not answer within 1500 ms"),
    ];
    for (tool, how, expected) in rows {
        assert_eq!(client.call(tool, json!({ "how": how })).await, expected, "{tool} {how}");
    }
    // Two workers, once both have been needed: a hanging worker blocks no other call.
    for _ in 0..2 {
        let slow = json!({ "name": "own", "arguments": { "how": "sleep" } });
        client.begin("tools/call", slow).await;
    }
    for _ in 0..2 {
        assert_eq!(words(&client.next_answer().await), "1.0");
    }
    let hung = json!({ "name": "own", "arguments": { "how": "hang" } });
    let hung = client.begin("tools/call", hung).await;
    let next = client.begin("tools/call", json!({ "name": "own" })).await;
    assert_eq!(client.next_answer().await["id"], next);
    assert!(words(&client.answer(hung).await).contains("did not answer"));
}
