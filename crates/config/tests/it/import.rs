//! Tests of the readers of other clients' files, with files as those clients write them.

use serde_json::{Value, json};
use switchboard_config::import::{ClientApp, ClientServers, read_client_file};
use switchboard_config::{EnvironmentVariables, SourceOrigin};

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
    let losses = read.servers.iter().flat_map(|server| &server.losses);
    read.problems.iter().chain(losses).map(|problem| problem.message.clone()).collect()
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
            ("a", json!({ "type": "stdio", "command": "x" })),
            ("b", json!({ "type": "http", "url": "https://b.example" })),
        ],
    );
    let read = file(ClientApp::ClaudeCode, ".claude.json", text);
    assert_eq!(read.servers[1].project.as_deref(), Some("/p".as_ref()));
    assert_eq!(read.servers[1].client, ClientApp::ClaudeCode);
    assert_eq!(read.servers[1].at.to_string(), ".claude.json:2:44");
}

#[test]
fn claude_code_with_everything() {
    let notes = check(
        ClientApp::ClaudeCode,
        ".claude.json",
        r#"{"mcpServers": {"web": {"type": "http", "url": "https://w.example", "headersHelper": "get-headers", "alwaysLoad": true,
            "oauth": {"clientId": "abc", "callbackPort": 3118}, "timeout": 60000, "icon": "w.png"},
            "mine": {"command": "x", "timeout": 500}},
            "projects": {"/p": {"mcpServers": {"here": {"command": "y", "args": ["${KEY:-none}"]}}, "disabledMcpServers": ["here", "mine", "gone"]}}}"#,
        &[
            (
                "web",
                json!({ "type": "http", "url": "https://w.example", "headersHelper": "get-headers",
                "oauth": { "clientId": "abc", "callbackPort": 3118 }, "alwaysLoad": true, "timeout": 60000 }),
            ),
            ("mine", json!({ "command": "x" })),
            ("here", json!({ "command": "y", "args": ["${KEY:-none}"], "disabled": true })),
        ],
    );
    assert_eq!(
        notes,
        [
            "`icon` of `web` is not imported: Switchboard has no equivalent",
            "`timeout` of `mine` is not imported: a timeout is at least one second here",
            "`mine` is disabled in /p, and becomes enabled there",
        ]
    );
}

#[test]
fn claude_desktop() {
    let notes = check(
        ClientApp::ClaudeDesktop,
        "claude_desktop_config.json",
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "fs", "/d"]}, "sh": {"command": "sh", "args": ["-c", "exec ${SERVER}"]}}, "globalShortcut": ""}"#,
        &[
            ("fs", json!({ "command": "npx", "args": ["-y", "fs", "/d"] })),
            ("sh", json!({ "command": "sh", "args": ["-c", "exec ${SERVER}"] })),
        ],
    );
    let literal = "`args[1]` of `sh` has another meaning here: `${SERVER}` is plain text for the client, and is replaced by a variable here";
    assert_eq!(notes, [literal]);
}

#[test]
fn cursor() {
    let notes = check(
        ClientApp::Cursor,
        "mcp.json",
        r#"{"mcpServers": {"a": {"command": "${userHome}/bin/a", "args": ["${workspaceRoot}", "${workspaceFolderBasename}"],
            "env": {"K": "${env:API_KEY}", "F": "${config:a.b}"}, "envFile": "${workspaceFolder}/.env"},
            "b": {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer ${env:T}"},
                  "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "${env:S}", "scopes": ["read"], "resource": "r"}}}}"#,
        &[
            (
                "a",
                json!({ "command": "${HOME}/bin/a", "args": ["${workspaceFolder}", "${workspaceFolderBasename}"],
                "env": { "K": "${API_KEY}", "F": "${config:a.b}" }, "envFile": "${workspaceFolder}/.env" }),
            ),
            (
                "b",
                json!({ "type": "http", "url": "https://b.example/mcp", "headers": { "Authorization": "Bearer ${T}" },
                "oauth": { "clientId": "id", "clientSecret": "${S}", "scopes": ["read"] } }),
            ),
        ],
    );
    assert_eq!(
        notes,
        [
            "`env.F` of `a` has another meaning here: `${config:a.b}` is not replaced here",
            "`auth.resource` of `b` is not imported: Switchboard has no equivalent",
        ]
    );
}

