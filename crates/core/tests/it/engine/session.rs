//! Tests of sessions: their lifetime, and connections that belong to one session.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use switchboard_core::engine::{ServerStatus, Session, Workspace, WorkspaceId};
use switchboard_core::{CallEvent, Request};
use switchboard_testkit::processes::Identity;
use switchboard_testkit::programs::program;
use switchboard_wire::json::Raw;
use tokio::time::Instant;

use super::script::{Bench, Script};

#[tokio::test(start_paused = true)]
async fn a_workspace_ends_a_minute_after_its_last_session() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["a"]));
    bench.settled().await;
    let id = bench.workspace.id.clone();
    let (first, second) = (bench.caller("a"), bench.caller("b"));
    drop(first);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(bench.engine.snapshot(&id).is_some(), "one session is still there");
    drop(second);
    tokio::time::sleep(Duration::from_secs(40)).await;
    let third = bench.caller("c");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(bench.engine.snapshot(&id).is_some(), "somebody came back in time");
    let began = Instant::now();
    drop(third);
    let mut changes = bench.engine.changes();
    while bench.engine.snapshot(&id).is_some() {
        changes.changed().await.unwrap();
    }
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn what_an_agent_brought_along_ends_with_its_session() {
    let bench = Bench::new().await;
    let home = bench.folder.path();
    let server = program("fixture-server");
    let agents = home.join(".config/switchboard/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let front = format!("mcpServers:\n  - inline:\n      command: {}\n", server.display());
    std::fs::write(agents.join("helper.md"), format!("---\nname: helper\n{front}---\nBe kind.\n"))
        .unwrap();
    let desired = {
        use switchboard_config::{HostContext, Platform, ResolveOptions, resolve_desired};
        let home = home.to_str().unwrap().to_owned();
        let env = [("HOME".to_owned(), home.clone())].into();
        let mut surroundings =
            HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
        surroundings.managed_dir = bench.folder.path().join("managed");
        resolve_desired(
            &surroundings,
            &ResolveOptions { agent: Some("helper".into()), ..ResolveOptions::default() },
        )
    };
    let workspace = Workspace { id: WorkspaceId::from("agent"), ..bench.workspace.clone() };
    bench.engine.apply(&workspace, desired);
    let snapshot =
        bench.engine.settled_snapshot(&workspace.id, Duration::from_secs(60)).await.unwrap();
    let inline = snapshot.server("inline").unwrap();
    assert!(matches!(inline.status, ServerStatus::Connected), "{:?}", inline.status);
    let process = Identity::of(inline.stats.as_ref().unwrap().pid.unwrap()).unwrap();

    let (first, second) = (
        bench.engine.attach(&workspace.id, Session::new("a")).unwrap(),
        bench.engine.attach(&workspace.id, Session::new("b")).unwrap(),
    );
    drop(first);
    assert!(process.is_alive(), "another session of the agent is there");
    drop(second);
    let gone = async {
        while process.is_alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("it outlived its session");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn sessions_share_a_server_unless_it_is_not_to_be_shared() {
    let check = async |share: &str, expected: usize| {
        let bench = Bench::new().await;
        let server = program("fixture-server");
        let configuration =
            json!({ "mcpServers": { "one": { "command": server, "share": share } } });
        bench.engine.apply(&bench.workspace, bench.desired(&configuration));
        let callers: Vec<_> = ["a", "b", "c"].map(|name| bench.caller(name)).into();
        for caller in &callers {
            let request = Request::tool("mcp__one__echo", &Raw::empty_object());
            bench.engine.call(caller, request).outcome().await.unwrap();
        }
        let children = switchboard_testkit::processes::working_in(bench.folder.path());
        assert_eq!(children.len(), expected, "share: {share}");
        drop(callers);
        bench.engine.shutdown().await;
        let left = switchboard_testkit::processes::working_in(bench.folder.path());
        assert!(left.is_empty(), "share: {share}: {left:?}");
    };
    check("always", 1).await;
    check("auto", 1).await;
    check("never", 3).await;
}

#[tokio::test]
async fn a_session_that_can_sample_has_a_connection_on_which_that_was_said() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["a"]).legacy());
    bench.settled().await;
    let call = async |session: &str, capabilities: &str| {
        let capabilities = Raw::parse(capabilities.to_owned()).unwrap();
        let caller = bench.attach(Session {
            capabilities,
            mode: Some(switchboard_config::PermissionMode::BypassPermissions),
            ..Session::new(session)
        });
        let request = Request::tool("mcp__one__a", &Raw::empty_object());
        bench.engine.call(&caller, request).outcome().await.unwrap();
        caller
    };
    let plain = call("plain", "{}").await;
    assert_eq!(
        script.opened.load(Ordering::SeqCst),
        2,
        "the usual one was made again for its kind"
    );
    let sampling = call("sampling", r#"{"sampling":{}}"#).await;
    let another = call("another", r#"{"sampling":{}}"#).await;
    assert_eq!(script.opened.load(Ordering::SeqCst), 3, "those who can sample share one");
    drop((plain, sampling, another));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_its_server() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["hang"]));
    bench.settled().await;
    let caller = bench.caller("s");
    let mut running =
        bench.engine.call(&caller, Request::tool("mcp__one__hang", &Raw::empty_object()));
    let mut seen = script.seen.subscribe();
    tokio::select! {
        event = running.next() => panic!("{event:?}"),
        _ = seen.wait_for(|seen| seen.len() == 1) => {}
    }
    drop(running);
    let mut dropped = script.dropped.subscribe();
    let heard = dropped.wait_for(|dropped| *dropped == 1);
    tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap().unwrap();
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn progress_reaches_its_call() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["count"]));
    let caller = bench.caller("s");
    let request = Request::tool("mcp__one__count", &Raw::empty_object()).with_progress();
    let mut running = bench.engine.call(&caller, request);
    let mut progress = 0;
    loop {
        match running.next().await.unwrap() {
            CallEvent::Progress(_) => progress += 1,
            CallEvent::Done(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(progress, 3);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_that_asks_its_client_is_not_shared_from_then_on() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["ask", "a"]).legacy());
    bench.settled().await;
    let (first, second) = (bench.caller("a"), bench.caller("b"));
    let call = async |caller, tool: &str| {
        let name = format!("mcp__one__{tool}");
        let request = Request::tool(&name, &Raw::empty_object());
        bench.engine.call(caller, request).outcome().await.unwrap();
    };
    call(&first, "a").await;
    call(&second, "a").await;
    assert_eq!(script.opened.load(Ordering::SeqCst), 1);
    call(&first, "ask").await;
    call(&first, "a").await;
    assert_eq!(script.opened.load(Ordering::SeqCst), 1, "the first keeps the one there was");
    call(&second, "a").await;
    assert_eq!(script.opened.load(Ordering::SeqCst), 2);
    bench.engine.shutdown().await;
}

