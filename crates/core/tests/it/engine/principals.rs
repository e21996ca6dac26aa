//! Tests of principals in one workspace: server state is separate, unless an entry shares it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::{Desired, HostContext, PermissionMode, Platform, ResolveOptions};
use switchboard_core::connection::ConnectionLimit;
use switchboard_core::dispatch::QuestionAnswer;
use switchboard_core::engine::{
    AttachError, Caller, EngineEvent, EngineEventKind, QuestionAnswerer, Session,
};
use switchboard_core::permission::AnswerLifetime;
use switchboard_core::principal::{LOCAL_PRINCIPAL, Principal};
use switchboard_core::{CallError, CallEvent, Request};
use switchboard_testkit::processes::working_in;
use switchboard_testkit::programs::program;
use switchboard_wire::Remedy;
use switchboard_wire::client::ListKind;
use switchboard_wire::json::Raw;
use tokio::time::Instant;

use super::script::{Bench, Script};

/// What one principal stored, and no other may read.
const SECRET: &str = "hush";

/// The principal of a name: the local one, the service `NAME@ID`, or a user.
pub(super) fn principal_of(name: &str) -> Principal {
    match name.split_once('@') {
        Some((name, token)) => Principal::service(name, token),
        None if name == LOCAL_PRINCIPAL => Principal::local(),
        None => Principal::user(name),
    }
}

fn session(principal: &str, id: &str) -> Session {
    let mode = Some(PermissionMode::BypassPermissions);
    Session { principal: principal_of(principal), mode, ..Session::new(id) }
}

/// What settings in a file of the user's desire.
fn desired(bench: &Bench, settings: &Value) -> Desired {
    let config = bench.folder.path().join(".config/switchboard");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("settings.json"), settings.to_string()).unwrap();
    let home = bench.folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = bench.folder.path().join("managed");
    switchboard_config::resolve_desired(&surroundings, &ResolveOptions::default())
}

fn notebook(more: &Value) -> Value {
    let mut entry = json!({ "command": program("notebook") });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "mcpServers": { "notes": entry } })
}

async fn bench(entry: &Value) -> Bench {
    let bench = Bench::new().await;
    bench.engine.apply(&bench.workspace, desired(&bench, &notebook(entry)));
    bench.settled().await;
    bench
}

async fn ask(bench: &Bench, caller: &Caller, request: Request) -> String {
    let outcome = bench.engine.call(caller, request).outcome().await;
    outcome.map_or_else(|error| error.to_string(), |outcome| outcome.result.to_string())
}

async fn write(bench: &Bench, caller: &Caller, note: &str) {
    let arguments = Raw::from_value(&json!({ "note": note })).unwrap();
    let said = ask(bench, caller, Request::tool("mcp__notes__write", &arguments)).await;
    assert!(said.contains("written"), "{said}");
}

/// Everything that a principal can learn of the server.
async fn learned(bench: &Bench, caller: &Caller) -> Vec<(&'static str, String)> {
    let nothing = Raw::empty_object();
    let forward = |method: &str, params: Value| {
        Request::forward(method.to_owned(), Some(Raw::from_value(&params).unwrap()))
    };
    let mut learned = Vec::new();
    for (what, request) in [
        ("tool", Request::tool("mcp__notes__read", &nothing)),
        ("built-in", Request::tool("ListMcpResources", &nothing)),
        ("resource", forward("resources/read", json!({ "uri": "note://last" }))),
        ("prompt", forward("prompts/get", json!({ "name": "mcp__notes__letter" }))),
        (
            "completion",
            forward(
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "mcp__notes__letter" },
                        "argument": { "name": "note", "value": "" } }),
            ),
        ),
    ] {
        learned.push((what, ask(bench, caller, request).await));
    }
    let principal = caller.principal();
    let snapshot =
        bench.engine.settled_snapshot_for(principal, Duration::from_secs(60)).await.unwrap();
    let catalog = &snapshot.catalog;
    let names = |names: Vec<&str>| names.join(" ");
    let tools = catalog.tools().iter().map(|listed| &*listed.name).collect();
    let prompts = catalog.prompts().iter().map(|listed| &*listed.name).collect();
    let resources = catalog.resources().iter().map(|listed| &*listed.resource.uri).collect();
    learned.extend([
        ("tools", names(tools)),
        ("prompts", names(prompts)),
        ("resources", names(resources)),
    ]);
    learned
}