#[test]
fn vscode_with_inputs() {
    let servers = r#"{"inputs": [{"type": "promptString", "id": "github-token", "description": "Token", "password": true},
                   {"type": "promptString", "id": "port", "default": "80"}, {"type": "pickString", "id": "env", "options": ["a"]}],
        "servers": {"gh": {"type": "http", "url": "https://gh.example/mcp", "headers": {"Authorization": "Bearer ${input:github-token}"}, "oauth": {"clientId": "c"}, "gallery": true, "version": "1.2"},
                    "local": {"command": "node", "args": ["${workspaceFolder}/s.js", "${input:port}:${input:env}", "${env:GITHUB_TOKEN}"], "dev": {"watch": "x"}, "sandboxEnabled": true}}}"#;
    let expected = [
        (
            "gh",
            json!({ "type": "http", "url": "https://gh.example/mcp", "headers": { "Authorization": "Bearer ${secret:GITHUB_TOKEN}" },
            "oauth": { "clientId": "c" } }),
        ),
        (
            "local",
            json!({ "command": "node", "args": ["${workspaceFolder}/s.js", "${PORT:-80}:${ENV}", "${GITHUB_TOKEN}"] }),
        ),
    ];
    let notes = check(ClientApp::VsCode, "mcp.json", servers, &expected);
    assert_eq!(
        notes,
        [
            "the input `github-token` becomes the secret `GITHUB_TOKEN`",
            "the input `port` becomes the variable `PORT`",
            "the input `env` becomes the variable `ENV`",
            "`dev` of `local` is not imported: Switchboard has no equivalent",
            "`sandboxEnabled` of `local` is not imported: Switchboard has no equivalent",
        ]
    );
    check(
        ClientApp::VsCode,
        "settings.json",
        &format!("{{\"mcp\": {servers} /* old place */}}"),
        &expected,
    );
}

#[test]
fn codex() {
    let text = r#"
model = "gpt"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["LOCAL_TOKEN", { name = "OTHER", source = "local" }, { name = "FAR", source = "remote" }]
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled = false
required = true
enabled_tools = ["open"]
disabled_tools = ["rm"]
default_tools_approval_mode = "approve"
[mcp_servers.docs.env]
A = "1"
[mcp_servers.figma]
url = "https://figma.example/mcp"
bearer_token_env_var = "FIGMA"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "KEY_VAR" }
scopes = ["read"]
enabled_tools = []
"#;
    let notes = check(
        ClientApp::Codex,
        "config.toml",
        text,
        &[
            (
                "docs",
                json!({ "command": "npx", "args": ["-y", "docs"], "env": { "A": "1" }, "inheritEnv": ["LOCAL_TOKEN", "OTHER"],
                "timeout": 45500, "disabled": true, "tools": { "allow": ["open"], "deny": ["rm"] } }),
            ),
            (
                "figma",
                json!({ "type": "http", "url": "https://figma.example/mcp",
                "headers": { "X-Region": "eu", "X-Key": "${KEY_VAR}", "Authorization": "Bearer ${FIGMA}" },
                "oauth": { "scopes": ["read"] }, "tools": { "allow": [] } }),
            ),
        ],
    );
    assert_eq!(
        notes,
        [
            "`env_vars[2]` of `docs` is not imported: only variables of this machine can be passed",
            "`startup_timeout_sec` of `docs` is not imported: Switchboard has no equivalent",
            "`required` of `docs` is not imported: Switchboard has no equivalent",
            "`default_tools_approval_mode` of `docs` is not imported: Switchboard has no equivalent",
        ]
    );
    let read = file(ClientApp::Codex, "config.toml", text);
    let at: Vec<_> = read.servers[0]
        .losses
        .iter()
        .filter_map(|lost| lost.at.as_ref())
        .map(|at| at.line)
        .collect();
    assert_eq!(at, [6, 7, 10, 13]);
}

