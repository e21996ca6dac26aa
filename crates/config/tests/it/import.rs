//! Tests of the readers of other clients' files, with files as those clients write them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_config::import::{ClientApp, ClientServers, plan_import, read_client_file};
use switchboard_config::{
    Entry, EnvironmentVariables, ServerSignature, SourceOrigin, Stdio, Transport,
};

use crate::case::World;

fn file(client: ClientApp, name: &str, text: &str) -> ClientServers {
    read_client_file(client, &SourceOrigin::file(name), text)
}

fn check(client: ClientApp, name: &str, text: &str, expected: &[(&str, Value)]) -> Vec<String> {
    let read = file(client, name, text);
    let found: Vec<_> =
        read.servers.iter().map(|server| (&*server.name, server.entry.clone())).collect();
    assert_eq!(found, expected);
    for server in &read.servers {
        let checked = switchboard_config::check_entry(
            &server.name,
            &server.entry,
            &server.at,
            &EnvironmentVariables::new(),
        );
        assert!(checked.entry.is_some(), "{} is not usable: {:?}", server.name, checked.problems);
    }
    read.problems.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn claude_code() {
    let text = r#"{"numStartups": 5, "mcpServers": {"a": {"type": "stdio", "command": "x", "args": [], "env": {}}},
        "projects": {"/p": {"mcpServers": {"b": {"type": "http", "url": "https://b.example"}}}}}"#;
    check(
        ClientApp::ClaudeCode,
        ".claude.json",
        text,
        &[
            ("a", json!({ "type": "stdio", "command": "x", "args": [], "env": {} })),
            ("b", json!({ "type": "http", "url": "https://b.example" })),
        ],
    );
    let read = file(ClientApp::ClaudeCode, ".claude.json", text);
    assert_eq!(read.servers[1].project.as_deref(), Some("/p".as_ref()));
    assert_eq!(read.servers[1].at.to_string(), ".claude.json:2:44");
}

#[test]
fn claude_desktop() {
    check(
        ClientApp::ClaudeDesktop,
        "claude_desktop_config.json",
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "fs", "/d"]}}, "globalShortcut": ""}"#,
        &[("fs", json!({ "command": "npx", "args": ["-y", "fs", "/d"] }))],
    );
}

#[test]
fn cursor() {
    check(
        ClientApp::Cursor,
        "mcp.json",
        r#"{"mcpServers": {"a": {"command": "${userHome}/bin/a", "env": {"K": "${env:API_KEY}"}, "envFile": "${workspaceFolder}/.env"},
            "b": {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer ${env:T}"}}}}"#,
        &[
            (
                "a",
                json!({ "command": "${HOME}/bin/a", "env": { "K": "${API_KEY}" }, "envFile": "./.env" }),
            ),
            (
                "b",
                json!({ "type": "http", "url": "https://b.example/mcp", "headers": { "Authorization": "Bearer ${T}" } }),
            ),
        ],
    );
}

#[test]
fn vscode_with_inputs() {
    let servers = r#"{"inputs": [{"type": "promptString", "id": "github-token", "description": "Token", "password": true}],
        "servers": {"gh": {"type": "http", "url": "https://gh.example/mcp", "headers": {"Authorization": "Bearer ${input:github-token}"}},
                    "local": {"command": "node", "args": ["${workspaceFolder}/s.js"], "dev": {"watch": "x"}}}}"#;
    let expected = [
        (
            "gh",
            json!({ "type": "http", "url": "https://gh.example/mcp", "headers": { "Authorization": "Bearer ${GITHUB_TOKEN}" } }),
        ),
        ("local", json!({ "command": "node", "args": ["./s.js"] })),
    ];
    let notes = check(ClientApp::VsCode, "mcp.json", servers, &expected);
    assert_eq!(notes, ["the input `github-token` becomes the variable `GITHUB_TOKEN`"]);
    check(
        ClientApp::VsCode,
        "settings.json",
        &format!("{{\"mcp\": {servers} /* old place */}}"),
        &expected,
    );
}

