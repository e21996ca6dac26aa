//! Tests of how often servers without a kept catalog are started: once for each kind of client. The servers are real
//! processes that count their starts in a file.

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::engine::{Session, SessionClients};
use switchboard_core::{Caller, EngineProblemKind};
use switchboard_wire::Era;

use super::idle::{Home, PATIENCE, echo, until, word};
use super::script::{Bench, raw};

/// A client of the legacy era with these capabilities.
fn client(id: &str, capabilities: &Value) -> Session {
    Session {
        capabilities: raw(capabilities),
        era: Some(Era::Legacy),
        mode: Some(PermissionMode::BypassPermissions),
        ..Session::new(id)
    }
}

fn form() -> Value {
    json!({ "elicitation": {} })
}

fn sampling() -> Value {
    json!({ "sampling": {} })
}

/// The number of tools that a session sees in its first list.
async fn list(bench: &Bench, caller: &Caller) -> usize {
    bench.engine.bind_session(caller, PATIENCE).await;
    bench.engine.await_first_lists(caller.principal(), PATIENCE).await;
    bench.engine.bind_session(caller, PATIENCE).await;
    bench.engine.catalog_of(caller).unwrap().tools().len()
}

async fn list_and_call(bench: &Bench, caller: &Caller) {
    assert_eq!(list(bench, caller).await, 1);
    assert_eq!(echo(&bench.engine, caller, "mcp__one__echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_is_started_once_for_each_kind_of_client() {
    let home = Home::new();
    let configuration = home.servers(&["one"]);
    let bench = home.bench(&configuration).await;
    // It keeps the workspace, as that of a gateway does.
    let keeper = Session { clients: SessionClients::None, ..Session::new("keeper") };
    let mut callers = vec![bench.attach(keeper)];
    for (id, declares, starts) in
        [("first", form(), 1), ("equal", form(), 1), ("other", sampling(), 2), ("last", form(), 2)]
    {
        let caller = bench.attach(client(id, &declares));
        list_and_call(&bench, &caller).await;
        assert_eq!(home.starts(), starts, "{id}");
        callers.push(caller);
    }
    drop(callers);
    bench.engine.shutdown().await;

    // Each kind has its catalog now.
    for declares in [sampling(), form()] {
        let bench = home.bench(&configuration).await;
        let caller = bench.attach(client("again", &declares));
        assert_eq!(bench.engine.catalog_of(&caller).unwrap().tools().len(), 1, "{declares}");
        assert_eq!(list(&bench, &caller).await, 1, "{declares}");
        assert_eq!(word(&bench, "one"), "idle", "{declares}");
        bench.engine.shutdown().await;
    }
    assert_eq!(home.starts(), 2);
}

#[tokio::test]
async fn clients_of_two_kinds_that_come_at_once_start_a_server_twice() {
    let home = Home::new();
    let bench = home.bench(&home.servers(&["one"])).await;
    let callers = [
        bench.attach(client("forms", &form())),
        bench.attach(client("model", &sampling())),
        bench.attach(client("forms too", &form())),
    ];
    let [a, b, c] = &callers;
    tokio::join!(list(&bench, a), list(&bench, b), list(&bench, c));
    for caller in &callers {
        list_and_call(&bench, caller).await;
    }
    assert_eq!(home.starts(), 2);
    drop(callers);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_added_later_starts_once_for_a_client_that_is_there() {
    let home = Home::new();
    let bench = home.bench(&json!({})).await;
    let caller = bench.attach(client("forms", &form()));
    assert_eq!(list(&bench, &caller).await, 0);
    bench.engine.apply(&bench.workspace, home.desired(&home.servers(&["one"])));
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    list_and_call(&bench, &caller).await;
    assert_eq!(home.starts(), 1);
    drop(caller);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_that_no_session_needs_starts_after_a_while() {
    let home = Home::new();
    let short = std::time::Duration::from_millis(1);
    let bench = home.engine(|options| options.timing.first_session_wait = short).await;
    bench.engine.apply(&bench.workspace, home.desired(&home.servers(&["one"])));
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    assert_eq!(home.starts(), 1);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_check_by_a_person_starts_a_server_that_waits_for_a_session() {
    let home = Home::new();
    let bench = home.bench(&home.servers(&["one"])).await;
    assert_eq!((word(&bench, "one"), home.starts()), ("pending", 0));
    bench.engine.check_servers(&bench.workspace.id).await;
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    bench.engine.shutdown().await;
}

/// The notebook speaks the modern era, and sends `ttlMs: 0` with every list.
#[tokio::test]
async fn expired_lists_of_a_modern_server_are_shown_and_read_again_with_the_next_start() {
    let home = Home::new();
    home.install("notebook");
    let configuration = home.servers(&["one"]);
    let modern = |id: &str, declares| Session { era: Some(Era::Modern), ..client(id, &declares) };
    let bench = home.bench(&configuration).await;
    let caller = bench.attach(modern("first", form()));
    let tools = list(&bench, &caller).await;
    assert!(tools > 0);
    bench.engine.shutdown().await;
    assert_eq!((home.starts(), home.catalogs().len()), (1, 1));

    // A modern server has one catalog for all kinds of clients.
    for declares in [form(), sampling()] {
        let bench = home.bench(&configuration).await;
        let caller = bench.attach(modern("next", declares));
        for _ in 0..3 {
            assert_eq!(list(&bench, &caller).await, tools);
        }
        assert_eq!((word(&bench, "one"), home.starts()), ("idle", 1));
        bench.engine.shutdown().await;
    }

    // The server has other tools when it is started next.
    home.install("kiosk");
    let bench = home.bench(&configuration).await;
    let caller = bench.attach(modern("last", form()));
    assert_eq!(list(&bench, &caller).await, tools);
    let error = echo(&bench.engine, &caller, "mcp__one__read").await.unwrap_err();
    assert!(error.to_string().contains("no longer has"), "{error}");
    assert_ne!(list(&bench, &caller).await, tools);
    assert_eq!(home.starts(), 2);
    let problems = bench.engine.snapshot(&bench.workspace.id).unwrap().problems.clone();
    assert!(problems.iter().all(|problem| problem.kind != EngineProblemKind::Storage));
    bench.engine.shutdown().await;

    let mut eager = configuration.clone();
    eager["mcpServers"]["one"]["start"] = json!("eager");
    let bench = home.bench(&eager).await;
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn settings_start_every_server_at_once_whose_entry_does_not_say_otherwise() {
    let home = Home::new();
    let mut configuration = home.servers(&["one", "two"]);
    configuration["mcpServers"]["two"]["start"] = json!("lazy");
    home.fill(&configuration).await;
    let settings = home.folder.path().join(".config/switchboard/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, r#"{ "start": "eager" }"#).unwrap();
    let bench = home.bench(&configuration).await;
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    assert_eq!((word(&bench, "two"), home.starts()), ("idle", 3));
    bench.engine.shutdown().await;
}
