//! Test data: the rows of the extension matrix, each as a client's steps and expected results. Used by
//! `compatibility`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use switchboard_wire::Version;
use switchboard_wire::client::{CallRequest, InboxEvent, ListKind, skills};
use switchboard_wire::json::Raw;

use super::features::{Feature, Seen, ensure, told};
use super::gateway::{Client, Face, HEADER_BAGGAGE};
use super::server::{AWAIT_HEARD, BEHIND, HEARD, INQUIRY, MOVED};

/// The versions of clients in the matrix.
pub(super) const VERSIONS: [Version; 2] = [Version::LATEST_LEGACY, Version::LATEST];

/// Names a row and the function of that name.
macro_rules! extension {
    ($name:expr, $run:ident) => {
        Feature {
            name: $name,
            since: Version::V2024_11_05,
            from: &BEHIND,
            run: |client| $run(client).boxed(),
        }
    };
}

/// The row of what has a place in HTTP only.
const HEADERS_ROW: &str = "trace context in headers only";

pub(super) const EXTENSIONS: &[Feature] = &[
    extension!("extensions that a client declares", declared_by_client),
    extension!("extensions that a server declares", declared_by_server),
    extension!("experimental capabilities of both", experimental),
    extension!("options of known capabilities of both", options),
    extension!("unknown request of a client", unknown_method),
    extension!("unknown request of a server", unknown_question),
    extension!("unknown notification of a client", unknown_client_notification),
    extension!("unknown notification of a server", unknown_notification),
    extension!("unknown members of requests and results", unknown_members),
    extension!("MCP Apps: addresses and pages", app_page),
    extension!("MCP Apps: tools for apps only", app_tool),
    extension!("skills: list, one entry", skill_list),
    extension!("skills: read files and folders", skill_files),
    extension!("trace context in `_meta`", trace_context),
    extension!(HEADERS_ROW, trace_context_in_headers),
];

/// Whether clients of this face are tried with a row.
pub(super) fn has_row(face: Face, row: &Feature) -> bool {
    face == Face::Http || row.name != HEADERS_ROW
}

