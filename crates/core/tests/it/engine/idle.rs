//! Tests of kept catalogs: which servers are started, when, and which stop. The servers are real processes that count
//! their starts in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::{Desired, PermissionMode};
use switchboard_core::engine::{EngineEventKind, EngineOptions, ServerStatus, Session};
use switchboard_core::principal::LOCAL_PRINCIPAL;
use switchboard_core::{CallError, Caller, Engine, EngineProblemKind, Request, WorkspaceSnapshot};
use switchboard_testkit::processes::{self, wait_until};
use switchboard_testkit::programs::program;

use super::principals::principal_of;
use super::script::{Bench, desired, raw, said};

pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A home folder that engines use one after the other.
pub(super) struct Home {
    pub(super) folder: tempfile::TempDir,
}

// === impl Home ===

impl Home {
    pub(super) fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        home.install("echo-server");
        home
    }

    /// Makes every server of the configuration this program.
    pub(super) fn install(&self, name: &str) {
        fs::write(self.path("program"), program(name).to_str().unwrap()).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The entry of a server that writes a line at each start.
    fn entry(&self, name: &str) -> Value {
        let (starts, program) = (self.path("starts"), self.path("program"));
        let line = r#"echo "$1" >> "$2"; exec "$(cat "$3")""#;
        json!({ "command": "/bin/sh", "args": ["-c", line, "sh", name, starts, program] })
    }

    pub(super) fn servers(&self, names: &[&str]) -> Value {
        let servers = names.iter().map(|name| ((*name).to_owned(), self.entry(name)));
        json!({ "mcpServers": servers.collect::<serde_json::Map<_, _>>() })
    }

    /// What a configuration desires in this home: the folder is a part of the connection key.
    pub(super) fn desired(&self, configuration: &Value) -> Desired {
        desired(self.folder.path(), configuration)
    }

    pub(super) fn starts(&self) -> usize {
        fs::read_to_string(self.path("starts")).map_or(0, |text| text.lines().count())
    }

    pub(super) fn catalogs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state/catalogs"));
        entries.map(|all| all.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
    }

    pub(super) async fn engine(&self, change: impl FnOnce(&mut EngineOptions)) -> Bench {
        let state = self.path("state");
        Bench::with(|options| {
            options.state_dir = Some(state);
            change(options);
        })
        .await
    }

    /// An engine with these servers, for once: their lists are known afterwards.
    pub(super) async fn fill(&self, configuration: &Value) {
        let bench = self.engine(|_| ()).await;
        bench.engine.apply(&bench.workspace, self.desired(configuration));
        bench.settled().await;
        bench.engine.shutdown().await;
    }

    /// An engine with these servers.
    pub(super) async fn bench(&self, configuration: &Value) -> Bench {
        let bench = self.engine(|_| ()).await;
        bench.engine.apply(&bench.workspace, self.desired(configuration));
        bench
    }
}

/// Waits until a snapshot is as wanted.
pub(super) async fn until(bench: &Bench, is_so: impl Fn(&WorkspaceSnapshot) -> bool) {
    let mut changes = bench.engine.changes();
    let waiting = async {
        while !is_so(&bench.engine.snapshot(&bench.workspace.id).unwrap()) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the state never came");
}

pub(super) fn word(bench: &Bench, server: &str) -> &'static str {
    bench.engine.snapshot(&bench.workspace.id).unwrap().server(server).unwrap().status.word()
}

pub(super) async fn echo(
    engine: &Engine,
    caller: &Caller,
    tool: &str,
) -> Result<String, CallError> {
    let request = Request::tool(tool, &raw(&json!({ "text": "hello" })));
    Ok(said(&engine.call(caller, request).outcome().await?.result))
}

fn session(id: &str, principal: &str) -> Session {
    Session {
        mode: Some(PermissionMode::BypassPermissions),
        principal: principal_of(principal),
        ..Session::new(id)
    }
}