#[test]
fn gemini() {
    let notes = check(
        ClientApp::Gemini,
        "settings.json",
        r#"{"theme": "x", "mcp": {"excluded": ["s"]},
            "mcpServers": {"h": {"httpUrl": "https://h.example/mcp", "timeout": 5000, "trust": true, "description": "d",
                "oauth": {"enabled": true, "clientId": "c", "tokenUrl": "https://h.example/token"}},
            "s": {"url": "https://s.example/sse", "trust": false},
            "p": {"command": "py", "env": {"K": "$MY_KEY", "M": "${OTHER}", "P": "5$ $"}, "includeTools": ["a"], "excludeTools": ["b"]}}}"#,
        &[
            (
                "h",
                json!({ "type": "http", "url": "https://h.example/mcp", "timeout": 5000, "oauth": { "clientId": "c" } }),
            ),
            ("s", json!({ "type": "sse", "url": "https://s.example/sse", "disabled": true })),
            (
                "p",
                json!({ "command": "py", "env": { "K": "${MY_KEY}", "M": "${OTHER}", "P": "5$ $" },
                "tools": { "allow": ["a"], "deny": ["b"] } }),
            ),
        ],
    );
    assert_eq!(
        notes,
        [
            "`oauth.enabled` of `h` is not imported: Switchboard has no equivalent",
            "`oauth.tokenUrl` of `h` is not imported: Switchboard has no equivalent",
            "`trust` of `h` is not imported: Switchboard has no equivalent",
        ]
    );
}

#[test]
fn windsurf() {
    let notes = check(
        ClientApp::Windsurf,
        "mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp", "headers": {"K": "${env:K}"}},
            "b": {"command": "x", "disabled": true, "disabledTools": ["t"], "alwaysAllow": ["u"]}}}"#,
        &[
            (
                "a",
                json!({ "type": "http", "url": "https://a.example/mcp", "headers": { "K": "${K}" } }),
            ),
            ("b", json!({ "command": "x", "disabled": true, "tools": { "deny": ["t"] } })),
        ],
    );
    assert_eq!(notes, ["`alwaysAllow` of `b` is not imported: Switchboard has no equivalent"]);
    // A file is a provider here, which settings declare, so this server stays in the client.
    let text = r#"{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp", "headers": {"F": "${file:/run/key}"}}}}"#;
    let read = file(ClientApp::Windsurf, "mcp_config.json", text);
    let server = &read.servers[0];
    assert_eq!(
        server.losses[0].message,
        "`headers.F` of `a` has another meaning here: `${file:/run/key}` is not replaced here"
    );
    let variables = EnvironmentVariables::new();
    let checked = switchboard_config::check_entry("a", &server.entry, &server.at, &variables);
    assert!(checked.entry.is_none(), "{:?}", checked.problems);
}

#[test]
fn zed() {
    let notes = check(
        ClientApp::Zed,
        "settings.json",
        r#"{ // mine
            "context_servers": {"new": {"source": "custom", "enabled": false, "command": "x", "args": ["y"], "env": {}, "timeout": 60},
            "old": {"command": {"path": "p", "args": ["q"], "env": {"A": "b"}, "timeout": 9}, "settings": {"a": 1}, "enabled": false},
            "web": {"url": "https://w.example/mcp", "headers": {"A": "b"}, "oauth": {"client_id": "c"}},
            "ext": {"source": "extension", "settings": {}},}}"#,
        &[
            ("new", json!({ "command": "x", "args": ["y"], "disabled": true })),
            (
                "old",
                json!({ "command": "p", "args": ["q"], "env": { "A": "b" }, "disabled": true }),
            ),
            (
                "web",
                json!({ "type": "http", "url": "https://w.example/mcp", "headers": { "A": "b" }, "oauth": { "clientId": "c" } }),
            ),
        ],
    );
    assert_eq!(
        notes,
        [
            "`ext` was not imported: an extension of the editor provides it",
            "`timeout` of `new` is not imported: versions of Zed disagree whether it counts seconds or milliseconds",
            "`command.timeout` of `old` is not imported: Switchboard has no equivalent",
            "`settings` of `old` is not imported: Switchboard has no equivalent",
        ]
    );
}

