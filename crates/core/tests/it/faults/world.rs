//! Test helper: an engine with a healthy server under constant calls, and the servers that a test adds. Used by the
//! tests of `faults`.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::engine::{
    Caller, Engine, EngineOptions, InProcessServer, ServerSnapshot, WorkspaceSnapshot,
};
use switchboard_core::{CallError, CallOutcome, Request};
use switchboard_testkit::processes::working_in;
use switchboard_testkit::programs::program;
use switchboard_testkit::scripted::{Part, Said, Scripted};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::engine::script::{Bench, Script, raw, said};

/// Nothing on the real clock takes longer, however busy the machine.
const BOUND: Duration = Duration::from_secs(120);

/// Nor on a clock that a test has stopped.
const STOPPED_BOUND: Duration = Duration::from_secs(60 * 60);

/// How long the healthy server rests between two calls. On a clock that a test has stopped it has to: such a clock
/// goes on only when everybody rests.
#[derive(Clone, Copy)]
enum Pace {
    Real,
    Stopped,
}

/// An engine, its workspace, a session, and the calls that go on.
pub(super) struct World {
    pub(super) bench: Bench,
    pub(super) caller: Caller,
    beside: Beside,
    pace: Pace,
}

/// Calls of the healthy server, one after the other until it is dropped.
struct Beside {
    answered: watch::Receiver<usize>,
    calling: JoinHandle<()>,
}

// === impl World ===

impl World {
    /// Processes: a healthy one, and these entries.
    pub(super) async fn of_processes(entries: &Value) -> Self {
        Self::with(entries, |_| ()).await
    }

    pub(super) async fn with(entries: &Value, change: impl FnOnce(&mut EngineOptions)) -> Self {
        let bench = Bench::with(|options| {
            // So that a test need not wait for as long as a person would.
            options.timing.first_pause = Duration::from_millis(50);
            options.timing.between_attempts = Duration::from_millis(50);
            change(options);
        });
        let bench = bench.await;
        // Equal entries share a process, and this one is not to be shared.
        let healthy = json!({ "command": program("faulty"), "args": ["healthy"] });
        let mut servers = json!({ "healthy": healthy });
        servers.as_object_mut().unwrap().extend(entries.as_object().unwrap().clone());
        let configuration = json!({ "mcpServers": servers });
        bench.engine.apply(&bench.workspace, bench.desired(&configuration));
        Self::begin(bench, Pace::Real).await
    }

    /// Everything in this process. `fill` adds servers.
    pub(super) async fn in_process(fill: impl FnOnce(&mut Bench)) -> Self {
        Self::filled(fill, Pace::Real).await
    }

    /// The same for a test that has stopped the clock.
    pub(super) async fn on_stopped_clock(fill: impl FnOnce(&mut Bench)) -> Self {
        Self::filled(fill, Pace::Stopped).await
    }

    async fn filled(fill: impl FnOnce(&mut Bench), pace: Pace) -> Self {
        let mut bench = Bench::new().await;
        fill(&mut bench);
        bench.serve("healthy", Script::new(&["echo"]));
        Self::begin(bench, pace).await
    }

    async fn begin(bench: Bench, pace: Pace) -> Self {
        let beside = Beside::begin(bench.engine.clone(), bench.caller("beside"), pace);
        let world = Self { caller: bench.caller("test"), bench, beside, pace };
        world.others_go_on().await;
        world
    }

    /// Calls a tool of a server.
    pub(super) async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<CallOutcome, CallError> {
        let running = self.bench.engine.call(&self.caller, request(server, tool, arguments));
        bounded(running.outcome()).await
    }

    /// What a tool says.
    pub(super) async fn said(&self, server: &str, tool: &str, arguments: &Value) -> String {
        said(&self.call(server, tool, arguments).await.unwrap().result)
    }