/// Bounded: the servers of the first engine start three at a time, and those of the second do not start.
#[tokio::test]
async fn fifty_known_and_unused_servers_have_no_process() {
    let home = Home::new();
    let names: Vec<String> = (0..50).map(|number| format!("s{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let configuration = home.servers(&names);
    home.fill(&configuration).await;
    assert_eq!((home.starts(), home.catalogs().len()), (50, 50));

    let bench = home.bench(&configuration).await;
    let snapshot = bench.engine.snapshot(&bench.workspace.id).unwrap();
    assert_eq!(snapshot.catalog.tools().len(), 50, "the lists come at once");
    assert!(snapshot.servers.iter().all(|server| server.status.word() == "idle"));
    bench.engine.check_servers(&bench.workspace.id).await;
    let caller = bench.caller("c");
    bench.engine.bind_session(&caller, PATIENCE).await;
    assert_eq!(bench.engine.catalog_of(&caller).unwrap().tools().len(), 50);
    assert_eq!(home.starts(), 50, "a list started a server");
    assert!(processes::working_in(home.folder.path()).is_empty());

    assert_eq!(echo(&bench.engine, &caller, "mcp__s7__echo").await.unwrap(), "hello");
    assert_eq!(home.starts(), 51, "one call starts one server, once");
    assert_eq!((word(&bench, "s7"), word(&bench, "s8")), ("connected", "idle"));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn an_eager_server_starts_at_once_and_a_changed_policy_counts() {
    let home = Home::new();
    let lazy = home.servers(&["one"]);
    let mut eager = lazy.clone();
    eager["mcpServers"]["one"]["start"] = json!("eager");
    home.fill(&lazy).await;
    let bench = home.bench(&eager).await;
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    bench.engine.shutdown().await;
    let bench = home.bench(&lazy).await;
    assert_eq!(word(&bench, "one"), "idle");
    bench.engine.apply(&bench.workspace, home.desired(&eager));
    until(&bench, |snapshot| snapshot.server("one").unwrap().status.word() == "connected").await;
    assert_eq!(home.starts(), 3);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_without_calls_stops_and_starts_again_with_the_next() {
    let home = Home::new();
    let idle = Duration::from_millis(200);
    let bench = home.engine(|options| options.timing.server_idle = Some(idle)).await;
    bench.engine.apply(&bench.workspace, home.desired(&home.servers(&["one", "two"])));
    let is_idle = |server: &'static str| {
        move |snapshot: &WorkspaceSnapshot| {
            matches!(snapshot.server(server).unwrap().status, ServerStatus::Idle { .. })
        }
    };
    let stays = bench.caller("stays");
    until(&bench, is_idle("one")).await;
    until(&bench, is_idle("two")).await;
    let leaves = bench.caller("leaves");
    assert_eq!(echo(&bench.engine, &leaves, "mcp__one__echo").await.unwrap(), "hello");
    let is_brief = bench.caller("is brief");
    assert_eq!(echo(&bench.engine, &is_brief, "mcp__two__echo").await.unwrap(), "hello");
    drop(is_brief);
    assert_eq!(home.starts(), 4);
    // `two` was called last. When it stops, `one` was without a call for longer, but its process may remember
    // something for a session that has called it.
    until(&bench, is_idle("two")).await;
    assert_eq!(word(&bench, "one"), "connected");
    drop(leaves);
    until(&bench, is_idle("one")).await;
    // The end of a process changes nothing in the engine.
    let folder = home.folder.path().to_owned();
    let are_gone = move || processes::working_in(&folder).is_empty();
    let waited = tokio::task::spawn_blocking(move || wait_until(PATIENCE, are_gone));
    waited.await.unwrap().expect("a process is left");
    assert_eq!(echo(&bench.engine, &stays, "mcp__one__echo").await.unwrap(), "hello");
    assert_eq!(home.starts(), 5);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_is_gone_is_named_and_a_new_one_is_found() {
    let home = Home::new();
    let configuration = home.servers(&["one"]);
    home.fill(&configuration).await;
    home.install("notebook");
    let bench = home.bench(&configuration).await;
    let caller = bench.caller("c");
    let mut events = bench.engine.events();
    let error = echo(&bench.engine, &caller, "mcp__one__echo").await.unwrap_err();
    assert!(matches!(error, CallError::Gone { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "`one` no longer has `mcp__one__echo`; list its tools and prompts again"
    );
    let is_announced = |what: &EngineEventKind| {
        matches!(what, EngineEventKind::List(switchboard_wire::client::ListKind::Tools))
    };
    while !is_announced(&events.recv().await.unwrap().what) {}
    let catalog = bench.engine.catalog_of(&caller).unwrap();
    assert!(catalog.tool("mcp__one__echo").is_none() && catalog.tool("mcp__one__write").is_some());
    bench.engine.shutdown().await;

    home.install("echo-server");
    let bench = home.bench(&configuration).await;
    let caller = bench.caller("c");
    assert_eq!(echo(&bench.engine, &caller, "mcp__one__echo").await.unwrap(), "hello");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn an_unusable_catalog_is_a_problem_and_is_written_again() {
    let home = Home::new();
    let configuration = home.servers(&["one"]);
    home.fill(&configuration).await;
    let file = home.catalogs().remove(0);
    let good = fs::read_to_string(&file).unwrap();
    for bad in ["", &good[..good.len() - 9], &good.replace("echo", "evil")] {
        fs::write(&file, bad).unwrap();
        let bench = home.bench(&configuration).await;
        let problems = bench.engine.snapshot(&bench.workspace.id).unwrap().problems.clone();
        assert!(problems.iter().any(|problem| problem.kind == EngineProblemKind::Storage));
        bench.engine.check_servers(&bench.workspace.id).await;
        until(&bench, |snapshot| snapshot.problems.is_empty()).await;
        assert_eq!(word(&bench, "one"), "connected");
        bench.engine.shutdown().await;
    }
    let bench = home.bench(&configuration).await;
    assert_eq!(word(&bench, "one"), "idle");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_changed_or_removed_entry_loses_its_catalog_and_a_disabled_one_keeps_it() {
    let home = Home::new();
    let configuration = home.servers(&["one"]);
    let count = async |change: &dyn Fn(&mut Value)| {
        home.fill(&configuration).await;
        let bench = home.bench(&configuration).await;
        let mut changed = configuration.clone();
        change(&mut changed);
        bench.engine.apply(&bench.workspace, home.desired(&changed));
        let left = home.catalogs().len();
        bench.engine.shutdown().await;
        for file in home.catalogs() {
            fs::remove_file(file).unwrap();
        }
        left
    };
    assert_eq!(count(&|it| it["mcpServers"]["one"]["disabled"] = json!(true)).await, 1);
    assert_eq!(count(&|it| it["mcpServers"] = json!({})).await, 0);
    assert_eq!(count(&|it| it["mcpServers"]["one"]["command"] = json!("/no/such")).await, 0);
}

#[tokio::test]
async fn principals_and_kinds_of_clients_have_catalogs_of_their_own() {
    let home = Home::new();
    let configuration = home.servers(&["one"]);
    home.fill(&configuration).await;
    let check = async |principal: &str, capabilities: Value, starts: usize| {
        for _ in 0..2 {
            let bench = home.bench(&configuration).await;
            let session = Session { capabilities: raw(&capabilities), ..session("c", principal) };
            let caller = bench.attach(session);
            bench.engine.bind_session(&caller, PATIENCE).await;
            bench.engine.settled_snapshot_for(caller.principal(), PATIENCE).await.unwrap();
            assert_eq!(bench.engine.catalog_of(&caller).unwrap().tools().len(), 1);
            bench.engine.shutdown().await;
        }
        assert_eq!(home.starts(), starts, "{principal} {capabilities}");
    };
    let usual = Session::new("c").capabilities.decode::<Value>().unwrap();
    check(LOCAL_PRINCIPAL, usual.clone(), 1).await;
    check(LOCAL_PRINCIPAL, json!({ "sampling": {} }), 2).await;
    check("ann", usual, 3).await;
    assert_eq!(home.catalogs().len(), 3);
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    assert!(home.catalogs().iter().all(|path| text(path).contains("\"echo\"")));
}