#[test]
fn codex() {
    let read = check(
        ClientApp::Codex,
        "config.toml",
        r#"
model = "gpt"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["LOCAL_TOKEN"]
tool_timeout_sec = 45.5
enabled = false
enabled_tools = ["open"]
disabled_tools = ["rm"]
[mcp_servers.docs.env]
A = "1"
[mcp_servers.figma]
url = "https://figma.example/mcp"
bearer_token_env_var = "FIGMA"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "KEY_VAR" }
"#,
        &[
            (
                "docs",
                json!({ "command": "npx", "args": ["-y", "docs"], "env": { "A": "1" }, "inheritEnv": ["LOCAL_TOKEN"],
                "timeout": 45500, "disabled": true, "tools": { "allow": ["open"], "deny": ["rm"] } }),
            ),
            (
                "figma",
                json!({ "type": "http", "url": "https://figma.example/mcp",
                "headers": { "X-Region": "eu", "X-Key": "${KEY_VAR}", "Authorization": "Bearer ${FIGMA}" } }),
            ),
        ],
    );
    assert!(read.is_empty());
}

#[test]
fn gemini() {
    check(
        ClientApp::Gemini,
        "settings.json",
        r#"{"theme": "x", "mcpServers": {"h": {"httpUrl": "https://h.example/mcp", "timeout": 5000, "trust": true},
            "s": {"url": "https://s.example/sse"},
            "p": {"command": "py", "env": {"K": "$MY_KEY", "M": "${OTHER}", "P": "5$ $"}, "includeTools": ["a"], "excludeTools": ["b"]}}}"#,
        &[
            ("h", json!({ "type": "http", "url": "https://h.example/mcp", "timeout": 5000 })),
            ("s", json!({ "type": "sse", "url": "https://s.example/sse" })),
            (
                "p",
                json!({ "command": "py", "env": { "K": "${MY_KEY}", "M": "${OTHER}", "P": "5$ $" },
                "tools": { "allow": ["a"], "deny": ["b"] } }),
            ),
        ],
    );
}

#[test]
fn windsurf() {
    check(
        ClientApp::Windsurf,
        "mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp", "headers": {"K": "${env:K}"}}, "b": {"command": "x", "disabled": true, "disabledTools": ["t"]}}}"#,
        &[
            (
                "a",
                json!({ "type": "http", "url": "https://a.example/mcp", "headers": { "K": "${K}" } }),
            ),
            ("b", json!({ "command": "x", "disabled": true, "tools": { "deny": ["t"] } })),
        ],
    );
}

#[test]
fn zed() {
    let notes = check(
        ClientApp::Zed,
        "settings.json",
        r#"{ // mine
            "context_servers": {"new": {"source": "custom", "enabled": false, "command": "x", "args": ["y"], "env": {}},
            "old": {"command": {"path": "p", "args": ["q"], "env": {"A": "b"}}, "settings": {}},
            "web": {"url": "https://w.example/mcp", "headers": {"A": "b"}},
            "ext": {"source": "extension", "settings": {}},}}"#,
        &[
            ("new", json!({ "command": "x", "args": ["y"], "disabled": true })),
            ("old", json!({ "command": "p", "args": ["q"], "env": { "A": "b" } })),
            (
                "web",
                json!({ "type": "http", "url": "https://w.example/mcp", "headers": { "A": "b" } }),
            ),
        ],
    );
    assert_eq!(notes, ["`ext` was not taken over: an extension of the editor provides it"]);
}

