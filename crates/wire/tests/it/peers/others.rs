//! Tests against popular servers, and against the Python SDK's transports.

use std::path::Path;
use std::process::Command as System;

use switchboard_wire::Version;
use switchboard_wire::client::{CallRequest, InboxEvent, VersionNegotiation};

use super::check::{Expected, check};
use super::place::{our_python, python, reference};
use super::server::{Connected, Way, options};
use super::{bounded, raw};

const NOTHING: Expected = Expected {
    version: Version::V2025_11_25,
    lists: [None; 4],
    call: ("", String::new(), ""),
    read: None,
    prompt: None,
    complete: None,
    slow: None,
    subscribe: None,
};

#[test]
fn filesystem() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("note.txt"), "a note").unwrap();
        let path = folder.path().canonicalize().unwrap();
        let path = path.to_str().unwrap().to_owned();
        let command = reference("npm", "server-filesystem", &[&path]);
        // Roots would replace the folder that the server was started with.
        let mut options = options(VersionNegotiation::Probe);
        options.roots = None;
        let mut connected = Connected::start_in(folder, command, Way::Stdio, "", options).await;
        let arguments = format!(r#"{{"path":"{path}/note.txt"}}"#);
        let expected = Expected {
            lists: [Some(14), None, None, None],
            call: ("read_text_file", arguments, "a note"),
            ..NOTHING
        };
        check(&mut connected, &expected).await;
        let outside = CallRequest::call_tool("read_text_file", &raw(r#"{"path":"/etc/hostname"}"#));
        let refused = connected.client.call(outside).result().await.unwrap();
        assert_eq!(refused.get("isError").unwrap().unwrap().as_str(), "true");
        connected.close().await;
    });
}

#[test]
fn memory() {
    bounded(async {
        let mut command = reference("npm", "server-memory", &[]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.jsonl");
        command.env.push(("MEMORY_FILE_PATH".into(), file.into()));
        let options = options(VersionNegotiation::Probe);
        let mut connected = Connected::start_in(folder, command, Way::Stdio, "", options).await;
        let graph = "memory://knowledge-graph";
        let entity =
            r#"{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]}]}"#;
        let expected = Expected {
            lists: [Some(9), None, Some(1), Some(0)],
            call: ("create_entities", entity.into(), "Ada"),
            read: Some((graph, "Ada")),
            subscribe: Some(graph),
            ..NOTHING
        };
        check(&mut connected, &expected).await;
        connected.client.subscribe(graph).await.unwrap();
        let change = raw(r#"{"entityNames":["Ada"]}"#);
        let call = CallRequest::call_tool("delete_entities", &change);
        connected.client.call(call).result().await.unwrap();
        let heard = connected.inbox.next().await.unwrap();
        assert!(
            matches!(&heard, InboxEvent::ResourceUpdated { uri, .. } if uri == graph),
            "{heard:?}"
        );
        connected.close().await;
    });
}

#[test]
fn sequential_thinking() {
    let thought =
        r#"{"thought":"so","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}"#;
    let expected = Expected {
        lists: [Some(1), None, None, None],
        call: ("sequentialthinking", thought.into(), "thoughtHistoryLength"),
        ..NOTHING
    };
    let command = reference("npm", "server-sequential-thinking", &[]);
    bounded(plain(command, Way::Stdio, expected));
}

#[test]
fn git() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        repository(&path);
        let path = path.to_str().unwrap().to_owned();
        let command = python("python", "mcp-server-git", &["--repository", &path]);
        let options = options(VersionNegotiation::Probe);
        let mut connected = Connected::start_in(folder, command, Way::Stdio, "", options).await;
        let expected = Expected {
            version: Version::V2026_07_28,
            lists: [Some(12), Some(0), Some(0), Some(0)],
            call: ("git_log", format!(r#"{{"repo_path":"{path}"}}"#), "the first"),
            ..NOTHING
        };
        check(&mut connected, &expected).await;
        connected.close().await;
    });
}

/// A repository with one commit.
fn repository(path: &Path) {
    std::fs::write(path.join("note.txt"), "a note").unwrap();
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    for args in [
        &["init", "--quiet"][..],
        &["add", "."],
        &[&identity[..], &["commit", "--quiet", "-m", "the first"]].concat(),
    ] {
        let status = System::new("git").args(args).current_dir(path).status();
        assert!(status.unwrap().success(), "git {args:?}");
    }
}

fn time(version: Version) -> Expected {
    Expected {
        version,
        lists: [Some(2), Some(0), Some(0), Some(0)],
        call: ("get_current_time", r#"{"timezone":"Europe/Zurich"}"#.into(), "Europe/Zurich"),
        ..NOTHING
    }
}

/// The server speaks both eras; the probe takes the modern one.
#[test]
fn time_is_modern() {
    let command = python("python", "mcp-server-time", &[]);
    bounded(plain(command, Way::Stdio, time(Version::V2026_07_28)));
}

#[test]
fn time_in_every_legacy_version() {
    bounded(async {
        for version in Version::ALL.into_iter().filter(|it| *it < Version::V2026_07_28) {
            let command = python("python", "mcp-server-time", &[]);
            let options = options(VersionNegotiation::Only(version));
            let mut connected = Connected::start_with(command, Way::Stdio, "", options).await;
            check(&mut connected, &time(version)).await;
            connected.close().await;
        }
    });
}

#[test]
fn sqlite() {
    let expected = Expected {
        lists: [Some(6), Some(1), Some(1), None],
        call: ("list_tables", "{}".into(), "content"),
        read: Some(("memo://insights", "contents")),
        prompt: Some(("mcp-demo", r#"{"topic":"bees"}"#, "bees")),
        ..NOTHING
    };
    let command = python("python-legacy", "mcp-server-sqlite", &["--db-path", "test.db"]);
    bounded(plain(command, Way::Stdio, expected));
}

fn python_sdk() -> Expected {
    Expected {
        lists: [Some(2), Some(1), Some(1), Some(0)],
        call: ("add", r#"{"a":2,"b":40}"#.into(), "42"),
        read: Some(("note://hello", "hello")),
        prompt: Some(("greet", r#"{"name":"Ada"}"#, "Please greet Ada.")),
        slow: Some(("slow", r#"{"ms":200}"#, r#"{"ms":600000,"steps":6000}"#, 10)),
        ..NOTHING
    }
}

#[test]
fn python_over_websocket() {
    bounded(plain(our_python("py-ws-server.py"), Way::WebSocket, python_sdk()));
}

#[test]
fn python_over_sse() {
    bounded(plain(our_python("py-sse-server.py"), Way::Sse, python_sdk()));
}

async fn plain(command: switchboard_process::ProcessCommand, way: Way, expected: Expected) {
    let mut connected = Connected::start(command, way, "").await;
    check(&mut connected, &expected).await;
    connected.close().await;
}
