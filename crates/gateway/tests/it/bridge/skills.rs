//! Tests of skills: those of all servers in one list, with addresses that name the server and reach it again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchboard_core::engine::InProcessServer;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::skills::SkillDigest;
use switchboard_wire::client::{CallRequest, Client, InboxEvent, skills};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::link::LinkFrame;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, HandlerReply, HandlerRequest, RequestContext,
    ServeOptions, ServerDescription, ServerHandler, serve,
};
use switchboard_wire::{Era, Error, Version};

use super::{Gateway, raw, soon};

/// What a server does when its skills are listed.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Good,
    Refuses,
    Hangs,
    /// It gives one cursor again and again.
    Circles,
    /// It lists an entry without a URI, and no list at all on the second page.
    Garbles,
}

/// A server with the skills `pdf` and `notes`, one on each page. `notes` has another scheme.
#[derive(Clone)]
struct Library {
    name: &'static str,
    settings: &'static str,
    manner: Manner,
    changes: ChangeBroadcaster,
}

impl Library {
    fn in_process(self, era: Era) -> InProcessServer {
        InProcessServer::from_link(self.name, move || {
            let (ours, theirs) = link_pair();
            let server = Arc::new(self.clone());
            tokio::spawn(async move {
                let changes = server.changes.clone();
                // The session ends with its link.
                let _ = serve(theirs, server, &changes, ServeOptions::default()).await;
            });
            Ok(match era {
                Era::Modern => ours,
                Era::Legacy => switchboard_testkit::older::legacy_only(ours),
            })
        })
    }

    fn manifest(&self, skill: &str) -> String {
        format!("---\nname: {skill}\ndescription: {skill} of {}\n---\n\nDo it.\n", self.name)
    }

    fn entry(&self, skill: &str) -> Value {
        let text = self.manifest(skill);
        let digest = SkillDigest::from(<[u8; 32]>::from(Sha256::digest(&text)));
        let uri = format!("{}/SKILL.md", folder(skill));
        json!({
            "uri": uri,
            "frontmatter": { "name": skill, "description": format!("{skill} of {}", self.name) },
            "resources": [{ "uri": uri, "digest": digest.to_string(), "size": text.len() }],
            "odd": 1,
        })
    }

    fn answer(&self, asked: &HandlerRequest) -> Result<Value, RpcError> {
        let text = |key| asked.params.get(key).ok().flatten().and_then(|raw| raw.to_text());
        let uri = text("uri").unwrap_or_default();
        let found = ["pdf", "notes"].into_iter().find(|skill| uri.starts_with(&folder(skill)));
        let missing = || RpcError::new(code::INVALID_PARAMS, format!("{} has no {uri}", self.name));
        match (&*asked.method, text("cursor").as_deref()) {
            ("skills/list", None) if self.manner == Manner::Garbles => Ok(
                json!({ "skills": [{ "uri": "urn:odd" }, self.entry("pdf")], "nextCursor": "2" }),
            ),
            ("skills/list", Some(_)) if self.manner == Manner::Garbles => Ok(json!({})),
            ("skills/list", None) => Ok(
                json!({ "skills": [self.entry("pdf")], "nextCursor": "2", "ttlMs": 500, "own": 1 }),
            ),
            ("skills/list", Some("2")) if self.manner == Manner::Circles => {
                Ok(json!({ "skills": [], "nextCursor": "2" }))
            }
            ("skills/list", Some("2")) => Ok(json!({ "skills": [self.entry("notes")] })),
            ("skills/get", _) => Ok(json!({ "skill": self.entry(found.ok_or_else(missing)?) })),
            ("resources/directory/read", None) => {
                let child = json!({ "uri": format!("{uri}/SKILL.md"), "name": "SKILL.md" });
                Ok(json!({ "resources": [child], "nextCursor": "more" }))
            }
            ("resources/directory/read", Some("more")) => {
                let child = json!({ "uri": format!("{uri}/x"), "mimeType": "inode/directory" });
                Ok(json!({ "resources": [child] }))
            }
            ("resources/read", _) => {
                let text = self.manifest(found.ok_or_else(missing)?);
                Ok(json!({ "contents": [{ "uri": uri, "text": text, "odd": 1 }] }))
            }
            ("resources/list", _) => Ok(json!({ "resources": [] })),
            ("resources/templates/list", _) => Ok(json!({ "resourceTemplates": [] })),
            _ => Err(missing()),
        }
    }
}

