//! Tests of MCP Apps: addresses of UI resources, visibility of tools, and the bare names that apps use.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_core::engine::EngineEventKind;
use switchboard_core::results::ResultPolicy;
use switchboard_gateway::bridge::{BridgeOptions, ToolSearch};
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{
    CallRequest, Client, ExchangeEvent, InboxEvent, ListKind, ServerInbox,
};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;
use switchboard_wire::server::ChangeNotification;
use switchboard_wire::{Era, Error, Version};

use super::app_server::{ASK, AppServer, PLAIN, REFRESH, SHOW, THINK, UI_META, gateway};
use super::{Gateway, raw, soon};

const VERSIONS: [Version; 2] = [Version::LATEST_LEGACY, Version::LATEST];
const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
/// The capabilities of a client that shows apps.
const HOST: &str =
    r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#;

fn servers(tools: &[&str]) -> [Arc<AppServer>; 2] {
    ["one", "two"].map(|name| Arc::new(AppServer::new(name, tools)))
}

async fn of_two(tools: &[&str], era: Era) -> Gateway {
    let [one, two] = servers(tools);
    gateway(&[&one, &two], era, "{}", BridgeOptions::default()).await
}

async fn request(client: &Client, method: &'static str, params: &Value) -> Result<Raw, Error> {
    let call = CallRequest::new(method, Some(raw(&params.to_string())));
    soon(client.call(call).result()).await
}

async fn ask(client: &Client, method: &'static str, params: &Value) -> Value {
    request(client, method, params).await.unwrap().decode().unwrap()
}

