//! Tests of several users of one `serve`: state that a server keeps is separate for each user, unless an entry shares
//! it.

use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use switchboard_testkit::programs::program;
use switchboard_wire::client::{
    CallRequest, Client, ClientOptions, ExchangeEvent, HttpTarget, ListKind, ServerInbox,
    ServerTarget, VersionNegotiation,
};
use switchboard_wire::http::{EndpointOptions, HttpPool, HttpPoolOptions, ProxySettings};
use switchboard_wire::json::Raw;
use switchboard_wire::ws::WsOptions;
use switchboard_wire::{Era, Version};

use crate::Home;
use crate::guarding::{HELLO, Serving, TOOLS, json as output_json, session, token};

/// What one user stored, and no other may read.
const SECRET: &str = "hush";

/// Every way in, with a version of each era that it takes.
pub(crate) const FACES: [(&str, Version); 4] = [
    ("mcp", Version::LATEST_LEGACY),
    ("mcp", Version::LATEST),
    ("sse", Version::V2024_11_05),
    ("ws", Version::LATEST_LEGACY),
];

fn home(entry: &Value) -> Home {
    let home = Home::new();
    // Of one era, so that clients of both eras see what the same process remembers.
    let mut notes = json!({ "command": program("notebook"), "era": "modern" });
    notes.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let config = home.path().join(".config/switchboard");
    std::fs::create_dir_all(&config).unwrap();
    let settings = json!({ "mcpServers": { "notes": notes } }).to_string();
    std::fs::write(config.join("settings.json"), settings).unwrap();
    home
}

pub(crate) async fn connect(
    serving: &Serving,
    face: (&str, Version),
    token: &str,
) -> (Client, ServerInbox) {
    connect_able(serving, face, token, &json!({})).await
}

/// Connects a client with these capabilities.
pub(crate) async fn connect_able(
    serving: &Serving,
    (face, version): (&str, Version),
    token: &str,
    capabilities: &Value,
) -> (Client, ServerInbox) {
    let port = serving.address.port();
    let pool = HttpPool::new(&HttpPoolOptions {
        proxies: ProxySettings::Off,
        ..HttpPoolOptions::default()
    })
    .unwrap();
    let bearer = format!("Bearer {token}").parse().unwrap();
    let mut http = EndpointOptions::default();
    http.headers.insert("authorization", bearer);
    let url = |scheme: &str| format!("{scheme}://127.0.0.1:{port}/{face}").parse().unwrap();
    let target = match face {
        "ws" => {
            let options = Box::new(WsOptions { headers: http.headers, ..WsOptions::default() });
            ServerTarget::WebSocket { url: url("ws"), pool, options }
        }
        "sse" => ServerTarget::Sse(HttpTarget { url: url("http"), pool, options: http }),
        _ => ServerTarget::Http(HttpTarget { url: url("http"), pool, options: http }),
    };
    let mut options = ClientOptions::new("test", "1");
    options.greeting = VersionNegotiation::Only(version);
    options.capabilities = Raw::from_value(capabilities).unwrap();
    Client::connect(target, options).await.unwrap()
}

async fn write(client: &Client, note: &str) {
    let arguments = Raw::from_value(&json!({ "note": note })).unwrap();
    client.call(CallRequest::call_tool("notes__write", &arguments)).result().await.unwrap();
}

/// Everything that a client can learn of the server.
async fn learned(client: &Client) -> String {
    let mut learned = String::new();
    for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
        let items = client.list(list).await.unwrap().items;
        learned.extend(items.iter().map(ToString::to_string));
    }
    let read = CallRequest::new(
        "resources/read",
        Some(Raw::from_value(&json!({ "uri": "note://last" })).unwrap()),
    );
    for call in [CallRequest::call_tool("notes__read", &Raw::empty_object()), read] {
        learned += client.call(call).result().await.unwrap().as_str();
    }
    learned
}

#[test]
fn what_one_user_stored_no_other_reads_unless_the_entry_shares_it() {
    let check = async |entry: Value, may_read: bool| {
        let home = home(&entry);
        let (ann, bob) = (token(&home, "ann"), token(&home, "bob"));
        let serving = Serving::start(&home, &["--auth", "token"]);
        let (writer, _inbox) = connect(&serving, FACES[0], &ann).await;
        write(&writer, SECRET).await;
        for face in FACES {
            let (own, _inbox) = connect(&serving, face, &ann).await;
            assert!(learned(&own).await.contains(SECRET), "{entry} {face:?}: their own");
            let (other, _inbox) = connect(&serving, face, &bob).await;
            assert_eq!(learned(&other).await.contains(SECRET), may_read, "{entry} {face:?}");
            own.close().await;
            other.close().await;
        }
        let said = home.command(&["call", "notes/read"]).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!(said.contains(SECRET), may_read, "{entry}: the person who runs it: {said}");
        writer.close().await;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        check(json!({}), false).await;
        check(json!({ "share": "always" }), false).await;
        check(json!({ "sharePrincipals": true }), true).await;
    });
}

/// Writes a note. Returns the log messages of the call.
async fn write_and_listen(client: &Client, note: &str) -> Vec<String> {
    let arguments = Raw::from_value(&json!({ "note": note })).unwrap();
    let call = CallRequest::call_tool("notes__write", &arguments).with_log_level("debug");
    let (mut exchange, mut logs) = (client.call(call), Vec::new());
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Log(params) => logs.push(params.to_string()),
            ExchangeEvent::Done(_) => return logs,
            _ => {}
        }
    }
}