/// Waits until the lists that a principal sees have what it wrote.
async fn listed(bench: &Bench, caller: &Caller) {
    let mut changes = bench.engine.changes();
    let all = async {
        loop {
            let catalog = bench.engine.catalog_for(caller.principal()).unwrap();
            let tools = catalog.tools().iter().any(|listed| listed.name.contains(SECRET));
            let prompts = catalog.prompts().iter().any(|listed| listed.name.contains(SECRET));
            let mut resources = catalog.resources().iter();
            if tools && prompts && resources.any(|listed| listed.resource.uri.contains(SECRET)) {
                return;
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("its lists do not change");
}

#[tokio::test]
async fn what_one_principal_stored_no_other_reads_unless_the_entry_shares_it() {
    let check = async |entry: Value, reader: &str, may_read: bool| {
        let bench = bench(&entry).await;
        let ann = bench.attach(session("ann@1", "a"));
        let other = bench.attach(session(reader, "b"));
        write(&bench, &ann, SECRET).await;
        listed(&bench, &ann).await;
        if may_read {
            listed(&bench, &other).await;
        }
        for (what, seen) in learned(&bench, &ann).await {
            assert!(seen.contains(SECRET), "{entry}: the owner's {what}: {seen}");
        }
        for (what, seen) in learned(&bench, &other).await {
            assert_eq!(seen.contains(SECRET), may_read, "{entry}: {what} of {reader}: {seen}");
        }
        drop((ann, other));
        bench.engine.shutdown().await;
        assert!(working_in(bench.folder.path()).is_empty());
    };
    for share in ["auto", "always", "never"] {
        check(json!({ "share": share }), "bob@2", false).await;
        check(json!({ "share": share }), "local", false).await;
    }
    check(json!({}), "ann@1", true).await;
    check(json!({ "sharePrincipals": true }), "bob@2", true).await;
    check(json!({ "sharePrincipals": true }), "local", true).await;
}

#[tokio::test]
async fn what_happens_on_a_connection_concerns_its_principal_alone() {
    let check = async |entry: Value, concerned: &[&str]| {
        let bench = bench(&entry).await;
        let ann = bench.attach(session("ann@1", "a"));
        let bob = bench.attach(session("bob@2", "b"));
        learned(&bench, &ann).await;
        learned(&bench, &bob).await;
        ask(&bench, &ann, Request::subscribe("note://last")).await;
        ask(&bench, &bob, Request::subscribe("note://last")).await;
        let mut events = bench.engine.events();
        write(&bench, &ann, SECRET).await;
        let told = |event: &EngineEvent| {
            matches!(
                event.what,
                EngineEventKind::ResourceUpdated { .. }
                    | EngineEventKind::List(ListKind::Resources)
                    | EngineEventKind::ListAnnounced(ListKind::Resources)
            )
        };
        for _ in 0..2 {
            let heard = async {
                loop {
                    match tokio::time::timeout(Duration::from_secs(1), events.recv()).await {
                        Ok(event) if told(event.as_ref().unwrap()) => break event.unwrap(),
                        Ok(_) => {}
                        // A server says nowhere when it has begun to tell of a resource.
                        Err(_) => write(&bench, &ann, SECRET).await,
                    }
                }
            };
            let event = tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap();
            for principal in ["ann@1", "bob@2", "local"] {
                assert_eq!(event.concerns(principal), concerned.contains(&principal), "{event:?}");
            }
        }
        bench.engine.shutdown().await;
    };
    check(json!({}), &["ann@1"]).await;
    check(json!({ "sharePrincipals": true }), &["ann@1", "bob@2", "local"]).await;
}

#[tokio::test]
async fn a_changed_entry_reaches_the_connections_of_every_principal() {
    let bench = bench(&json!({})).await;
    let ann = bench.attach(session("ann@1", "a"));
    write(&bench, &ann, SECRET).await;
    assert_eq!(working_in(bench.folder.path()).len(), 2, "one for each principal");
    let shared = desired(&bench, &notebook(&json!({ "sharePrincipals": true })));
    bench.engine.apply(&bench.workspace, shared);
    let seen = ask(&bench, &ann, Request::tool("mcp__notes__read", &Raw::empty_object())).await;
    assert!(!seen.contains(SECRET), "it is another process: {seen}");
    bench.engine.apply(&bench.workspace, desired(&bench, &json!({})));
    let seen = ask(&bench, &ann, Request::tool("mcp__notes__read", &Raw::empty_object())).await;
    assert!(seen.contains("nothing is called"), "{seen}");
    bench.engine.shutdown().await;
    assert!(working_in(bench.folder.path()).is_empty());
}

#[tokio::test]
async fn connections_beyond_the_limits_are_refused_and_may_be_tried_again() {
    let bench = Bench::with(|options| {
        (options.connections_per_principal, options.connections) = (2, 3);
    })
    .await;
    let settings = notebook(&json!({ "share": "never" }));
    bench.engine.apply(&bench.workspace, desired(&bench, &settings));
    bench.settled().await;
    let read = || Request::tool("mcp__notes__read", &Raw::empty_object());
    let ann: Vec<_> = ["a", "b", "c"].map(|id| bench.attach(session("ann@1", id))).into();
    for caller in &ann[..2] {
        bench.engine.call(caller, read()).outcome().await.unwrap();
    }
    let error = bench.engine.call(&ann[2], read()).outcome().await.unwrap_err();
    assert!(matches!(error, CallError::NotConnected { .. }), "{error:?}");
    assert_eq!(error.remedy(), Remedy::Retry);
    let bob = bench.attach(session("bob@2", "d"));
    bench.engine.call(&bob, read()).outcome().await.unwrap();
    let full = bench.engine.attach(&bench.workspace.id, session("eve@3", "e")).unwrap_err();
    assert_eq!(full, AttachError::Limit(ConnectionLimit::InAll { limit: 3 }));
    assert_eq!(working_in(bench.folder.path()).len(), 4, "the configured one and three more");
    drop(ann);
    let eve = bench.attach(session("eve@3", "e"));
    bench.engine.call(&eve, read()).outcome().await.unwrap();
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_principal_with_many_connections_leaves_as_many_for_others() {
    let bench = Bench::with(|options| options.connections = 4).await;
    let settings = notebook(&json!({ "share": "never" }));
    bench.engine.apply(&bench.workspace, desired(&bench, &settings));
    bench.settled().await;
    let read = || Request::tool("mcp__notes__read", &Raw::empty_object());
    let ann: Vec<_> = ["a", "b", "c"].map(|id| bench.attach(session("ann@1", id))).into();
    for caller in &ann[..2] {
        bench.engine.call(caller, read()).outcome().await.unwrap();
    }
    let error = bench.engine.call(&ann[2], read()).outcome().await.unwrap_err();
    assert!(format!("{error:?}").contains("Share { held: 2 }"), "{error:?}");
    assert_eq!(error.remedy(), Remedy::Retry);
    let bob = bench.attach(session("bob@2", "d"));
    bench.engine.call(&bob, read()).outcome().await.unwrap();
    bench.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_connections_of_a_principal_end_some_time_after_its_last_session() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["a"]).legacy());
    bench.settled().await;
    let _stays = bench.caller("stays");
    let opened = || script.opened.load(Ordering::SeqCst);
    let come = async |id: &str| {
        let caller = bench.attach(session("ann@1", id));
        ask(&bench, &caller, Request::tool("mcp__one__a", &Raw::empty_object())).await;
        caller
    };
    let before = opened();
    let (first, second) = (come("a").await, come("b").await);
    let with_ann = opened();
    assert_eq!(with_ann, before + 1, "all sessions of a principal share one");
    drop(first);
    tokio::time::sleep(Duration::from_secs(1200)).await;
    drop((second, come("c").await));
    tokio::time::sleep(Duration::from_secs(590)).await;
    drop(come("d").await);
    tokio::time::sleep(Duration::from_secs(590)).await;
    drop(come("e").await);
    assert_eq!(opened(), with_ann, "it came back in time");
    tokio::time::sleep(Duration::from_secs(610)).await;
    let _back = come("f").await;
    assert_eq!(opened(), with_ann + 1, "it came back too late");
    bench.engine.shutdown().await;
}

/// Only the person who runs the engine watches the queue, so what others are asked is not put there.
#[tokio::test(start_paused = true)]
async fn what_another_principal_is_asked_stays_out_of_the_queue() {
    for script in [Script::new(&["ask"]), Script::new(&["ask"]).legacy()] {
        let mut bench = Bench::new().await;
        bench.serve("one", script);
        super::handed::apply(&bench, &json!({ "questions": { "elicitation": "queue" } }));
        bench.settled().await;
        let _watching = bench.engine.queue().watch();
        let began = Instant::now();
        for answers in [QuestionAnswerer::Queue, QuestionAnswerer::Caller] {
            for mode in [PermissionMode::BypassPermissions, PermissionMode::Default] {
                if (answers, mode) == (QuestionAnswerer::Caller, PermissionMode::Default) {
                    continue;
                }
                let capabilities = Raw::empty_object();
                let mode = Some(mode);
                let ann = Session { answers, mode, capabilities, ..session("ann@1", "a") };
                let caller = bench.attach(ann);
                let request = Request::tool("mcp__one__ask", &Raw::empty_object());
                let mut running = bench.engine.call(&caller, request.hand_out_questions());
                let ended = loop {
                    match running.next().await {
                        Ok(CallEvent::Question(question)) => drop(question),
                        ended => break ended,
                    }
                };
                drop(ended);
                assert!(bench.engine.queue().questions().is_empty());
            }
        }
        // A question in the queue would have waited for its watcher.
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        bench.engine.shutdown().await;
    }
}

/// What the person who runs the engine allows for good, they allow themselves.
#[tokio::test]
async fn a_remembered_answer_permits_nothing_to_another_principal() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["a"]));
    bench.settled().await;
    let request = || Request::tool("mcp__one__a", &Raw::empty_object());
    let attach = |principal: &str, id: &str| {
        let mode = Some(PermissionMode::Default);
        bench.attach(Session { mode, ..session(principal, id) })
    };
    // How often a call asks, whose questions are answered so.
    let asked = async |caller: &Caller, answer: QuestionAnswer| {
        let (mut running, mut asked) = (bench.engine.call(caller, request()), 0);
        loop {
            match running.next().await {
                Ok(CallEvent::Question(question)) => {
                    asked += 1;
                    question.answer(answer.clone());
                }
                Ok(CallEvent::Done(_)) | Err(_) => return asked,
                Ok(other) => panic!("{other:?}"),
            }
        }
    };
    let local = attach("local", "l");
    assert_eq!(asked(&local, QuestionAnswer::Allow(AnswerLifetime::Always)).await, 1);
    assert_eq!(asked(&local, QuestionAnswer::Cancel).await, 0, "the answer is remembered");
    let ann = attach("ann@1", "a");
    assert_eq!(asked(&ann, QuestionAnswer::Allow(AnswerLifetime::Always)).await, 1);
    assert_eq!(asked(&ann, QuestionAnswer::Cancel).await, 0, "the answer is remembered");
    assert_eq!(asked(&attach("bob@2", "b"), QuestionAnswer::Cancel).await, 1);
    bench.engine.shutdown().await;
}
