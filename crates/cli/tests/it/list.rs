//! Tests of `switchboard list`.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_testkit::http::{Reply, Request, Scripted};

use crate::{Story, probe::processes_naming};

const US: &str = env!("CARGO_BIN_EXE_switchboard");

/// Something of every state.
fn every_state() -> Story {
    let mut story = Story::new();
    story.put_program_on_path();
    story.write(
        "../.config/switchboard/settings.json",
        "{\"deniedMcpServers\": [\n  {\"serverName\": \"blocked\"}\n]}",
    );
    story.write(
        ".mcp.json",
        "{\"mcpServers\": {\n  \"asks\": {\"command\": \"touch\", \"args\": [\"ran\"]},\n  \"refused\": {\"command\": \"touch\", \"args\": [\"ran\"]},\n  \"blocked\": {\"command\": \"touch\", \"args\": [\"ran\"]},\n  \"variable\": {\"command\": \"sh\", \"args\": [\"${NOT_SET}\"]},\n  \"typo\": {\"comand\": \"sh\"},\n  \"extra\": {\"command\": \"touch\", \"args\": [\"ran\"], \"colour\": 1}\n}}",
    );
    story.quietly(&["add", "hello", "switchboard", "builtin"]);
    story.quietly(&["add", "-s", "user", "hello", "switchboard", "builtin"]);
    story.quietly(&["add", "off", "touch", "ran"]);
    story.quietly(&["disable", "off"]);
    story.quietly(&["approve", "variable"]);
    story.quietly(&["reject", "refused"]);
    story
}

#[test]
fn every_state_is_visible() {
    let mut story = every_state();
    story
        .run(&["list", "--no-check"])
        .run(&["list"])
        .run(&["-v", "list"])
        .run(&["list", "-q"])
        .run(&["list", "--check"])
        .run(&["--json", "list"]);
    insta::assert_snapshot!("list_states", story.transcript());
    assert!(!story.path("ran").exists());
}

#[test]
fn nothing_is_configured() {
    let mut story = Story::new();
    story.run(&["list"]).run(&["list", "--json"]).run(&["list", "--check"]).run(&[
        "list",
        "--check",
        "--no-check",
    ]);
    insta::assert_snapshot!("list_empty", story.transcript());
}

#[test]
fn why_a_server_fails() {
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "2000");
    story.quietly(&["add", "gone", "no-such-command"]);
    story.quietly(&["add", "folder", "/"]);
    story.quietly(&["add", "dies", "sh", "-c", "echo one >&2; printf '\\033[31mtwo' >&2; exit 3"]);
    story.quietly(&["add-json", "nowhere", r#"{"command": "sh", "cwd": "no/such/folder"}"#]);
    story.quietly(&["add-json", "file", r#"{"command": "sh", "envFile": "no.env"}"#]);
    story.quietly(&["add", "down", "http://127.0.0.1:1/mcp"]);
    story.run(&["list"]).run(&["list", "--check"]).run(&["list", "--json"]);
    insta::assert_snapshot!("list_failing", story.transcript());
}

/// What a server printed in place of messages, the error in a stack trace, a wrong host name, a server without TLS.
#[test]
fn trouble_in_the_servers_own_words() {
    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap().to_string();
    // As web servers answer a handshake that they take for a request.
    std::thread::spawn(move || {
        for stream in plain.incoming() {
            stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        }
    });
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "3000");
    story.write("talks.sh", "echo 'Listening on port 3000'; exec sleep 60\n");
    let trace = "loader:1\n  throw err;\n\nError: Cannot find module './x'\n    at load (loader:1)\n\nNode.js v20\n";
    story.write("trace.txt", trace);
    story.write("trace.sh", "cat trace.txt >&2; exit 1\n");
    story.quietly(&["add", "talks", "sh", "talks.sh"]);
    story.quietly(&["add", "trace", "sh", "trace.sh"]);
    story.quietly(&["add", "web", &format!("https://{address}/mcp")]);
    story.replace(&address, "127.0.0.1:PORT");
    story.run(&["list"]).run(&["call", "talks/x"]);
    insta::assert_snapshot!("list_own_words", story.transcript());
    story.quietly(&["add", "far", "http://no-such-host.invalid/mcp"]);
    let shown = String::from_utf8(story.quietly(&["list"]).stdout).unwrap();
    assert!(shown.contains("hint: check the host name: `switchboard edit far`"), "{shown}");
}

#[test]
fn numbers_that_are_none() {
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "soon");
    story.set("MCP_TOOL_TIMEOUT", "5 min");
    story.write(
        "../.config/switchboard/settings.json",
        r#"{"env": {"MCP_SERVER_CONNECTION_BATCH_SIZE": "many", "MAX_MCP_OUTPUT_TOKENS": "-1"}}"#,
    );
    story.run(&["list"]);
    story.run(&["doctor"]);
    insta::assert_snapshot!("list_numbers", story.transcript());
}

#[test]
fn silence_is_not_waited_for_for_ever() {
    let mut story = Story::new();
    story.set("MCP_TIMEOUT", "300");
    story.quietly(&["add", "mute", "sleep", "60"]);
    // Whoever connects waits to be accepted.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    story.replace(&address, "127.0.0.1:PORT");
    story.quietly(&["add", "far", &format!("http://{address}/mcp")]);
    story.run(&["list"]);
    story.run(&["probe", "--timeout", "1", &format!("http://{address}/mcp")]);
    insta::assert_snapshot!("list_timeout", story.transcript());
}

#[test]
fn a_server_that_wants_credentials() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Scripted::start(|_| async {
        Reply::empty(401)
            .header("www-authenticate", "Bearer resource_metadata=\"http://127.0.0.1:1/x\"")
    }));
    let mut story = Story::new();
    story.replace(&server.addr().to_string(), "127.0.0.1:PORT");
    let ws = format!("ws://{}/ws", server.addr());
    let helped = format!(
        r#"{{"type": "http", "url": "{}", "headersHelper": "touch ran"}}"#,
        server.url("/h")
    );
    story.quietly(&["add", "web", &server.url("/mcp")]);
    story.quietly(&["add", "live", &ws]);
    story.quietly(&["add-json", "helped", &helped]);
    story.run(&["list"]).run(&["list", "--check"]).run(&["list", "--json"]);
    insta::assert_snapshot!("list_needs_auth", story.transcript());
    // The helper runs in the server's own folder, and what it fails to print is said.
    assert!(story.path("ran").exists());
    // Nobody was registered, nothing was looked up: only the servers themselves were asked.
    let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
    assert!(paths.iter().all(|path| matches!(&**path, "/mcp" | "/ws")), "{paths:?}");
}

