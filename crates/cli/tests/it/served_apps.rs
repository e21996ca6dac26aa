//! Tests of published servers with MCP Apps behind a hub, for clients over HTTP that show apps.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use switchboard_wire::client::{
    CallRequest, Client, ClientOptions, HttpTarget, ListKind, ServerInbox, ServerTarget,
    VersionNegotiation,
};
use switchboard_wire::http::{EndpointOptions, HttpPool, HttpPoolOptions};
use switchboard_wire::{Version, json::Raw};

use crate::Home;
use crate::console_apps::{own, published};
use crate::gateway::Client as PipeClient;

/// The capabilities of a client that shows apps.
const HOST: &str =
    r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#;

/// The published servers, under the names that the hub knows them by.
const SERVERS: [(&str, &str); 4] = [
    ("time", "basic-vanillajs"),
    ("budget", "budget-allocator"),
    ("debug", "debug"),
    ("monitor", "system-monitor"),
];

/// The answers of a server without a hub.
struct DirectAnswers {
    tools: Vec<Value>,
    /// The address of the first tool's UI, and the result of reading it.
    uri: String,
    page: Value,
    /// The result of the first tool.
    result: Value,
}

/// A hub that serves these servers over HTTP, stopped when this is dropped.
struct Serving {
    child: Child,
    url: String,
    pool: HttpPool,
}

// === impl DirectAnswers ===

impl DirectAnswers {
    fn ask(entry: &Value) -> Self {
        let mut command = Command::new(entry["command"].as_str().unwrap());
        command.args(entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
        let capabilities: Value = serde_json::from_str(HOST).unwrap();
        let mut client = PipeClient::able(command, "2025-11-25", &capabilities);
        let tools = client.ask("tools/list", &json!({})).unwrap()["tools"].clone();
        let tools = tools.as_array().unwrap().clone();
        let uri = tools[0]["_meta"]["ui"]["resourceUri"].as_str().unwrap().to_owned();
        let page = client.ask("resources/read", &json!({ "uri": uri })).unwrap();
        let result = client.call(tools[0]["name"].as_str().unwrap()).unwrap();
        client.leave();
        Self { tools, uri, page, result }
    }
}

// === impl Serving ===

impl Serving {
    fn start(home: &Home, servers: &Value) -> Self {
        let folder = home.path().join(".config/switchboard");
        std::fs::create_dir_all(&folder).unwrap();
        // Four Node.js servers start at once, on a machine that may be busy.
        let limits = json!({ "firstListWaitMs": 60_000 });
        let settings = json!({ "mcpServers": servers, "limits": limits }).to_string();
        std::fs::write(folder.join("settings.json"), settings).unwrap();
        let serve = ["serve", "--listen", "127.0.0.1:0", "--json"];
        let mut child = home.command(&serve).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"].as_str().unwrap().to_owned();
        Self { child, url, pool: HttpPool::new(&HttpPoolOptions::default()).unwrap() }
    }

    /// A client of `/mcp`.
    async fn client(&self, version: Version, capabilities: &str) -> (Client, ServerInbox) {
        let (url, pool) = (self.url.parse().unwrap(), self.pool.clone());
        let target = HttpTarget { url, pool, options: EndpointOptions::default() };
        let mut options = ClientOptions::new("test", "1");
        options.greeting = VersionNegotiation::Only(version);
        options.capabilities = Raw::parse(capabilities.to_owned()).unwrap();
        Client::connect(ServerTarget::Http(target), options).await.unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        // It may have ended already.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
        let _ = self.child.wait();
    }
}

async fn ask(client: &Client, method: &'static str, params: &Value) -> Value {
    let call = CallRequest::new(method, Some(Raw::from(params.clone())));
    let result = client.call(call).result().await;
    result.unwrap_or_else(|error| panic!("{method} {params}: {error}")).decode().unwrap()
}

async fn list_tools(client: &Client) -> Vec<Value> {
    let listed = client.list(ListKind::Tools).await.unwrap();
    listed.items.iter().map(|tool| tool.decode().unwrap()).collect()
}

/// Checks the tools of one server, the page of its app, and a call, against the server's own answers.
async fn check_server(client: &Client, server: &str, direct: &DirectAnswers) {
    let address = |uri: &str| uri.replacen("ui://", &format!("ui://{server}.switchboard/"), 1);
    let listed = list_tools(client).await;
    for tool in &direct.tools {
        let name = format!("{server}__{}", tool["name"].as_str().unwrap());
        let shown = listed.iter().find(|shown| shown["name"] == name.as_str());
        let shown = shown.unwrap_or_else(|| panic!("{name} is not listed"));
        let mut meta = tool["_meta"].clone();
        for path in ["/ui/resourceUri", "/ui~1resourceUri"] {
            if let Some(uri) = meta.pointer_mut(path) {
                *uri = address(uri.as_str().unwrap()).into();
            }
        }
        assert_eq!(shown["_meta"], meta, "{name}");
    }
    let uri = address(&direct.uri);
    let page = ask(client, "resources/read", &json!({ "uri": uri })).await;
    let mut contents = direct.page["contents"].clone();
    contents[0]["uri"] = uri.into();
    assert_eq!(page["contents"][0]["mimeType"], "text/html;profile=mcp-app", "{server}");
    // Not `assert_eq!`, which would print both pages.
    assert!(page["contents"] == contents, "{server}: the page has changed on its way");
    let name = format!("{server}__{}", direct.tools[0]["name"].as_str().unwrap());
    let result = ask(client, "tools/call", &json!({ "name": name, "arguments": {} })).await;
    let keys = |result: &Value| -> Vec<String> {
        result["structuredContent"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&result), keys(&direct.result), "{name}");
}

#[test]
fn published_apps_pass_to_clients_that_show_them() {
    let entries = SERVERS.map(|(name, package)| (name, published(package)));
    let direct = entries.each_ref().map(|(_, entry)| DirectAnswers::ask(entry));
    let servers: serde_json::Map<String, Value> =
        entries.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect();
    let home = Home::new();
    let serving = Serving::start(&home, &servers.into());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (host, _inbox) = serving.client(version, HOST).await;
            for ((server, _), direct) in SERVERS.iter().zip(&direct) {
                check_server(&host, server, direct).await;
            }
            // An app knows its tools by the names that its server gave them.
            let refresh = json!({ "name": "debug-refresh", "arguments": {} });
            let refreshed = ask(&host, "tools/call", &refresh).await;
            assert!(refreshed["structuredContent"]["timestamp"].is_string(), "{refreshed}");
            host.close().await;
            let (plain, _inbox) = serving.client(version, "{}").await;
            let listed = list_tools(&plain).await;
            let has = |name: &str| listed.iter().any(|tool| tool["name"] == name);
            assert!(has("debug__debug-tool") && !has("debug__debug-refresh"), "{version}");
            plain.close().await;
        }
    });
}