async fn call(client: &Client, tool: &str) -> Result<Value, RpcError> {
    match request(client, "tools/call", &json!({ "name": tool, "arguments": {} })).await {
        Ok(result) => Ok(result.decode().unwrap()),
        Err(Error::Rpc(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

async fn list(client: &Client, kind: ListKind) -> Vec<Value> {
    let listed = soon(client.list(kind)).await.unwrap();
    listed.items.iter().map(|item| item.decode().unwrap()).collect()
}

async fn names(client: &Client) -> Vec<String> {
    let name = |tool: Value| tool["name"].as_str().unwrap().to_owned();
    let own = ["read_result", "ListMcpResources", "ReadMcpResource"];
    let tools = list(client, ListKind::Tools).await.into_iter().map(name);
    tools.filter(|name| !own.contains(&name.as_str())).collect()
}

/// Waits until a client hears of a resource that a server announces.
async fn hears(server: &AppServer, inbox: &mut ServerInbox, announced: &str, expected: &str) {
    let telling = async {
        // A modern client listens some time after its subscription.
        loop {
            server.changes.announce(ChangeNotification::Resource(announced.to_owned()));
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let hearing = async {
        loop {
            if let InboxEvent::ResourceUpdated { uri, .. } = inbox.next().await.unwrap() {
                assert_eq!(uri, expected);
                return;
            }
        }
    };
    tokio::select! { () = soon(hearing) => {}, () = telling => {} }
}

#[tokio::test]
async fn equal_addresses_of_two_servers_are_told_apart_in_every_pairing() {
    for era in ERAS {
        let [one, two] = servers(&[SHOW]);
        let gateway = gateway(&[&one, &two], era, "{}", BridgeOptions::default()).await;
        for version in VERSIONS {
            let (client, mut inbox) = gateway.client(version, HOST).await;
            for (at, (name, server)) in [("one", &one), ("two", &two)].into_iter().enumerate() {
                let address = |rest: &str| format!("ui://{name}.switchboard/{rest}");
                let view = address("shared/view");
                lists(&client, at, &view, &address("shared/{id}{?q}")).await;

                let read = request(&client, "resources/read", &json!({ "uri": view })).await;
                let read = read.unwrap();
                assert!(read.as_str().contains(UI_META), "{read}");
                let read: Value = read.decode().unwrap();
                assert_eq!(read["contents"][0]["uri"], view.as_str());
                assert_eq!(read["contents"][0]["mimeType"], "text/html;profile=mcp-app");
                let text = read["contents"][0]["text"].as_str().unwrap();
                assert!(text.starts_with(&format!("<p>of {name}</p>")), "{text}");
                assert_eq!(read["_meta"].get("switchboard/server"), None);
                // No list has this one.
                let other = json!({ "uri": address("other/x?q=%20#f") });
                let read = ask(&client, "resources/read", &other).await;
                assert_eq!(read["contents"][0]["uri"], other["uri"]);

                let called = call(&client, &format!("{name}__show")).await.unwrap();
                assert_eq!(called["content"][0]["uri"], view.as_str());
                let part = address("shared/part");
                assert_eq!(called["content"][1]["resource"]["uri"], part.as_str());
                let text = called["content"][2]["text"].as_str().unwrap();
                assert!(text.starts_with("see ui://shared/view "), "{text}");
                assert_eq!(called["structuredContent"]["uri"], "ui://shared/view");
                assert_eq!(called["_meta"]["ui"]["resourceUri"], view.as_str());

                let prompt = json!({ "name": format!("{name}__greet") });
                let prompt = ask(&client, "prompts/get", &prompt).await;
                assert_eq!(prompt["messages"][0]["content"]["uri"], view.as_str());
                let template = json!({ "type": "ref/resource", "uri": address("shared/{id}{?q}") });
                let argument = json!({ "name": "id", "value": "" });
                let completed = json!({ "ref": template, "argument": argument });
                let completed = ask(&client, "completion/complete", &completed).await;
                let values = json!(["ui://shared/{id}{?q}", name]);
                assert_eq!(completed["completion"]["values"], values);

                soon(client.subscribe(&view)).await.unwrap();
                hears(server, &mut inbox, "ui://shared/view", &view).await;
                soon(client.unsubscribe(&view)).await.unwrap();
            }
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

/// Checks the lists that a client of two servers sees.
async fn lists(client: &Client, at: usize, view: &str, template: &str) {
    let tools = list(client, ListKind::Tools).await;
    let meta = &tools[at]["_meta"];
    assert_eq!(*meta, json!({ "ui": { "resourceUri": view }, "ui/resourceUri": view }));
    let resources = list(client, ListKind::Resources).await;
    assert_eq!(resources[at], json!({ "uri": view, "name": "view" }));
    let templates = list(client, ListKind::Templates).await;
    assert_eq!(templates[at], json!({ "uriTemplate": template, "name": "t" }));
}

#[tokio::test]
async fn a_view_of_one_server_keeps_its_addresses() {
    for era in ERAS {
        let [one, two] = servers(&[SHOW]);
        let gateway = gateway(&[&one, &two], era, "{}", BridgeOptions::default()).await;
        for version in VERSIONS {
            let part = ViewSelection::Server("two".into());
            let (client, mut inbox) = gateway.client_of(version, HOST, "me", part).await;
            lists(&client, 0, "ui://shared/view", "ui://shared/{id}{?q}").await;
            for uri in ["ui://shared/view", "ui://one.switchboard/shared/view", "UI://x"] {
                let read = ask(&client, "resources/read", &json!({ "uri": uri })).await;
                assert_eq!(read["contents"][0]["uri"], uri);
                let text = read["contents"][0]["text"].as_str().unwrap();
                assert!(text.starts_with("<p>of two</p>"), "{text}");
            }
            let called = call(&client, "two__show").await.unwrap();
            assert_eq!(called["content"][0]["uri"], "ui://shared/view");
            soon(client.subscribe("ui://shared/view")).await.unwrap();
            hears(&two, &mut inbox, "ui://shared/view", "ui://shared/view").await;
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn an_address_that_names_another_server_stays_with_its_own() {
    let hostile = SHOW.replace("ui://shared/view", "ui://good.switchboard/shared/view");
    let climbing = SHOW.replace("ui://shared", "ui://../good.switchboard/shared");
    let climbing = climbing.replace("show", "climb");
    for era in ERAS {
        let evil = Arc::new(AppServer::new("evil", &[&hostile, &climbing]).unlisted());
        let good = Arc::new(AppServer::new("good", &[SHOW]));
        let gateway = gateway(&[&evil, &good], era, "{}", BridgeOptions::default()).await;
        for version in VERSIONS {
            let (client, _inbox) = gateway.client(version, HOST).await;
            for (at, address) in [
                "ui://evil.switchboard/good.switchboard/shared/view",
                "ui://evil.switchboard/../good.switchboard/shared/view",
                "ui://good.switchboard/shared/view",
            ]
            .into_iter()
            .enumerate()
            {
                let tools = list(&client, ListKind::Tools).await;
                assert_eq!(tools[at]["_meta"]["ui"]["resourceUri"], address);
                let read = ask(&client, "resources/read", &json!({ "uri": address })).await;
                assert_eq!(read["contents"][0]["uri"], address);
                let owner = if at == 2 { "<p>of good" } else { "<p>of evil" };
                let text = read["contents"][0]["text"].as_str().unwrap();
                assert!(text.starts_with(owner), "{address}: {text}");
            }
            let absent = json!({ "uri": "ui://absent.switchboard/x" });
            let Error::Rpc(error) = request(&client, "resources/read", &absent).await.unwrap_err()
            else {
                panic!("another error")
            };
            assert!(error.message.contains("no server `absent`"), "{}", error.message);
            // Both UIs were read, so an address that is almost one of them is of no server.
            for trick in [
                "ui://good%2Eswitchboard/shared/view",
                "ui://go%6Fd.switchboard/shared/view",
                "ui://good.switchboard%2Fshared/view",
                "ui://good.switchboard./shared/view",
                "ui://good.switchboard:80/shared/view",
                "ui://good.switchboard@evil.switchboard/shared/view",
                "ui://evil.switchboard\\good.switchboard/shared/view",
            ] {
                let read = request(&client, "resources/read", &json!({ "uri": trick })).await;
                assert!(read.is_err(), "{trick}: {read:?}");
            }
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_tool_for_apps_is_listed_for_clients_that_show_apps() {
    for era in ERAS {
        let gateway = of_two(&[SHOW, REFRESH], era).await;
        let with = ["one__show", "one__refresh", "two__show", "two__refresh"];
        let without = ["one__show", "two__show"];
        for version in VERSIONS {
            let null = r#"{"extensions":{"io.modelcontextprotocol/ui":null}}"#;
            let other = r#"{"extensions":{"vendor.test/ui":{}}}"#;
            for (declared, expected) in
                [(HOST, &with[..]), ("{}", &without), (null, &without), (other, &without)]
            {
                let (client, _inbox) = gateway.client(version, declared).await;
                assert_eq!(names(&client).await, expected, "{version}, {declared}");
                client.close().await;
                let part = ViewSelection::Server("one".into());
                let (client, _inbox) = gateway.client_of(version, declared, "me", part).await;
                assert_eq!(names(&client).await, &expected[..expected.len() / 2], "{declared}");
                client.close().await;
            }
        }
        // Clients of one principal over HTTP share a view, and its cached lists.
        let clients = gateway.clients_of_one_view(&[HOST, "{}", HOST]).await;
        for ((client, _), expected) in clients.iter().zip([&with[..], &without, &with]) {
            assert_eq!(names(client).await, expected);
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_model_that_searches_neither_finds_nor_calls_a_tool_for_apps() {
    let [one, two] = servers(&[SHOW, REFRESH]);
    let options = BridgeOptions { tool_search: ToolSearch::On, ..BridgeOptions::default() };
    let gateway = gateway(&[&one, &two], Era::Modern, "{}", options).await;
    for version in VERSIONS {
        let (client, _inbox) = gateway.client(version, HOST).await;
        // Its host hides them from the model, so that they cost nothing.
        let listed = ["one__refresh", "two__refresh", "find_tools", "call_tool"];
        assert_eq!(names(&client).await, listed);
        let found = json!({ "name": "find_tools", "arguments": { "query": "refresh dashboard" } });
        let found = ask(&client, "tools/call", &found).await;
        let text = found["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains("refresh"), "{text}");
        ask(&client, "resources/read", &json!({ "uri": "ui://one.switchboard/x" })).await;
        for name in ["one__refresh", "refresh"] {
            let inner = json!({ "name": "call_tool", "arguments": { "name": name } });
            let error = request(&client, "tools/call", &inner).await.unwrap_err().to_string();
            let reason =
                if name == "refresh" { "nothing is called `refresh`" } else { "to apps only" };
            assert!(error.contains(reason), "{error}");
        }
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_bare_name_goes_to_the_only_server_whose_ui_was_read() {
    for era in ERAS {
        let settings = r#"{"permissions":{"deny":["mcp__two__plain"]}}"#;
        let [one, two] = servers(&[SHOW, REFRESH, THINK, PLAIN]);
        let gateway = gateway(&[&one, &two], era, settings, BridgeOptions::default()).await;
        for version in VERSIONS {
            let (client, _inbox) = gateway.client(version, HOST).await;
            let none = call(&client, "refresh").await.unwrap_err();
            assert_eq!(
                none.message,
                "no tool here is called `refresh`, and no UI of a server with such a tool was read in this session; \
                 call `one__refresh` or `two__refresh`"
            );
            let candidates: Value = none.data.unwrap().decode().unwrap();
            assert_eq!(candidates, json!({ "candidates": ["one__refresh", "two__refresh"] }));

            let view = |server: &str| json!({ "uri": format!("ui://{server}.switchboard/x") });
            ask(&client, "resources/read", &view("two")).await;
            let mut calls = gateway.engine.calls();
            let called = call(&client, "refresh").await.unwrap();
            let told = json!(["two", "refresh"]);
            let of = |result: &Value| {
                json!([result["structuredContent"]["server"], result["structuredContent"]["tool"]])
            };
            assert_eq!(of(&called), told);
            let EngineEventKind::Called(record) = soon(calls.recv()).await.unwrap().what else {
                panic!("no call")
            };
            assert_eq!((&*record.server, &*record.name), ("two", "mcp__two__refresh"));
            // A rule about the full name counts, and hides the tool: the other server has not shown its UI.
            let denied = call(&client, "plain").await.unwrap_err();
            assert!(denied.message.ends_with("call `one__plain`"), "{}", denied.message);
            let models = call(&client, "think").await.unwrap_err();
            assert!(models.message.contains("to models only"), "{}", models.message);
            let unknown = call(&client, "nothing").await.unwrap_err();
            assert!(unknown.message.contains("nothing is called `nothing`"), "{}", unknown.message);

            ask(&client, "resources/read", &view("one")).await;
            let several = call(&client, "refresh").await.unwrap_err();
            assert!(several.message.contains("UIs of several servers"), "{}", several.message);
            // A name of the view means the view's tool.
            assert_eq!(
                of(&call(&client, "one__refresh").await.unwrap()),
                json!(["one", "refresh"])
            );
            // Another session has read nothing.
            let (other, _inbox) = gateway.client(version, HOST).await;
            call(&other, "refresh").await.unwrap_err();
            client.close().await;
            other.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn an_apps_own_address_reaches_its_server() {
    let one = Arc::new(AppServer::new("one", &[SHOW]).unlisted());
    let two = Arc::new(AppServer::new("two", &[SHOW]).unlisted());
    let three = SHOW.replace("ui://shared/view", "ui://three/view");
    let three = Arc::new(AppServer::new("three", &[&three]).unlisted());
    let servers = [&one, &two, &three];
    let gateway = gateway(&servers, Era::Modern, "{}", BridgeOptions::default()).await;
    for version in VERSIONS {
        let (client, _inbox) = gateway.client(version, HOST).await;
        names(&client).await;
        let read =
            async |uri: &str| request(&client, "resources/read", &json!({ "uri": uri })).await;
        let address = async |uri: &str| {
            let read: Value = read(uri).await.unwrap().decode().unwrap();
            read["contents"][0]["uri"].as_str().unwrap().to_owned()
        };
        let Error::Rpc(error) = read("ui://shared/view").await.unwrap_err() else {
            panic!("another error")
        };
        let data: Value = error.data.unwrap().decode().unwrap();
        let [first, second] =
            ["ui://one.switchboard/shared/view", "ui://two.switchboard/shared/view"];
        assert_eq!(data, json!({ "uri": "ui://shared/view", "addresses": [first, second] }));
        assert_eq!(address(second).await, second);
        // From now on it is the address of an app of `two`.
        assert_eq!(address("ui://shared/view").await, second);
        assert_eq!(address("ui://any/other").await, "ui://two.switchboard/any/other");
        assert_eq!(address("ui://three/view").await, "ui://three.switchboard/three/view");
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_link_for_the_clients_model_names_its_server() {
    let answer = r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}"#;
    for era in ERAS {
        let gateway = of_two(&[ASK], era).await;
        for version in VERSIONS {
            for (part, tool, expected) in [
                (ViewSelection::Everything, "two__ask", "ui://two.switchboard/shared/view"),
                (ViewSelection::Server("two".into()), "two__ask", "ui://shared/view"),
            ] {
                let declared = r#"{"sampling":{"tools":{}}}"#;
                let (client, _inbox) = gateway.client_of(version, declared, "me", part).await;
                let mut exchange = client.call(CallRequest::call_tool(tool, &raw("{}")));
                let mut asked = Vec::new();
                loop {
                    match soon(exchange.next()).await.unwrap() {
                        ExchangeEvent::NeedsInput(questions) => {
                            asked.extend(questions.iter().map(|question| {
                                let params: Value = question.params.decode().unwrap();
                                params["messages"][0]["content"][0]["content"][0]["uri"].clone()
                            }));
                            let answers = questions.iter().map(|asked| asked.answer(raw(answer)));
                            exchange.answer(answers.collect());
                        }
                        ExchangeEvent::Done(_) => break,
                        _ => {}
                    }
                }
                assert_eq!(asked, [expected], "{version} client, {era} server");
                client.close().await;
            }
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_bad_ui_costs_its_tool_only() {
    check_bad_uis(Era::Legacy, Version::LATEST_LEGACY, 1 << 10).await;
    check_bad_uis(Era::Modern, Version::LATEST, 1 << 20).await;
}

/// Checks the tools that a client sees of a server with bad UIs, and with an address of this length.
async fn check_bad_uis(era: Era, version: Version, length: usize) {
    let long = format!("ui://{}", "x".repeat(length));
    let metas = [
        json!({ "ui": "ui://x" }),
        json!({ "ui": { "resourceUri": 5, "visibility": ["model"] } }),
        json!({ "ui": { "resourceUri": "https://x.test/", "csp": [] } }),
        json!({ "ui": { "resourceUri": "ui://x", "visibility": "app" } }),
        json!({ "ui/resourceUri": {} }),
        json!({ "ui": { "resourceUri": long } }),
    ];
    let tools: Vec<String> = metas
        .iter()
        .enumerate()
        .map(|(at, meta)| {
            json!({ "name": format!("t{at}"), "inputSchema": { "type": "object" }, "_meta": meta })
                .to_string()
        })
        .collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let bad = Arc::new(AppServer::new("bad", &tools));
    let good = Arc::new(AppServer::new("good", &[SHOW]));
    // The long list takes its time on a busy machine.
    let first_list = std::time::Duration::from_secs(60);
    let options = BridgeOptions { first_list, ..BridgeOptions::default() };
    let gateway = gateway(&[&bad, &good], era, "{}", options).await;
    let (client, _inbox) = gateway.client(version, HOST).await;
    let listed = list(&client, ListKind::Tools).await;
    let shown: Vec<&Value> = listed.iter().take(7).map(|tool| &tool["_meta"]).collect();
    let address = format!("ui://bad.switchboard/{}", &long["ui://".len()..]);
    let view = "ui://good.switchboard/shared/view";
    let expected = [
        json!({}),
        json!({ "ui": { "visibility": ["model"] } }),
        json!({ "ui": { "csp": [] } }),
        json!({ "ui": { "resourceUri": "ui://bad.switchboard/x" } }),
        json!({}),
        json!({ "ui": { "resourceUri": address } }),
        json!({ "ui": { "resourceUri": view }, "ui/resourceUri": view }),
    ];
    for (shown, expected) in shown.into_iter().zip(&expected) {
        assert!(shown == expected, "{version}");
    }
    let read = ask(&client, "resources/read", &json!({ "uri": address })).await;
    assert!(read["contents"][0]["uri"] == address.as_str());
    call(&client, "bad__t0").await.unwrap();
    client.close().await;
    let snapshot = gateway.engine.snapshot(&"test".into()).unwrap();
    let told: Vec<String> =
        snapshot.problems.iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(told.iter().filter(|text| text.contains("listed without")).count(), 5, "{told:?}");
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn data_for_an_app_is_not_cut() {
    const SIZE: usize = 300_000;
    let tools = [SHOW, REFRESH, PLAIN];
    let large = Arc::new(AppServer::new("one", &tools).with_size(SIZE));
    let two = Arc::new(AppServer::new("two", &tools));
    for era in ERAS {
        let options =
            BridgeOptions { results: ResultPolicy::gateway(), ..BridgeOptions::default() };
        let gateway = gateway(&[&large, &two], era, "{}", options).await;
        for version in VERSIONS {
            let view = json!({ "uri": "ui://one.switchboard/shared/view" });
            for declared in [HOST, "{}"] {
                let (client, _inbox) = gateway.client(version, declared).await;
                let read = ask(&client, "resources/read", &view).await;
                assert!(read["contents"][0]["text"].as_str().unwrap().len() > SIZE, "{version}");
                client.close().await;
            }
            let size = |value: &Value| value.as_str().map_or(0, str::len);
            let sizes = async |client: &Client, tool: &str| {
                let called = call(client, tool).await.unwrap();
                let contents = called["content"].as_array().unwrap().iter();
                let text: usize = contents.map(|block| size(&block["text"])).sum();
                (text > SIZE, size(&called["structuredContent"]["filler"]) == SIZE)
            };
            let (host, _inbox) = gateway.client(version, HOST).await;
            // Its text is for the model, its structured content for the UI.
            assert_eq!(sizes(&host, "one__show").await, (false, true));
            assert_eq!(sizes(&host, "one__refresh").await, (true, true));
            assert_eq!(sizes(&host, "one__plain").await, (false, false));
            // An app calls it.
            ask(&host, "resources/read", &view).await;
            assert_eq!(sizes(&host, "plain").await, (true, true));
            // A model reads it.
            let arguments = json!({ "uri": view["uri"] });
            let read = json!({ "name": "ReadMcpResource", "arguments": arguments });
            let read = ask(&host, "tools/call", &read).await;
            assert!(size(&read["content"][0]["resource"]["text"]) < SIZE, "{version}");
            let (plain, _inbox) = gateway.client(version, "{}").await;
            assert_eq!(sizes(&plain, "one__show").await, (false, false));
            host.close().await;
            plain.close().await;
        }
        gateway.engine.shutdown().await;
    }
}