/// The organisation's servers are listed beside one's own, from the last copy when the connector catalog is gone.
#[test]
fn servers_of_a_catalogue() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let catalogue = runtime.block_on(Scripted::start(|request| async move {
        let sent = |wanted: &str| {
            let mut headers = request.headers.iter();
            headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| &**value)
        };
        if sent("authorization") != Some("Bearer t-1") {
            return Reply::empty(401);
        }
        let here = sent("host").unwrap_or_default();
        match &*request.path {
            "/catalogue" => Reply::json(
                200,
                format!(r#"{{"mcpServers": {{"wiki": {{"type": "http", "url": "http://{here}/wiki"}}}}}}"#),
            ),
            // Reached with the catalog's bearer and a session of this client's own.
            _ if sent("x-mcp-client-session-id").is_some_and(|id| id.len() == 32) => {
                Reply::json(200, discovered(&request.body))
            }
            _ => Reply::empty(400),
        }
    }));
    let mut story = Story::new();
    story.replace(&catalogue.addr().to_string(), "127.0.0.1:PORT");
    let settings = format!(
        r#"{{"connectors": {{"url": "{}", "tokenHelper": "echo t-1"}}}}"#,
        catalogue.url("/catalogue")
    );
    story.write("../.config/switchboard/settings.json", &settings);
    story.run(&["get", "wiki"]).run(&["list"]);
    drop(catalogue);
    drop(runtime);
    story.run(&["list", "--no-check"]).run(&["get", "wiki"]).run(&["disable", "wiki"]);
    story.run(&["list", "--no-check", "--json"]);
    insta::assert_snapshot!("list_catalogue", story.transcript());
}

/// A catalog that sends its users elsewhere: neither a variable of theirs nor the catalog's token goes along, but to
/// the origins that the settings name.
#[test]
fn a_catalogue_gets_no_secret_to_another_origin() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answer = async |request: Request| Reply::json(200, discovered(&request.body));
    let elsewhere = runtime.block_on(Scripted::start(answer));
    let entry = |path: &str| {
        let query = "?x=${AWS_SECRET_ACCESS_KEY}&y=${UNSET:-default}";
        json!({ "type": "http", "url": format!("{}{query}", elsewhere.url(path)),
            "headers": { "x-key": "${AWS_SECRET_ACCESS_KEY}" } })
    };
    let listing = json!({ "mcpServers": { "leak": entry("/mcp") } }).to_string();
    let catalogue = runtime.block_on(Scripted::start(move |_| {
        let listing = listing.clone();
        async move { Reply::json(200, listing) }
    }));
    let mut story = Story::new();
    story.set("AWS_SECRET_ACCESS_KEY", "s3cret");
    let check = |story: &Story, origins: &[String], expected: Option<&str>| {
        let connectors = json!({ "url": catalogue.url("/list"), "tokenHelper": "echo t-1", "tokenOrigins": origins });
        let settings = json!({ "connectors": connectors }).to_string();
        story.write("../.config/switchboard/settings.json", &settings);
        let before = elsewhere.requests().len();
        let output = story.quietly(&["list", "--standalone"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("✔ leak"), "{said}");
        let requests = elsewhere.requests().split_off(before);
        assert!(!requests.is_empty());
        for request in requests {
            assert_eq!(request.header("authorization"), expected, "{origins:?}");
            assert!(!format!("{} {:?}", request.path, request.headers).contains("s3cret"));
            assert!(request.path.contains("AWS_SECRET_ACCESS_KEY"), "{}", request.path);
        }
    };
    check(&story, &[], None);
    check(&story, &[elsewhere.url("")], Some("Bearer t-1"));
    assert_eq!(catalogue.requests()[0].header("authorization"), Some("Bearer t-1"));
}