#[test]
fn a_server_shows_its_apps_to_those_that_show_them_beside_others() {
    let home = Home::new();
    let serving = Serving::start(&home, &json!({ "apps": own() }));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (plain, _inbox) = serving.client(version, "{}").await;
            let (host, _inbox) = serving.client(version, HOST).await;
            let has_app = async |client: &Client| {
                let listed = list_tools(client).await;
                let shown = listed.iter().find(|tool| tool["name"] == "apps__behave");
                shown.map(|tool| tool["_meta"]["ui"]["resourceUri"].clone())
            };
            let uri = "ui://apps.switchboard/tests/app";
            assert_eq!(has_app(&plain).await, None, "{version}");
            assert_eq!(has_app(&host).await, Some(uri.into()), "{version}");
            let page = ask(&host, "resources/read", &json!({ "uri": uri })).await;
            assert_eq!(page["contents"][0]["mimeType"], "text/html;profile=mcp-app", "{version}");
            assert_eq!(has_app(&plain).await, None, "{version}");
            host.close().await;
            plain.close().await;
        }
    });
}

/// Calls a tool that counts its calls, and returns the count.
async fn press(client: &Client, tool: &str) -> Result<u32, String> {
    let params = Raw::from(json!({ "name": tool, "arguments": {} }));
    let result = client.call(CallRequest::new("tools/call", Some(params))).result().await;
    let result: Value = result.map_err(|error| error.to_string())?.decode().unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    Ok(text.split(' ').nth(1).unwrap().parse().unwrap())
}

#[test]
fn equal_addresses_of_two_servers_are_told_apart() {
    let home = Home::new();
    // With an environment of its own, each is a process of its own, with a count of its own.
    let named = |name: &str| {
        let mut entry = own();
        entry["env"] = json!({ "NAME": name });
        entry
    };
    let servers = json!({ "first": named("first"), "second": named("second") });
    let serving = Serving::start(&home, &servers);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (host, _inbox) = serving.client(version, HOST).await;
            let listed = list_tools(&host).await;
            let read = async |server: &str| {
                let name = format!("{server}__behave");
                let tool = listed.iter().find(|tool| tool["name"] == name.as_str()).unwrap();
                let uri = tool["_meta"]["ui"]["resourceUri"].clone();
                assert_eq!(uri, format!("ui://{server}.switchboard/tests/app"), "{version}");
                let page = ask(&host, "resources/read", &json!({ "uri": uri })).await;
                assert_eq!(page["contents"][0]["uri"], uri, "{version}");
            };
            read("second").await;
            let before = press(&host, "for-app").await.unwrap();
            let pressed = [press(&host, "second__for-app").await, press(&host, "for-app").await];
            assert_eq!(pressed, [Ok(before + 1), Ok(before + 2)], "{version}");
            let other = press(&host, "first__for-app").await.unwrap();
            assert!(other < before + 2, "{version}: both servers count together");
            read("first").await;
            let unclear = press(&host, "for-app").await.unwrap_err();
            assert!(unclear.contains("`first__for-app` or `second__for-app`"), "{unclear}");
            host.close().await;
        }
    });
}