fn folder(skill: &str) -> String {
    match skill {
        "pdf" => "skill://acme/pdf".to_owned(),
        other => format!("github://acme/repo/{other}"),
    }
}

impl ServerHandler for Library {
    fn describe(&self) -> ServerDescription {
        let extensions = format!(r#"{{"io.modelcontextprotocol/skills":{}}}"#, self.settings);
        ServerDescription {
            info: raw(r#"{"name":"library","version":"1"}"#),
            capabilities: raw(&format!(
                r#"{{"resources":{{"subscribe":true}},"extensions":{extensions}}}"#
            )),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match self.manner {
                Manner::Refuses if asked.method == "skills/list" => {
                    Err(RpcError::new(code::INTERNAL_ERROR, "the shelf broke"))
                }
                Manner::Hangs if asked.method == "skills/list" => std::future::pending().await,
                _ => self.answer(&asked).map(|result| HandlerReply::Complete(Raw::from(result))),
            }
        })
    }
}

fn library(name: &'static str, manner: Manner) -> Library {
    Library { name, settings: "{}", manner, changes: ChangeBroadcaster::default() }
}

async fn gateway(era: Era, libraries: Vec<Library>) -> Gateway {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let servers = libraries.into_iter().map(|library| library.in_process(era)).collect();
    let options = BridgeOptions { first_list: Duration::from_secs(2), ..BridgeOptions::default() };
    let gateway = Gateway::among(folder, servers, "{}", options).await;
    // The handshake tells what servers have that are known by then.
    let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
    soon(client.list(switchboard_wire::client::ListKind::Resources)).await.unwrap();
    client.close().await;
    gateway
}

async fn ask(client: &Client, method: &'static str, params: Value) -> Result<Value, Error> {
    let call = CallRequest::new(method, Some(Raw::from(params)));
    soon(client.call(call).result()).await.map(|result| result.decode().unwrap())
}

async fn refusal(client: &Client, method: &'static str, params: Value) -> (i64, String) {
    match ask(client, method, params).await.unwrap_err() {
        Error::Rpc(error) => (error.code, error.message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn are_found_by_unknown_methods_that_name_their_address() {
    let libraries = ["docs", "wiki"].map(|name| library(name, Manner::Good));
    everywhere(&libraries, async |_, client| {
        for (name, uri) in [("docs", "skill://acme/pdf"), ("wiki", "github://acme/repo/notes")] {
            let scheme = if uri.starts_with("github") { "github+" } else { "" };
            let rest = uri.split_once("://").unwrap().1;
            let address = format!("skill://{scheme}{name}.switchboard/{rest}");
            let (_, text) = refusal(&client, "vendor/install", json!({ "uri": address })).await;
            assert_eq!(text, format!("{name} has no {uri}"));
        }
    })
    .await;
}

/// Every pairing of eras.
async fn everywhere(libraries: &[Library], check: impl AsyncFn(&Gateway, Client)) {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = gateway(era, libraries.to_vec()).await;
        for version in [Version::LATEST_LEGACY, Version::LATEST] {
            let (client, _inbox) = gateway.client(version, "{}").await;
            check(&gateway, client).await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn of_all_servers_are_one_list_and_are_read_from_their_server() {
    let servers = [library("a.b", Manner::Good), library("two", Manner::Good)];
    everywhere(&servers, async |_, client| {
        let listing = soon(skills::list_skills(&client)).await.unwrap();
        assert!(listing.excluded.is_empty(), "{:?}", listing.excluded);
        let uris: Vec<&str> = listing.skills.iter().map(skills::Skill::uri).collect();
        assert_eq!(
            uris,
            [
                "skill://a.b.switchboard/acme/pdf/SKILL.md",
                "skill://two.switchboard/acme/pdf/SKILL.md",
                "skill://github+a.b.switchboard/acme/repo/notes/SKILL.md",
                "skill://github+two.switchboard/acme/repo/notes/SKILL.md",
            ]
        );
        for skill in &listing.skills {
            // Length, digest and front matter are compared with what the server announced.
            let loaded = soon(skill.load(&client)).await.unwrap();
            assert!(loaded.text().contains(skill.description()), "{}", loaded.text());
            let again = soon(skills::get_skill(&client, skill.uri())).await.unwrap();
            assert_eq!(again.files(), skill.files());
        }
    })
    .await;
}

/// As after a restart, or at another replica: a modern client goes on with an address, without a greeting or a list.
#[tokio::test]
async fn are_reached_by_the_first_request() {
    let address = "skill://docs.switchboard/acme/pdf";
    for era in [Era::Legacy, Era::Modern] {
        for (method, uri) in [
            ("skills/get", format!("{address}/SKILL.md")),
            ("resources/read", format!("{address}/SKILL.md")),
            ("resources/directory/read", address.to_owned()),
        ] {
            let folder = Arc::new(tempfile::tempdir().unwrap());
            let servers = vec![library("docs", Manner::Good).in_process(era)];
            let gateway = Gateway::among(folder, servers, "{}", BridgeOptions::default()).await;
            let (writer, mut reader) = gateway.link("me", ViewSelection::Everything).await;
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let params = json!({ "uri": uri, "_meta": meta });
            let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            writer.send(asked.to_string().into()).await.unwrap();
            let frame = soon(reader.next()).await.unwrap().unwrap();
            let LinkFrame::Text(text) = frame else { panic!("{frame:?}") };
            let answer: Value = serde_json::from_str(&text).unwrap();
            assert!(answer["result"].to_string().contains(address), "{method}: {answer}");
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn keep_everything_but_their_addresses() {
    let servers = [library("one", Manner::Good), library("two", Manner::Good)];
    everywhere(&servers, async |_, client| {
        let entry = |server: &str| {
            let mut entry =
                library(if server == "one" { "one" } else { "two" }, Manner::Good).entry("pdf");
            let address = format!("skill://{server}.switchboard/acme/pdf/SKILL.md");
            entry["uri"] = json!(address);
            entry["resources"][0]["uri"] = json!(address);
            entry["_meta"] = json!({ "switchboard/server": server });
            entry
        };
        let first = ask(&client, "skills/list", json!({})).await.unwrap();
        assert_eq!(first["skills"], json!([entry("one"), entry("two")]));
        let uri = "skill://two.switchboard/acme/pdf";
        let read = ask(&client, "resources/directory/read", json!({ "uri": uri })).await.unwrap();
        assert_eq!(
            read["resources"][0],
            json!({ "uri": format!("{uri}/SKILL.md"), "name": "SKILL.md" })
        );
        let more = json!({ "uri": uri, "cursor": read["nextCursor"] });
        let read = ask(&client, "resources/directory/read", more).await.unwrap();
        assert_eq!(read["resources"][0]["uri"], format!("{uri}/x"));
        let file = json!({ "uri": format!("{uri}/SKILL.md") });
        let read = ask(&client, "resources/read", file).await.unwrap();
        let text = library("two", Manner::Good).manifest("pdf");
        let contents = json!([{ "uri": format!("{uri}/SKILL.md"), "text": text, "odd": 1 }]);
        assert_eq!(read["contents"], contents);
    })
    .await;
}

#[tokio::test]
async fn of_one_server_are_unchanged_in_its_own_view() {
    let servers = [library("one", Manner::Good), library("two", Manner::Good)];
    everywhere(&servers, async |gateway, client| {
        let version = client.server_facts().version;
        let part = ViewSelection::Server("two".into());
        let (client, _inbox) = gateway.client_of(version, "{}", "me", part).await;
        let first = ask(&client, "skills/list", json!({})).await.unwrap();
        assert_eq!(
            (&first["skills"], &first["nextCursor"]),
            (&json!([library("two", Manner::Good).entry("pdf")]), &json!("2"))
        );
        assert_eq!(first["own"], 1);
        let listing = soon(skills::list_skills(&client)).await.unwrap();
        let uris: Vec<&str> = listing.skills.iter().map(skills::Skill::uri).collect();
        assert_eq!(uris, ["skill://acme/pdf/SKILL.md", "github://acme/repo/notes/SKILL.md"]);
        for skill in &listing.skills {
            soon(skill.load(&client)).await.unwrap();
        }
        // An address of the other view is a URI like any other here.
        let address = json!({ "uri": "skill://one.switchboard/acme/pdf/SKILL.md" });
        let refused = refusal(&client, "skills/get", address).await;
        assert_eq!(
            refused,
            (-32602, "two has no skill://one.switchboard/acme/pdf/SKILL.md".to_owned())
        );
    })
    .await;
}

#[tokio::test]
async fn of_a_bad_server_cost_no_others() {
    let servers = [
        library("broken", Manner::Refuses),
        library("circle", Manner::Circles),
        library("garbled", Manner::Garbles),
        library("good", Manner::Good),
        library("slow", Manner::Hangs),
    ];
    everywhere(&servers, async |_, client| {
        let first = ask(&client, "skills/list", json!({})).await.unwrap();
        let reasons = |page: &Value| {
            let unlisted = page["_meta"]["switchboard/unlisted"].as_array().cloned();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let unlisted = unlisted.unwrap_or_default().into_iter();
            unlisted.map(|each| (text(&each["server"]), text(&each["reason"]))).collect::<Vec<_>>()
        };
        let seen = reasons(&first);
        let servers: Vec<&str> = seen.iter().map(|(server, _)| &**server).collect();
        assert_eq!(servers, ["broken", "garbled", "slow"]);
        assert!(seen[0].1.contains("the shelf broke"), "{seen:?}");
        assert_eq!(seen[1].1, "1 of its entries have no `uri` with `://`");
        assert_eq!(seen[2].1, "it did not answer within 2s");
        assert_eq!(first["skills"].as_array().unwrap().len(), 3, "{first}");
        let next = json!({ "cursor": first["nextCursor"] });
        let second = ask(&client, "skills/list", next).await.unwrap();
        assert_eq!(second["skills"].as_array().unwrap().len(), 1, "{second}");
        assert_eq!(second["skills"][0]["_meta"]["switchboard/server"], "good");
        let seen = reasons(&second);
        assert_eq!(seen[0], ("circle".into(), "it gives the same `nextCursor` again".into()));
        assert_eq!(seen[1], ("garbled".into(), "its result has no list `skills`".into()));
        assert_eq!(second.get("nextCursor"), None);
    })
    .await;
}

#[tokio::test]
async fn have_cursors_that_are_checked() {
    let servers = [library("one", Manner::Good), library("two", Manner::Good)];
    everywhere(&servers, async |_, client| {
        // `[]`, `[["one","2"],["one","2"]]`, no Base64, no JSON, and no text.
        let twice = "W1sib25lIiwiMiJdLFsib25lIiwiMiJdXQ";
        for cursor in [json!("W10"), json!(twice), json!("***"), json!("AAAA"), json!(5)] {
            let (code, text) = refusal(&client, "skills/list", json!({ "cursor": cursor })).await;
            assert_eq!(code, -32602, "{cursor}");
            assert!(text.contains("list again without it"), "{text}");
        }
        // `[["gone","2"],["two","2"]]`: a server that is gone costs its own skills.
        let gone = json!({ "cursor": "W1siZ29uZSIsIjIiXSxbInR3byIsIjIiXV0" });
        let page = ask(&client, "skills/list", gone).await.unwrap();
        assert_eq!(page["_meta"]["switchboard/unlisted"][0]["server"], "gone");
        assert_eq!(page["skills"].as_array().unwrap().len(), 1, "{page}");
    })
    .await;
}

#[tokio::test]
async fn without_an_address_are_found_only_where_one_server_has_them() {
    let uri = json!({ "uri": "skill://acme/pdf/SKILL.md" });
    everywhere(&[library("one", Manner::Good)], async |_, client| {
        let found = ask(&client, "skills/get", uri.clone()).await.unwrap();
        assert_eq!(found["skill"], library("one", Manner::Good).entry("pdf"));
        ask(&client, "resources/read", uri.clone()).await.unwrap();
        // No server of this name is there, so the text is a URI of the only server.
        let other = json!({ "uri": "skill://other.switchboard/acme/pdf/SKILL.md" });
        let (_, text) = refusal(&client, "skills/get", other).await;
        assert_eq!(text, "one has no skill://other.switchboard/acme/pdf/SKILL.md");
    })
    .await;
    let servers = [library("one", Manner::Good), library("two", Manner::Good)];
    everywhere(&servers, async |_, client| {
        for method in ["skills/get", "resources/directory/read"] {
            let (code, text) = refusal(&client, method, uri.clone()).await;
            assert_eq!(code, -32602, "{text}");
            assert!(
                text.contains(
                    "`skill://one.switchboard/acme/pdf/SKILL.md`, `skill://two.switchboard/acme/pdf/SKILL.md`"
                ),
                "{text}"
            );
        }
        let tagged = json!({ "uri": uri["uri"], "_meta": { "switchboard/server": "two" } });
        let found = ask(&client, "skills/get", tagged).await.unwrap();
        assert_eq!(found["skill"], library("two", Manner::Good).entry("pdf"));
    })
    .await;
}

#[tokio::test]
async fn are_declared_with_what_one_server_can_do() {
    let settings = async |libraries: Vec<Library>| {
        let gateway = gateway(Era::Modern, libraries).await;
        let (client, _inbox) = gateway.client(Version::LATEST, "{}").await;
        let facts = client.server_facts();
        let path = ["extensions", "io.modelcontextprotocol/skills"];
        let settings = facts.capabilities.get_path(&path).unwrap();
        gateway.engine.shutdown().await;
        settings.map(|settings| settings.to_string())
    };
    let with = |name, settings| Library { settings, ..library(name, Manner::Good) };
    let reads = r#"{"directoryRead":true,"odd":1}"#;
    for (servers, expected) in [
        (vec![with("one", "{}")], Some("{}")),
        (vec![with("one", "{}"), with("two", reads)], Some(r#"{"directoryRead":true}"#)),
        (vec![with("one", r#"{"directoryRead":false}"#), with("two", "{}")], Some("{}")),
        // Settings that are no object declare nothing.
        (vec![with("one", "true"), with("two", "[]")], None),
    ] {
        assert_eq!(settings(servers).await.as_deref(), expected);
    }
}

/// A subscriber hears of a changed file under the address that it subscribed to.
#[tokio::test]
async fn can_be_subscribed_to_by_their_address() {
    let servers = [library("one", Manner::Good), library("two", Manner::Good)];
    let two = servers[1].changes.clone();
    everywhere(&servers, async |gateway, client| {
        let version = client.server_facts().version;
        let (client, mut inbox) = gateway.client(version, "{}").await;
        let address = "skill://two.switchboard/acme/pdf/SKILL.md";
        soon(client.subscribe(address)).await.unwrap();
        let announcing = async {
            loop {
                let changed = |uri: &str| ChangeNotification::Resource(uri.to_owned());
                two.announce(changed("skill://acme/pdf/SKILL.md"));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let hearing = async {
            loop {
                if let InboxEvent::ResourceUpdated { uri, .. } = inbox.next().await.unwrap() {
                    return uri;
                }
            }
        };
        let heard = soon(async {
            tokio::select! { heard = hearing => heard, () = announcing => String::new() }
        });
        assert_eq!(heard.await, address);
    })
    .await;
}