/// The answer of a modern server to being asked what it is.
pub(crate) fn discovered(request: &[u8]) -> String {
    let request: serde_json::Value = serde_json::from_slice(request).unwrap();
    serde_json::json!({
        "jsonrpc": "2.0",
        "id": request["id"],
        "result": { "supportedVersions": ["2026-07-28"], "capabilities": {} },
    })
    .to_string()
}

/// What a server gets to see: the usual few, what its entry names, and no more.
#[test]
fn the_environment_of_a_server() {
    let mut story = Story::new();
    story.write("vars.env", "FROM_FILE=file\nOWN=file\n");
    for (name, value) in [("API_KEY", "k"), ("AWS_REGION", "r"), ("LANG", "C"), ("PASSED", "p")] {
        story.set(name, value);
    }
    story.quietly(&[
        "add-json", "env",
        r#"{"command": "sh", "args": ["-c", "(pwd; env | grep -v -e ^_= -e ^SHLVL= -e ^PWD= | sort) >&2; exit 1"], "env": {"OWN": "own ${PASSED}"}, "envFile": "vars.env", "inheritEnv": ["AWS_*"]}"#,
    ]);
    story.run(&["list"]);
    story.write("../.config/switchboard/settings.json", r#"{"env": {"LANG": "set"}}"#);
    story.run(&["list"]);
    insta::assert_snapshot!("list_environment", story.transcript());
}

#[test]
fn many_servers_at_once() {
    let mut story = Story::new();
    story.put_program_on_path();
    story.set("MCP_SERVER_CONNECTION_BATCH_SIZE", "2");
    let mut servers = serde_json::Map::new();
    for number in 0..12 {
        let entry = serde_json::json!({ "command": "switchboard", "args": ["builtin"] });
        servers.insert(format!("s{number:02}"), entry);
    }
    // On lines of their own, so that no place depends on the length of a path.
    let all = serde_json::json!({ "mcpServers": servers });
    story.write("all.json", &serde_json::to_string_pretty(&all).unwrap());
    story.run(&["--mcp-config", "all.json", "--strict-mcp-config", "list", "--check"]);
    insta::assert_snapshot!("list_many", story.transcript());
}

/// A server that takes its time gives its place to the next one: here the first waits for the second.
#[test]
fn a_slow_server_stops_no_other() {
    let story = Story::new();
    let first = format!("until [ -e came ]; do sleep 0.05; done; exec {US} builtin");
    let second = format!("touch came; exec {US} builtin");
    story.quietly(&["add", "first", "sh", "-c", &first]);
    story.quietly(&["add", "second", "sh", "-c", &second]);
    let mut list = story.command(&["list", "--check"]);
    let output = list.env("MCP_SERVER_CONNECTION_BATCH_SIZE", "1").output().unwrap();
    assert!(output.status.success(), "{}", story.home.shown(&output));
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let story = Story::new();
    let marker = story.path("started");
    let script = format!("touch {}; sleep 300", marker.display());
    story.quietly(&["add", "a", "sh", "-c", &script]);
    story.quietly(&["add", "b", "sh", "-c", &script]);
    let mut child = story.command(&["list"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let wait = |so: &dyn Fn() -> bool| {
        while !so() {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
    };
    wait(&|| marker.exists());
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(130), None));
    wait(&|| processes_naming(&marker.display().to_string()) == 0);
}

/// Rows of servers with long names, commands and URLs, in the order of the configuration.
#[test]
fn rows_fit_a_terminal_of_80_columns() {
    let mut story = Story::new();
    let long = "a-server-whose-name-is-long";
    story.quietly(&["add", "-s", "user", long, "https://example.com/a/very/long/path/to/mcp?x=1"]);
    let package = "@modelcontextprotocol/server-sequential-thinking";
    story.quietly(&["add", "zebra", "npx", "-y", package]);
    story.quietly(&[
        "add",
        "apple",
        "sh",
        "-c",
        "echo one; echo two; echo three; echo four; exit 3",
    ]);
    story.run(&["list", "--no-check"]).run(&["list", "--no-check", "-v"]);
    let shown = story.quietly(&["list", "--no-check"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let wide: Vec<_> = shown.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(shown.lines().count() == 3 && wide.is_empty(), "{wide:?}");
    insta::assert_snapshot!("list_long", story.transcript());
}