#[test]
fn continue_dev() {
    check(
        ClientApp::Continue,
        "config.yaml",
        "name: mine\nmcpServers:\n  - name: My Server\n    command: npx\n    args: [-y, x]\n    env:\n      K: ${{ secrets.K }}\n  \
         - name: web\n    type: streamable-http\n    url: https://w.example/mcp\n    requestOptions:\n      headers:\n        A: b\n",
        &[
            ("My Server", json!({ "command": "npx", "args": ["-y", "x"], "env": { "K": "${K}" } })),
            (
                "web",
                json!({ "type": "streamable-http", "url": "https://w.example/mcp", "headers": { "A": "b" } }),
            ),
        ],
    );
    check(
        ClientApp::Continue,
        "config.json",
        r#"{"experimental": {"modelContextProtocolServers": [{"transport": {"type": "stdio", "command": "x"}}]}}"#,
        &[("continue-1", json!({ "type": "stdio", "command": "x" }))],
    );
}

#[test]
fn goose() {
    let notes = check(
        ClientApp::Goose,
        "config.yaml",
        "GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  git:\n    type: stdio\n    cmd: uvx\n    \
         args: [mcp-git]\n    envs: {A: '1'}\n    env_keys: [TOKEN]\n    timeout: 300\n    enabled: false\n  web:\n    type: streamable_http\n    \
         uri: https://w.example/mcp\n    headers: {A: b}\n    available_tools: [t]\n  wrapped:\n    enabled: true\n    config:\n      type: sse\n      uri: https://s.example\n",
        &[
            (
                "git",
                json!({ "command": "uvx", "args": ["mcp-git"], "env": { "A": "1", "TOKEN": "${TOKEN}" }, "timeout": 300_000, "disabled": true }),
            ),
            (
                "web",
                json!({ "type": "http", "url": "https://w.example/mcp", "headers": { "A": "b" }, "tools": { "allow": ["t"] } }),
            ),
            ("wrapped", json!({ "type": "sse", "url": "https://s.example" })),
        ],
    );
    assert_eq!(notes, ["`developer` was not taken over: goose provides it itself (builtin)"]);
}

#[test]
fn a_plan_skips_what_is_here_and_finds_free_names() {
    let stdio = |command: &str| {
        Entry::new(Transport::Stdio(Stdio { command: command.to_owned(), ..Stdio::default() }))
    };
    let existing: BTreeMap<_, _> = [
        ("mine".to_owned(), ServerSignature::of_entry(&stdio("same"))),
        ("taken".to_owned(), ServerSignature::of_entry(&stdio("other"))),
    ]
    .into();
    let text = r#"{"mcpServers": {"theirs": {"command": "same"}, "taken": {"command": "new"}, "My Server!": {"command": "x"},
        "bad": {"timeout": 5}, "twice": {"command": "new"}, "later": {"command": "${NOT_SET}"}}}"#;
    let plan = plan_import(
        file(ClientApp::ClaudeDesktop, "x.json", text),
        &existing,
        &EnvironmentVariables::new(),
    );
    let names: Vec<_> = plan.add.iter().map(|found| &*found.name).collect();
    assert_eq!(names, ["taken-2", "My_Server_", "later"]);
    let skipped: Vec<_> = plan.skip.iter().map(|skipped| (&*skipped.name, &*skipped.why)).collect();
    assert_eq!(
        skipped,
        [
            ("theirs", "it is the same server as `mine`"),
            ("bad", "its entry is not usable"),
            ("twice", "it is the same server as `taken-2`"),
        ]
    );
}

#[test]
fn files_that_cannot_be_read() {
    for (client, name) in [
        (ClientApp::Codex, "config.toml"),
        (ClientApp::Goose, "config.yaml"),
        (ClientApp::Zed, "settings.json"),
    ] {
        let read = file(client, name, "= [ : {");
        assert_eq!((read.servers.len(), read.problems.len()), (0, 1), "{name}");
        assert!(file(client, name, "").problems.is_empty());
    }
}

#[test]
fn every_client_has_files() {
    let world = World::new();
    for client in ClientApp::ALL {
        assert_eq!(client.name().parse(), Ok(client));
        let files = client.user_files(&world.surroundings);
        assert!(files.iter().all(|path| path.is_absolute()) && !files.is_empty());
    }
}
