//! Tests of `connect` and `serve` with real clients: over standard streams through a shared hub, and over the network.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_testkit::processes::{Identity, working_in};
use switchboard_testkit::programs::program;
use switchboard_wire::client::{
    CallRequest, Client as Wire, ClientOptions, HttpTarget, ListKind, ServerTarget,
    VersionNegotiation,
};
use switchboard_wire::http::{EndpointOptions, HttpPool, HttpPoolOptions};
use switchboard_wire::{Version, json::Raw};

use crate::Home;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that has started the program.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    /// The result of `initialize`.
    pub(crate) greeting: Value,
}

impl Client {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::spawn(home.command(args))
    }

    pub(crate) fn spawn(command: Command) -> Self {
        Self::able(command, "2025-06-18", &json!({}))
    }

    /// A client of that version that can do more than ask.
    pub(crate) fn able(command: Command, version: &str, capabilities: &Value) -> Self {
        Self::greet(command, "test", version, capabilities)
    }

    /// A client that names itself.
    pub(crate) fn named(command: Command, name: &str) -> Self {
        Self::greet(command, name, "2025-06-18", &json!({}))
    }

    fn greet(mut command: Command, name: &str, version: &str, capabilities: &Value) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, id: 0, greeting: Value::Null };
        let greeting = json!({ "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": { "name": name, "version": "1" } });
        client.greeting = client.ask("initialize", &greeting).unwrap();
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(crate) fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn hear(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    /// Whatever is said next.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the program has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Waits until something is said by the way, or asked.
    pub(crate) fn until(&mut self, method: &str) -> Value {
        loop {
            let message = self.next();
            if message["method"] == method {
                return message;
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.send(method, params);
        self.hear(id)
    }

    pub(crate) fn call(&mut self, tool: &str) -> Result<Value, Value> {
        self.ask("tools/call", &json!({ "name": tool, "arguments": {} }))
    }

    pub(crate) fn leave(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// A home with one server, whose processes are known by where they run.
fn home() -> Home {
    let home = Home::new();
    let server = program("fixture-server");
    home.command(&["add", "-s", "user", "one", "--", server.to_str().unwrap()]).output().unwrap();
    home
}

/// The processes of the one server.
fn servers(home: &Home) -> Vec<Identity> {
    let is_server = |process: &Identity| {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid));
        name.is_ok_and(|name| name.trim() == "fixture-server")
    };
    working_in(home.path()).into_iter().filter(is_server).collect()
}

pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The hub, as it says itself when it is stopped.
pub(crate) fn stop(home: &Home) -> Option<u32> {
    let output = home.command(&["stop", "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said["pid"].as_u64().map(|pid| u32::try_from(pid).unwrap())
}

/// The parents' parent of a server: its guard's parent is the hub.
pub(crate) fn hub_of(server: Identity) -> Identity {
    server.parent().unwrap().parent().unwrap()
}

#[test]
fn ten_clients_share_one_server_and_leave_nothing() {
    let home = home();
    let clients: Vec<Client> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = Client::start(&home, &["connect"]);
                    assert!(client.call("one__echo").unwrap()["echo"].is_object());
                    client
                })
            })
            .collect();
        starting.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let running = servers(&home);
    assert_eq!(running.len(), 1, "clients of one kind have a server each");
    let hub = hub_of(running[0]);
    for client in clients {
        client.leave();
    }
    assert!(hub.is_alive(), "the hub ended with a client");
    assert_eq!(stop(&home), Some(hub.pid));
    until("the hub goes on", || !hub.is_alive());
    until("a server outlived its hub", || servers(&home).is_empty());
    assert_eq!(stop(&home), None);
}