/// A call that stays under way while another is asked something: nothing on the wire says whose question it is.
async fn ask_beside(bench: &Bench, script: &Script, session: &str) -> String {
    let none = Raw::empty_object();
    let (one, other) = (bench.caller(session), bench.caller(session));
    let mut strays = bench.engine.session_questions(&other);
    let mut hang = bench.engine.call(&one, Request::tool("mcp__one__hang", &none));
    let mut seen = script.seen.subscribe();
    tokio::select! {
        event = hang.next() => panic!("{event:?}"),
        _ = seen.wait_for(|seen| seen.len() == 1) => {}
    }
    let answering = async {
        while let Some(question) = strays.recv().await {
            let result = Raw::parse(r#"{"action":"accept","content":{"name":"stray"}}"#).unwrap();
            question.answer(switchboard_core::dispatch::QuestionAnswer::Result(Ok(result)));
        }
    };
    let asked = bench.engine.call(&other, Request::tool("mcp__one__ask", &none)).outcome();
    tokio::select! {
        outcome = asked => super::script::said(&outcome.unwrap().result),
        event = hang.next() => panic!("{event:?}"),
        () = answering => panic!("no question can come any more"),
    }
}

#[tokio::test]
async fn a_question_of_no_call_goes_to_the_only_session_that_has_any() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["ask", "hang"]).legacy());
    bench.settled().await;
    let said = ask_beside(&bench, &script, "a").await;
    assert_eq!(said, r#"{"action":"accept","content":{"name":"stray"}}"#);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_is_asked_once_to_tell_of_a_resource_and_once_no_longer_to() {
    use switchboard_core::engine::EngineEventKind;
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&[]).legacy().with_resource("note://a"));
    bench.settled().await;
    let (first, second) = (bench.caller("a"), bench.caller("b"));
    let call = async |caller: &switchboard_core::Caller, request: Request| {
        bench.engine.call(caller, request).outcome().await.unwrap();
    };
    call(&first, Request::subscribe("note://a")).await;
    call(&second, Request::subscribe("note://a")).await;
    let mut events = bench.engine.events();
    script
        .changes
        .announce(switchboard_wire::server::ChangeNotification::Resource("note://a".into()));
    let heard = async {
        loop {
            let event = events.recv().await.unwrap();
            if let EngineEventKind::ResourceUpdated { uri, .. } = event.what {
                return (event.server, uri);
            }
        }
    };
    let heard = tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap();
    assert_eq!(heard, ("one".to_owned(), "note://a".to_owned()));
    drop(first);
    call(&second, Request::unsubscribe("note://a")).await;
    let watched = script.watched.lock().unwrap().clone();
    assert_eq!(watched.last(), Some(&("note://a".to_owned(), false)));
    assert_eq!(watched.iter().filter(|(_, on)| !on).count(), 1, "{watched:?}");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn what_a_server_says_beside_a_call_reaches_the_call() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["wait"]).legacy());
    bench.settled().await;
    let caller = bench.caller("s");
    let request = Request::tool("mcp__one__wait", &Raw::empty_object()).with_log_level("info");
    let mut running = bench.engine.call(&caller, request);
    let mut seen = script.seen.subscribe();
    tokio::select! {
        event = running.next() => panic!("{event:?}"),
        _ = seen.wait_for(|seen| seen.len() == 1) => {}
    }
    let params = Raw::parse(r#"{"level":"info","data":"by the way"}"#).unwrap();
    let note =
        switchboard_wire::server::ChangeNotification::Other("notifications/message".into(), params);
    script.changes.announce(note);
    match running.next().await.unwrap() {
        CallEvent::Log(params) => assert!(params.as_str().contains("by the way"), "{params}"),
        other => panic!("{other:?}"),
    }
    script.go_on.notify_one();
    running.outcome().await.unwrap();
    bench.engine.shutdown().await;
}