#[test]
fn continue_dev() {
    let notes = check(
        ClientApp::Continue,
        "config.yaml",
        "name: mine\nmcpServers:\n  - name: My Server\n    command: npx\n    args: [-y, x]\n    connectionTimeout: 2000\n    env:\n      K: ${{ secrets.K }}\n  \
         - name: web\n    type: streamable-http\n    url: https://w.example/mcp\n    apiKey: ${{ secrets.W }}\n    requestOptions:\n      \
         verifySsl: false\n      caBundlePath: /ca.pem\n      headers:\n        A: b\n",
        &[
            ("My Server", json!({ "command": "npx", "args": ["-y", "x"], "env": { "K": "${K}" } })),
            (
                "web",
                json!({ "type": "streamable-http", "url": "https://w.example/mcp",
                "headers": { "A": "b", "Authorization": "Bearer ${W}" }, "tls": { "caFile": "/ca.pem" } }),
            ),
        ],
    );
    assert_eq!(
        notes,
        [
            "`connectionTimeout` of `My Server` is not imported: Switchboard has no equivalent",
            "`requestOptions.verifySsl` of `web` is not imported: Switchboard has no equivalent",
        ]
    );
    check(
        ClientApp::Continue,
        "config.json",
        r#"{"experimental": {"modelContextProtocolServers": [{"transport": {"type": "stdio", "command": "x"}}]}}"#,
        &[("continue-1", json!({ "type": "stdio", "command": "x" }))],
    );
}

/// JSON files in the folder `mcpServers` have the form of other clients, or are one server.
#[test]
fn continue_dev_json_blocks() {
    let notes = check(
        ClientApp::Continue,
        "claude.json",
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["x"], "env": {"K": "${K}"}, "envFile": ".env"}},
            "projects": {"/p": {"mcpServers": {"b": {"url": "https://b.example/mcp", "headers": {"A": "b"}}}}}}"#,
        &[
            ("a", json!({ "command": "npx", "args": ["x"], "env": { "K": "${K}" } })),
            (
                "b",
                json!({ "type": "http", "url": "https://b.example/mcp", "headers": { "A": "b" } }),
            ),
        ],
    );
    assert_eq!(notes, ["`envFile` of `a` is not imported: Continue does not use it either"]);
    check(
        ClientApp::Continue,
        "weather.json",
        r#"{"type": "sse", "url": "https://w.example/sse"}"#,
        &[("weather", json!({ "type": "sse", "url": "https://w.example/sse" }))],
    );
}

#[test]
fn goose() {
    let notes = check(
        ClientApp::Goose,
        "config.yaml",
        "GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  git:\n    type: stdio\n    cmd: uvx\n    \
         args: [mcp-git]\n    envs: {A: '1'}\n    env_keys: [TOKEN]\n    timeout: 300\n    enabled: false\n    bundled: true\n    available_tools: []\n  \
         web:\n    type: streamable_http\n    uri: https://w.example/mcp\n    headers: {A: b}\n    available_tools: [t]\n    socket: /s\n  \
         wrapped:\n    enabled: true\n    config:\n      type: sse\n      uri: https://s.example\n",
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
    assert_eq!(
        notes,
        [
            "`developer` was not imported: goose provides it itself (builtin)",
            "`socket` of `web` is not imported: Switchboard has no equivalent",
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