    pub(super) fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        self.bench.engine.snapshot(&self.bench.workspace.id).unwrap()
    }

    /// Waits until a server is seen to be so.
    pub(super) async fn until(
        &self,
        server: &str,
        so: impl Fn(&ServerSnapshot) -> bool,
    ) -> ServerSnapshot {
        let mut changes = self.bench.engine.changes();
        let waiting = async {
            loop {
                if let Some(view) = self.snapshot().server(server).filter(|view| so(view)) {
                    return view.clone();
                }
                changes.changed().await.unwrap();
            }
        };
        let bound = self.pace.bound();
        let Ok(view) = tokio::time::timeout(bound, waiting).await else {
            panic!("it never happens: {:#?}", self.snapshot().server(server))
        };
        view
    }

    /// Waits for a call of the healthy server that began after now.
    pub(super) async fn others_go_on(&self) {
        let mut answered = self.beside.answered.clone();
        // The next answer may be to a call that is under way already.
        let next = *answered.borrow() + 2;
        let seen = bounded(answered.wait_for(|count| *count >= next)).await;
        assert!(seen.is_ok(), "the healthy server has failed");
    }

    pub(super) fn folder(&self) -> &Path {
        self.bench.folder.path()
    }

    /// The healthy server has answered every call to the end, it was connected to once, and nothing is left.
    pub(super) async fn end(self) {
        self.others_go_on().await;
        let healthy = self.snapshot().server("healthy").unwrap().clone();
        assert_eq!(healthy.status.word(), "connected");
        let stats = healthy.stats.unwrap();
        assert_eq!(stats.connects, 1, "the healthy server was connected to again");
        assert!(
            stats.last_error.is_none(),
            "the healthy server was harmed: {:?}",
            stats.last_error
        );
        self.beside.calling.abort();
        let ended = self.beside.calling.await;
        assert!(ended.is_err_and(|error| error.is_cancelled()), "the healthy server has failed");
        bounded(self.bench.engine.shutdown()).await;
        assert_eq!(working_in(self.bench.folder.path()), [], "processes are left");
    }
}

// === impl Pace ===

impl Pace {
    fn rest(self) -> Duration {
        match self {
            Self::Real => Duration::from_millis(2),
            Self::Stopped => Duration::from_millis(50),
        }
    }

    fn bound(self) -> Duration {
        match self {
            Self::Real => BOUND,
            Self::Stopped => STOPPED_BOUND,
        }
    }
}

// === impl Beside ===

impl Beside {
    fn begin(engine: Engine, caller: Caller, pace: Pace) -> Self {
        let (count, answered) = watch::channel(0);
        let calling = tokio::spawn(async move {
            loop {
                let number = *count.borrow() + 1;
                let arguments = json!({ "number": number });
                let call = engine.call(&caller, request("healthy", "echo", &arguments));
                let outcome = bounded(call.outcome()).await.expect("the healthy server fails");
                let heard: Value = serde_json::from_str(&said(&outcome.result)).unwrap();
                assert_eq!(heard, arguments, "an answer to something else");
                count.send_replace(number);
                tokio::time::sleep(pace.rest()).await;
            }
        });
        Self { answered, calling }
    }
}

/// A server of this process that plays these parts, and how to reach it.
pub(super) fn scripted(
    name: &str,
    parts: impl IntoIterator<Item = Part>,
) -> (Arc<Scripted>, InProcessServer) {
    let server = Scripted::new(parts);
    let tools = json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] });
    server.answer("tools/list", Said::Result(tools.to_string()));
    let opening = server.clone();
    (server, InProcessServer::from_link(name, move || opening.open()))
}

/// A call of a tool.
pub(super) fn request(server: &str, tool: &str, arguments: &Value) -> Request {
    Request::tool(&format!("mcp__{server}__{tool}"), &raw(arguments))
}

/// No arguments.
pub(super) fn nothing() -> &'static Value {
    static NOTHING: LazyLock<Value> = LazyLock::new(|| json!({}));
    &NOTHING
}

pub(super) async fn bounded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("the test hangs")
}

/// Runs a test in a process of its own, whose memory is nobody else's.
pub(super) fn alone(name: &str, test: impl Future<Output = ()>) {
    const ALONE: &str = "SWITCHBOARD_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(test);
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--nocapture"]).env(ALONE, "1");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "no test is called {name}");
}
