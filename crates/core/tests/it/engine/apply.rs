//! Tests of applying a desired state: connections follow changes, and unchanged ones stay.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use switchboard_core::engine::{InProcessServer, ServerStatus, Workspace, WorkspaceId};
use switchboard_core::{CallError, Request};
use switchboard_testkit::processes::Identity;
use switchboard_testkit::programs::program;
use switchboard_wire::Remedy;
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair;

use super::script::{Bench, Script, desired, said};

/// A server at whose other end nobody speaks.
fn mute(name: &str) -> InProcessServer {
    let held = Mutex::new(Vec::new());
    InProcessServer::from_link(name, move || {
        let (ours, theirs) = pair::link_pair();
        held.lock().unwrap().push(theirs);
        Ok(ours)
    })
}

#[tokio::test(start_paused = true)]
async fn the_first_server_is_usable_while_others_are_still_coming() {
    let mut bench = Bench::new().await;
    for name in ["x", "y", "z"] {
        bench.workspace.in_process.push(mute(name));
    }
    bench.serve("quick", Script::new(&["echo"]));
    let caller = bench.caller("s");
    let began = tokio::time::Instant::now();
    let request = Request::tool("mcp__quick__echo", &Raw::empty_object());
    let outcome = bench.engine.call(&caller, request).outcome().await.unwrap();
    assert_eq!(said(&outcome.result), "{}");
    assert_eq!(began.elapsed(), Duration::ZERO, "it waited for somebody else");
    let snapshot = bench.engine.snapshot(&bench.workspace.id).unwrap();
    let coming: Vec<_> = snapshot.servers_coming().map(|server| server.name.as_str()).collect();
    assert_eq!(coming, ["x", "y", "z"]);
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn only_what_changed_is_touched() {
    let mut bench = Bench::new().await;
    let kept = bench.serve("kept", Script::new(&["wait"]).legacy());
    let gone = bench.serve("gone", Script::new(&["hang"]).legacy());
    bench.settled().await;
    let (caller, other) = (bench.caller("a"), bench.caller("b"));
    let none = Raw::empty_object();
    let mut waiting = bench.engine.call(&caller, Request::tool("mcp__kept__wait", &none));
    let mut hanging = bench.engine.call(&other, Request::tool("mcp__gone__hang", &none));
    let seen = async {
        kept.seen.subscribe().wait_for(|seen| !seen.is_empty()).await.unwrap();
        gone.seen.subscribe().wait_for(|seen| !seen.is_empty()).await.unwrap();
    };
    tokio::select! {
        () = seen => {}
        _ = waiting.next() => panic!("it ended"),
        _ = hanging.next() => panic!("it ended"),
    }
    bench.workspace.in_process.retain(|server| server.name() == "kept");
    bench.engine.apply(&bench.workspace, bench.desired(&json!({})));

    let error = hanging.outcome().await.unwrap_err();
    assert!(matches!(error, CallError::Server { .. }), "{error:?}");
    assert_eq!(error.remedy(), Remedy::Unknown, "it was under way");
    assert_eq!(error.to_string(), "`gone` failed");
    kept.go_on.notify_one();
    assert_eq!(said(&waiting.outcome().await.unwrap().result), "waited");
    assert_eq!(kept.opened.load(Ordering::SeqCst), 1, "it was connected to again");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn two_workspaces_with_one_server_name_never_mix() {
    let bench = Bench::new().await;
    let server = program("fixture-server");
    let configuration = json!({ "mcpServers": { "same": {
        "command": server, "env": { "SECRET": "${TOKEN}" }, "inheritEnv": ["TOKEN"]
    } } });
    let workspace = |token: &str| {
        let folder = bench.folder.path().join(token);
        std::fs::create_dir_all(&folder).unwrap();
        let desired = desired_with(&folder, &configuration, token);
        let environment: switchboard_core::engine::ProcessEnvironment =
            Arc::new([("TOKEN".into(), token.into()), ("PATH".into(), "/bin".into())]);
        let id = WorkspaceId::from_desired(&desired, &environment, &configuration.to_string());
        (Workspace { id, environment, in_process: Vec::new() }, desired)
    };
    let mut pids = Vec::new();
    for token in ["one", "two", "one"] {
        let (workspace, desired) = workspace(token);
        bench.engine.apply(&workspace, desired);
        let patience = Duration::from_secs(60);
        let snapshot = bench.engine.settled_snapshot(&workspace.id, patience).await.unwrap();
        let server = snapshot.server("same").unwrap();
        assert!(matches!(server.status, ServerStatus::Connected), "{:?}", server.status);
        let pid = server.stats.as_ref().unwrap().pid.unwrap();
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let environment = String::from_utf8(environment).unwrap();
        assert!(environment.contains(&format!("SECRET={token}\0")), "{environment}");
        assert!(environment.contains(&format!("TOKEN={token}\0")), "{environment}");
        pids.push(pid);
    }
    assert_ne!(pids[0], pids[1], "different secrets share a process");
    assert_eq!(pids[0], pids[2], "equal workspaces do not share");
    let processes: Vec<_> = pids.iter().map(|pid| Identity::of(*pid).unwrap()).collect();
    bench.engine.shutdown().await;
    assert!(processes.iter().all(|process| !process.is_alive()), "a process is left");
}

/// The gate of configured servers is the gate of those inside this process, and is asked again with every change.
#[tokio::test(start_paused = true)]
async fn a_server_in_this_process_obeys_policy() {
    let denied = r#"{"deniedMcpServers": [{"serverName": "mine"}]}"#;
    for (file, text, state) in [
        ("managed-settings.json", r#"{"allowedMcpServers": []}"#, "blocked"),
        (
            "managed-settings.json",
            r#"{"allowedMcpServers": [{"serverCommand": ["x"]}]}"#,
            "blocked",
        ),
        ("managed-settings.json", denied, "blocked"),
        ("managed-settings.json", r#"{"disabledMcpServers": ["mine"]}"#, "disabled"),
        ("managed-settings.json", "{", "blocked"),
        ("managed-settings.d/1.json", denied, "blocked"),
        ("managed-mcp.json", "{", "blocked"),
        ("managed-mcp.json", r#"{"mcpServers": {}}"#, "blocked"),
        (
            "managed-settings.json",
            r#"{"allowedMcpServers": [{"serverName": "mine"}]}"#,
            "connected",
        ),
        ("managed-settings.json", "{}", "connected"),
    ] {
        let mut bench = Bench::new().await;
        let path = bench.folder.path().join("managed").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let script = bench.serve("mine", Script::new(&["echo"]).legacy());
        let view = |snapshot: &switchboard_core::WorkspaceSnapshot| {
            let view = snapshot.server("mine").unwrap();
            (view.status.word(), view.tools, script.opened.load(Ordering::SeqCst))
        };
        let runs = usize::from(state == "connected");
        assert_eq!(view(&*bench.settled().await), (state, runs, runs), "{text}");
        // What is allowed from now on runs, and what is forbidden again ends.
        std::fs::remove_file(&path).unwrap();
        bench.engine.apply(&bench.workspace, bench.desired(&json!({})));
        assert_eq!(view(&*bench.settled().await), ("connected", 1, 1), "{text}");
        std::fs::write(&path, text).unwrap();
        bench.engine.apply(&bench.workspace, bench.desired(&json!({})));
        assert_eq!(view(&*bench.settled().await), (state, runs, 1), "{text}");
        bench.engine.shutdown().await;
    }
}

fn desired_with(
    folder: &std::path::Path,
    configuration: &serde_json::Value,
    token: &str,
) -> switchboard_config::Desired {
    use switchboard_config::{
        DynamicConfig, HostContext, Platform, ResolveOptions, resolve_desired,
    };
    let home = folder.to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone()), ("TOKEN".to_owned(), token.to_owned())];
    let mut surroundings =
        HostContext::for_platform(Platform::Linux, env.into(), home.into()).unwrap();
    surroundings.managed_dir = folder.join("managed");
    let dynamic = vec![DynamicConfig::Text(configuration.to_string())];
    resolve_desired(&surroundings, &ResolveOptions { dynamic, ..ResolveOptions::default() })
}

#[tokio::test]
async fn a_list_that_changed_is_read_again_in_place() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["a"]));
    let names = |snapshot: &switchboard_core::WorkspaceSnapshot| -> Vec<String> {
        snapshot.catalog.tools().iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(names(&*bench.settled().await), ["mcp__one__a"]);
    script.relist(&["a", "b"]);
    let mut changes = bench.engine.changes();
    loop {
        let snapshot = bench.engine.snapshot(&bench.workspace.id).unwrap();
        assert!(matches!(snapshot.server("one").unwrap().status, ServerStatus::Connected));
        if names(&snapshot) == ["mcp__one__a", "mcp__one__b"] {
            break;
        }
        tokio::time::timeout(Duration::from_secs(20), changes.changed()).await.unwrap().unwrap();
    }
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_started_says_why() {
    let bench = Bench::new().await;
    let configuration = json!({ "mcpServers": {
        "off": { "command": "x", "disabled": true },
        "odd": { "command": "x", "timeout": 3 },
    } });
    bench.engine.apply(&bench.workspace, bench.desired(&configuration));
    let snapshot = bench.settled().await;
    let words: Vec<_> =
        snapshot.servers.iter().map(|s| (s.name.as_str(), s.status.word())).collect();
    assert_eq!(words, [("off", "disabled"), ("odd", "invalid")]);
    let caller = bench.caller("s");
    let check = async |name: &str, expected: &str| {
        let call = bench.engine.call(&caller, Request::tool(name, &Raw::empty_object()));
        assert_eq!(call.outcome().await.unwrap_err().to_string(), expected);
    };
    check("mcp__off__x", "`off` is disabled").await;
    let why = "`timeout` of server `odd` is 3 ms; it counts milliseconds and cannot be below 1000";
    check("mcp__odd__x", &format!("`odd` is invalid: {why}")).await;
    check("mcp__on__x", "nothing is called `mcp__on__x`").await;
    bench.engine.shutdown().await;
}

#[test]
fn a_workspace_is_its_root_its_agent_and_what_its_files_name() {
    let folder = tempfile::tempdir().unwrap();
    let plain = desired(folder.path(), &json!({}));
    let other_root = tempfile::tempdir().unwrap();
    let elsewhere = desired(other_root.path(), &json!({}));
    let environment = |variables: &[(&str, &str)]| -> switchboard_core::engine::ProcessEnvironment {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    };
    let id = |desired, variables: &[(&str, &str)], given| {
        WorkspaceId::from_desired(desired, &environment(variables), given)
    };
    let base = id(&plain, &[("PATH", "/bin")], "");
    assert_eq!(base, id(&plain, &[("PATH", "/bin"), ("UNNAMED", "x")], ""));
    assert_ne!(base, id(&plain, &[("PATH", "/usr/bin")], ""));
    assert_ne!(base, id(&plain, &[("PATH", "/bin")], "given"));
    assert_ne!(base, id(&elsewhere, &[("PATH", "/bin")], ""));
    let naming = desired_with(
        folder.path(),
        &json!({ "mcpServers": { "a": { "command": "${TOKEN}" } } }),
        "t",
    );
    assert_ne!(id(&naming, &[("TOKEN", "1")], ""), id(&naming, &[("TOKEN", "2")], ""));
}

/// Nothing is expected of a server that offers no list.
#[tokio::test]
async fn a_server_without_lists_is_not_waited_for() {
    for legacy in [true, false] {
        let mut bench = Bench::new().await;
        let script = Script::new(&[]).without_lists();
        bench.serve("bare", if legacy { script.legacy() } else { script });
        bench.serve("one", Script::new(&["a"]));
        let snapshot = bench.settled().await;
        let coming: Vec<_> = snapshot.servers_coming().map(|server| server.name.clone()).collect();
        assert_eq!(coming, [""; 0], "legacy: {legacy}");
        let status = &snapshot.server("bare").unwrap().status;
        assert!(matches!(status, ServerStatus::Connected), "legacy: {legacy}");
    }
}