async fn unknown_method(client: Client) -> Seen {
    let params = Raw::parse(r#"{"odd":[1.0,1e400]}"#).unwrap();
    let call = CallRequest::new("compatibility.example/echo", Some(params));
    let result = client.wire.call(call).result().await.map_err(|error| told(&error))?;
    let odd = result.get_path(&["echo", "odd"]).ok().flatten();
    ensure(odd.is_some_and(|odd| odd.as_str() == "[1.0,1e400]"), result)
}

async fn declared_by_client(client: Client) -> Seen {
    let call = CallRequest::new("compatibility.example/echo", None);
    let result = client.wire.call(call).result().await.map_err(|error| told(&error))?;
    let declared = result.get_path(&["declared", "extensions", "compatibility.example"]);
    let declared = declared.ok().flatten();
    ensure(declared.is_some_and(|declared| declared.as_str() == r#"{ "n":1.50 }"#), result)
}

async fn declared_by_server(client: Client) -> Seen {
    // A server that was declared is there.
    client.call(CallRequest::call_tool("metadata", &Raw::empty_object())).await?;
    let capabilities = client.wire.server_facts().capabilities.clone();
    let declared = capabilities.get_path(&["extensions", "compatibility.example"]);
    let declared = declared.ok().flatten();
    ensure(declared.is_some_and(|declared| declared.as_str() == r#"{ "m":2.50 }"#), capabilities)
}

async fn experimental(client: Client) -> Seen {
    both_declare(&client, "experimental", "experimental").await
}

async fn options(client: Client) -> Seen {
    both_declare(&client, "sampling", "tools").await
}

/// Checks that the server hears what the client declares in `client_group`, and the client what the server declares in
/// `server_group`.
async fn both_declare(client: &Client, client_group: &str, server_group: &str) -> Seen {
    let call = CallRequest::new("compatibility.example/echo", None);
    let result = client.wire.call(call).result().await.map_err(|error| told(&error))?;
    let at = |of: &Raw, path: &[&str]| of.get_path(path).ok().flatten().map(|raw| raw.to_string());
    let theirs = at(&result, &["declared", client_group, "compatibility.example"]);
    let capabilities = client.wire.server_facts().capabilities.clone();
    let ours = at(&capabilities, &[server_group, "compatibility.example"]);
    let both = (theirs.as_deref(), ours.as_deref());
    ensure(both == (Some(r#"{ "n":1.50 }"#), Some(r#"{ "m":2.50 }"#)), both)
}

async fn unknown_question(client: Client) -> Seen {
    let call = CallRequest::call_tool("inquire", &Raw::empty_object());
    let (method, result) = client.asked(call, &json!({ "answer": 7 })).await?;
    ensure(method == INQUIRY && result.contains(r#"{\"answer\":7}"#), (method, result))
}

async fn unknown_client_notification(client: Client) -> Seen {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    // The gateway knows a modern client over HTTP by its requests.
    client.call(CallRequest::call_tool("metadata", &Raw::empty_object())).await?;
    let params = format!(r#"{{"n":{}.50}}"#, COUNT.fetch_add(1, Ordering::Relaxed));
    let params = Raw::parse(params).unwrap();
    client.wire.notify(HEARD, Some(&params)).await.map_err(|error| told(&error))?;
    client.call(CallRequest::new(AWAIT_HEARD, Some(params))).await.map(drop)
}

async fn unknown_members(client: Client) -> Seen {
    let params = Raw::parse(r#"{"name":"reload","arguments":{},"odd":[1.50]}"#).unwrap();
    let call = CallRequest::new("tools/call", Some(params));
    let result = client.wire.call(call).result().await.map_err(|error| told(&error))?;
    let at = |path: &[&str]| result.get_path(path).ok().flatten().map(|raw| raw.to_string());
    let (odd, asked) = (at(&["odd"]), at(&["asked", "odd"]));
    ensure(odd.as_deref() == Some("[1.0,1e400]") && asked.as_deref() == Some("[1.50]"), &result)
}

/// Has the server notify until the client hears it: a modern client may not listen yet.
async fn unknown_notification(mut client: Client) -> Seen {
    for _ in 0..100 {
        client.call(CallRequest::call_tool("move", &Raw::empty_object())).await?;
        let next = tokio::time::timeout(Duration::from_millis(100), client.inbox.next()).await;
        match next {
            Ok(Ok(InboxEvent::Notification(heard))) if heard.method() == MOVED => {
                let n = heard.params().and_then(|params| params.get("n").ok().flatten());
                return ensure(n.is_some_and(|n| n.as_str() == "2.50"), heard);
            }
            Ok(Err(error)) => return Err(told(&error)),
            Ok(Ok(_)) | Err(_) => {}
        }
    }
    Err("the client heard nothing".to_owned())
}

async fn app_page(client: Client) -> Seen {
    let listed = client.wire.list(ListKind::Tools).await.map_err(|error| told(&error))?;
    let address = listed.items.iter().find_map(|tool| {
        let path = ["_meta", "ui", "resourceUri"];
        tool.get_path(&path).ok().flatten()?.to_text()
    });
    let address = address.ok_or_else(|| format!("no tool has a page: {listed:?}"))?;
    ensure(address == "ui://one.switchboard/page/index.html", &address)?;
    let read = client.call(CallRequest::read_resource(&address)).await?;
    let page = &read["contents"][0];
    ensure(page["uri"] == *address && page["text"] == "<p>page</p>", &read)
}

async fn app_tool(client: Client) -> Seen {
    let listed = client.wire.list(ListKind::Tools).await.map_err(|error| told(&error))?;
    let visibility = listed.items.iter().find_map(|tool| {
        tool.get_path(&["_meta", "ui", "visibility"]).ok().flatten().map(|raw| raw.to_string())
    });
    ensure(visibility.as_deref() == Some(r#"["app"]"#), &visibility)?;
    client.call(CallRequest::call_tool("reload", &Raw::empty_object())).await.map(drop)
}

/// The only skill of the server, from the list.
async fn greeting(client: &Client) -> Result<skills::Skill, String> {
    let listed = skills::list_skills(&client.wire).await.map_err(|error| told(&error))?;
    let [greeting] = &listed.skills[..] else { return Err(format!("{listed:?}")) };
    let uri = "skill://one.switchboard/greeting/SKILL.md";
    ensure(greeting.uri() == uri && listed.excluded.is_empty(), &listed)?;
    Ok(greeting.clone())
}

async fn skill_list(client: Client) -> Seen {
    let listed = greeting(&client).await?;
    let one = skills::get_skill(&client.wire, listed.uri()).await.map_err(|error| told(&error))?;
    ensure(one.files() == listed.files() && one.front_matter() == listed.front_matter(), one)
}

async fn skill_files(client: Client) -> Seen {
    let skill = greeting(&client).await?;
    // Digests are compared by `load` and `read`.
    let loaded = skill.load(&client.wire).await.map_err(|error| told(&error))?;
    let tone = "skill://one.switchboard/greeting/references/tone.md";
    let read = loaded.read(&client.wire, tone).await.map_err(|error| told(&error))?;
    ensure(read == b"Friendly, and short.\n", read)?;
    let folder = json!({ "uri": "skill://one.switchboard/greeting/references" });
    let folder = Some(Raw::from_value(&folder).unwrap());
    let folder = client.call(CallRequest::new("resources/directory/read", folder)).await?;
    ensure(folder["resources"][0]["uri"] == tone, folder)
}

/// Calls a tool with this `_meta`, and returns what the server saw of it.
async fn seen_meta(client: &Client, meta: &Value) -> Result<Value, String> {
    let params = json!({ "name": "metadata", "arguments": {}, "_meta": meta });
    let call = CallRequest::new("tools/call", Some(Raw::from_value(&params).unwrap()));
    Ok(client.call(call).await?["seen"].clone())
}

async fn trace_context(client: Client) -> Seen {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    // The last value is no baggage, and passes all the same.
    let meta = json!({ "traceparent": parent, "tracestate": "a=1", "baggage": "no baggage" });
    let seen = seen_meta(&client, &meta).await?;
    let is_same = |key: &str| seen[key] == meta[key];
    ensure(["traceparent", "tracestate", "baggage"].into_iter().all(is_same), &seen)
}

/// The clients over HTTP send baggage in a header.
async fn trace_context_in_headers(client: Client) -> Seen {
    let seen = seen_meta(&client, &json!({})).await?;
    ensure(seen["baggage"] == HEADER_BAGGAGE, &seen)
}