#[test]
fn a_hub_that_is_killed_is_replaced_and_its_clients_are_told() {
    let home = home();
    let mut client = Client::start(&home, &["connect"]);
    client.call("one__echo").unwrap();
    let before = servers(&home);
    let hub = hub_of(before[0]);
    let waiting =
        client.send("tools/call", &json!({ "name": "one__echo", "arguments": { "x": 1 } }));
    client.hear(waiting).unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(hub.pid).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    until("a server outlived its hub", || before.iter().all(|server| !server.is_alive()));
    // The same client goes on, with a new hub and a new server behind it.
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = client.call("one__echo") {
        assert!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    until("a server of another era stays", || servers(&home).len() == 1);
    let after = servers(&home);
    assert_ne!(hub_of(after[0]), hub);
    client.leave();
    assert!(stop(&home).is_some());
    until("a server outlived its hub", || servers(&home).is_empty());
}

#[test]
fn a_client_may_have_everything_to_itself() {
    let home = home();
    let mut client = Client::start(&home, &["connect", "--standalone", "--names", "full"]);
    client.call("mcp__one__echo").unwrap();
    // The server speaks both eras, and is started again for a legacy client.
    until("a server of another era stays", || servers(&home).len() == 1);
    client.leave();
    until("a server outlived its client", || servers(&home).is_empty());
    assert_eq!(stop(&home), None, "a hub was started");
}

#[test]
fn served_over_the_network_in_every_version() {
    let home = home();
    let mut serving = home
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let pool = HttpPool::new(&HttpPoolOptions::default()).unwrap();
        for version in Version::ALL {
            let url = ready["url"].as_str().unwrap().parse().unwrap();
            let target =
                HttpTarget { url, pool: pool.clone(), options: EndpointOptions::default() };
            let mut options = ClientOptions::new("test", "1");
            options.greeting = VersionNegotiation::Only(version);
            let connected = Wire::connect(ServerTarget::Http(target), options).await;
            let (client, _inbox) = connected.unwrap_or_else(|error| panic!("{version}: {error}"));
            let tools = client.list(ListKind::Tools).await.unwrap();
            assert!(
                tools.items.iter().any(|tool| tool.as_str().contains("one__echo")),
                "{version}"
            );
            let arguments = Raw::parse(r#"{"x":1.50}"#).unwrap();
            let echo = client
                .call(CallRequest::call_tool("one__echo", &arguments))
                .result()
                .await
                .unwrap();
            assert!(echo.as_str().contains(r#""echo":{"x":1.50}"#), "{version}: {echo}");
            client.close().await;
        }
    });
    assert_eq!(servers(&home).len(), 2, "one for the clients of each era");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(serving.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(serving.wait().unwrap().success());
    until("a server outlived the gateway", || servers(&home).is_empty());
}

#[test]
fn an_agent_has_an_endpoint_of_its_own() {
    let home = home();
    let agents = home.path().join(".config/switchboard/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let server = program("echo-server");
    let front = format!("mcpServers:\n  - own:\n      command: {}\n", server.display());
    std::fs::write(agents.join("helper.md"), format!("---\n{front}---\nBe kind.\n")).unwrap();
    let mut serving = home
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let pool = HttpPool::new(&HttpPoolOptions::default()).unwrap();
        let connect = async |agent: &str, version: Version| {
            let url = format!("{}/agent/{agent}", ready["url"].as_str().unwrap());
            let url = url.parse().unwrap();
            let target =
                HttpTarget { url, pool: pool.clone(), options: EndpointOptions::default() };
            let mut options = ClientOptions::new("test", "1");
            options.greeting = VersionNegotiation::Only(version);
            Wire::connect(ServerTarget::Http(target), options).await
        };
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (client, _inbox) = connect("helper", version).await.unwrap();
            let arguments = Raw::parse(r#"{"text":"hi"}"#).unwrap();
            let echo = client
                .call(CallRequest::call_tool("own__echo", &arguments))
                .result()
                .await
                .unwrap();
            assert!(echo.as_str().contains("hi"), "{version}: {echo}");
            let other = client.call(CallRequest::call_tool("one__echo", &arguments)).result().await;
            assert!(other.is_err(), "{version}: the agent sees what is not its own");
            client.close().await;
            assert!(connect("nobody", version).await.is_err(), "{version}");
        }
    });
    let pid = nix::unistd::Pid::from_raw(i32::try_from(serving.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(serving.wait().unwrap().success());
}

#[test]
fn what_cannot_be_served_is_said() {
    let home = home();
    insta::with_settings!({ snapshot_path => "snapshots" }, {
        insta::assert_snapshot!("stop_nothing", home.run(&["stop"]));
        insta::assert_snapshot!("serve_elsewhere", home.run(&["serve", "--listen", "0.0.0.0:0"]));
        insta::assert_snapshot!("serve_unknown", home.run(&["serve", "--servers", "two", "--listen", "127.0.0.1:0"]));
        insta::assert_snapshot!("connect_unknown", home.run(&["connect", "--servers", "two"]));
    });
    stop(&home);
}

/// A wrong name is an error: the built-in server in place of what was meant would hide the mistake.
#[test]
fn a_wrong_name_serves_nothing() {
    let home = home();
    let agents = home.path().join(".config/switchboard/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let needy = "---\nrequiredMcpServers: [gone]\n---\nWork.\n";
    std::fs::write(agents.join("needy.md"), needy).unwrap();
    let local = ["serve", "--listen", "127.0.0.1:0"];
    // What attaches to a hub starts one, so it comes last.
    let cases: [(&str, Vec<&str>); 12] = [
        ("serve_agent", [&local[..], &["--agent", "nobody"]].concat()),
        ("serve_required", [&local[..], &["--agent", "needy"]].concat()),
        ("serve_config", [&local[..], &["--mcp-config", "missing.json"]].concat()),
        ("serve_config_text", [&local[..], &["--mcp-config", "{nonsense"]].concat()),
        ("serve_config_list", [&local[..], &["--mcp-config", r#"{"mcpServers": []}"#]].concat()),
        (
            "serve_config_key",
            [&local[..], &["--mcp-config", r#"{"servers": {"x": {"command": "cat"}}}"#]].concat(),
        ),
        ("connect_config_list", vec!["connect", "--mcp-config", r#"{"mcpServers": []}"#]),
        ("connect_config_empty", vec!["connect", "--mcp-config", "{}"]),
        ("standalone_agent", vec!["connect", "--standalone", "--agent", "nobody"]),
        ("connect_config", vec!["connect", "--mcp-config", "missing.json"]),
        ("connect_agent", vec!["connect", "--agent", "nobody"]),
        ("connect_required", vec!["connect", "--agent", "needy"]),
    ];
    for (name, args) in cases {
        insta::assert_snapshot!(format!("wrong_{name}"), home.run(&args));
    }
    stop(&home);
}

/// An agent that names servers which do not exist has no tools, and the program says why. Before, the built-in server
/// stood in for them.
#[test]
fn an_agent_without_servers_does_not_get_the_built_in_one() {
    let home = home();
    let agents = home.path().join(".config/switchboard/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("a.md"), "---\nmcpServers: [nosuch]\n---\nWork.\n").unwrap();
    for args in [
        &["connect", "--standalone", "--agent", "a"][..],
        &["connect", "--mcp-config", r#"{"mcpServers": {}}"#, "--strict-mcp-config"],
        &["connect", "--agent", "a"],
    ] {
        let mut client = Client::start(&home, args);
        let listed = client.ask("tools/list", &json!({})).unwrap().to_string();
        assert!(!listed.contains("builtin__"), "{args:?}: {listed}");
        client.leave();
        let output = home.command(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let is_told = said.contains("names the server `nosuch`, which is not configured");
        assert_eq!(is_told, args.contains(&"--agent"), "{args:?}: {said}");
    }
    stop(&home);
}