/// What has come to a client beside its calls.
fn heard(inbox: &mut ServerInbox) -> Vec<String> {
    std::iter::from_fn(|| inbox.next().now_or_never())
        .map(|event| format!("{:?}", event.unwrap()))
        .collect()
}

/// Logs, changed lists and changed resources: two users call a server at once, through every face, and each hears of its
/// own notes only.
#[test]
fn what_a_server_announces_to_one_user_no_other_hears() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for era in ["modern", "legacy"] {
        let home = home(&json!({ "era": era }));
        let tokens = ["ann", "bob"].map(|user| token(&home, user));
        let serving = Serving::start(&home, &["--auth", "token"]);
        runtime.block_on(async {
            for face in FACES {
                let about = format!("{era} server, {face:?}");
                let (ann, mut of_ann) = connect(&serving, face, &tokens[0]).await;
                let (bob, mut of_bob) = connect(&serving, face, &tokens[1]).await;
                for client in [&ann, &bob] {
                    client.list(ListKind::Tools).await.unwrap();
                    client.subscribe("note://last").await.unwrap();
                    if client.server_facts().era() == Era::Legacy {
                        client.set_log_level("debug").await.unwrap();
                    }
                }
                heard(&mut of_bob);
                write_and_listen(&ann, "from-ann").await;
                let news = tokio::time::timeout(Duration::from_secs(20), of_ann.next()).await;
                news.expect("no news").unwrap();
                // An answer comes after whatever was sent before it.
                bob.call(CallRequest::call_tool("notes__read", &Raw::empty_object()))
                    .result()
                    .await
                    .unwrap();
                assert_eq!(heard(&mut of_bob), [""; 0], "{about}");
                for number in 0..5 {
                    let notes = ["ann", "bob"].map(|who| format!("{number}-from-{who}"));
                    let (by_ann, by_bob) = tokio::join!(
                        write_and_listen(&ann, &notes[0]),
                        write_and_listen(&bob, &notes[1])
                    );
                    let logs = [by_ann, by_bob].map(|logs| logs.concat());
                    let beside = [heard(&mut of_ann), heard(&mut of_bob)].map(|it| it.concat());
                    for (own, other) in [(0, 1), (1, 0)] {
                        let all = format!("{} {}", logs[own], beside[own]);
                        assert!(all.contains(&notes[own]), "{about}: {all}");
                        let name = ["from-ann", "from-bob"][other];
                        assert!(!all.contains(name), "{about}: {all}");
                    }
                }
                ann.close().await;
                bob.close().await;
            }
        });
    }
}

#[test]
fn the_first_client_of_a_user_is_told_what_its_servers_say_and_hears_of_changes_there() {
    let home = home(&json!({}));
    let ann = token(&home, "ann");
    let serving = Serving::start(&home, &["--auth", "token"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (reader, mut hears) = connect(&serving, FACES[0], &ann).await;
        let told = reader.server_facts().instructions.clone().unwrap_or_default();
        assert!(told.contains("write it down"), "{told}");
        learned(&reader).await;
        let (writer, _inbox) = connect(&serving, FACES[3], &ann).await;
        write(&writer, SECRET).await;
        let news = tokio::time::timeout(Duration::from_secs(20), hears.next()).await;
        news.expect("no news").unwrap();
    });
}

/// Groups are those of the token: with the next token of the same person another rule counts, over every face, and a
/// session that began with the group is not continued without it. A tool that the mode refuses without the group is not
/// listed without it either.
#[test]
fn a_group_that_is_taken_away_is_gone_with_the_next_token() {
    let home = home(&json!({}));
    let path = home.path().join(".config/switchboard/settings.json");
    let mut settings: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    settings["permissions"] = json!({
        "defaultMode": "dontAsk",
        "allow": [{ "rule": "mcp__notes__*", "for": { "group": "dev" } }],
    });
    std::fs::write(path, settings.to_string()).unwrap();
    let create = |args: &[&str]| {
        let created = output_json(&home, &[&["token", "create", "--user", "ada"], args].concat());
        created["token"].as_str().unwrap().to_owned()
    };
    let (member, former) = (create(&["--group", "dev"]), create(&["--group", "ops"]));
    let serving = Serving::start(&home, &["--auth", "token"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let may_write = async |face, token: &str| {
        let (client, _inbox) = connect(&serving, face, token).await;
        let listed = client.list(ListKind::Tools).await.unwrap().items;
        let is_listed = listed.iter().any(|tool| tool.as_str().contains("\"notes__write\""));
        let arguments = Raw::from_value(&json!({ "note": SECRET })).unwrap();
        let call = CallRequest::call_tool("notes__write", &arguments);
        let is_made = match client.call(call).result().await {
            Ok(_) => true,
            Err(error) => {
                assert!(error.to_string().contains("may not be called: mode `dontAsk`"), "{error}");
                false
            }
        };
        assert_eq!(is_listed, is_made, "{face:?}");
        is_made
    };
    runtime.block_on(async {
        for face in FACES {
            assert!(may_write(face, &member).await, "{face:?}");
            assert!(!may_write(face, &former).await, "{face:?}");
        }
    });
    let [member, former] = [member, former].map(|token| format!("Bearer {token}"));
    let id = session(&serving.post(&[("authorization", &member)], HELLO).1);
    let list =
        |token: &str| serving.post(&[("authorization", token), ("mcp-session-id", &id)], TOOLS).0;
    assert_eq!([list(&former), list(&member)], [404, 200]);
}
