//! Tests of era detection over HTTP, and of the fallback to HTTP+SSE.

use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::{Error, Version, client::VersionNegotiation};

use super::{
    initialized, options, over_http,
    web::{self, Asked, methods, web},
};
use crate::http::soon;

async fn greeted(server: &Scripted) -> Result<Version, Error> {
    let connected = soon(over_http(&server.url("/mcp"), options(VersionNegotiation::Probe))).await;
    connected.map(|(client, _)| client.server_facts().version)
}

type Refusal = fn(&Asked) -> Reply;

/// Each answer is a legacy server's.
#[tokio::test]
async fn what_a_legacy_server_answers_to_the_probe() {
    let ways: [(&str, Refusal); 10] = [
        ("404 and -32601", |asked| asked.error(404, -32601)),
        ("200 and -32601", |asked| asked.error(200, -32601)),
        ("400 and -32000", |asked| asked.error(400, -32000)),
        ("400 and text", |_| Reply::text(400, "text/plain", "no session")),
        ("404 and nothing", |_| Reply::empty(404)),
        ("200 and no events", |_| Reply::events()),
        ("200 and only an id", |_| Reply::events().bytes("id: 1\ndata:\n\n")),
        ("{}", |asked| asked.result("{}")),
        ("not JSON-RPC", |_| Reply::json(200, r#"{"hello":1}"#)),
        ("202", |_| Reply::empty(202)),
    ];
    for (way, probed) in ways {
        let server = web(move |asked| match &*asked.method {
            "server/discover" => probed(asked),
            _ => web::legacy(asked, "{}"),
        })
        .await;
        let version = greeted(&server).await;
        assert!(matches!(version, Ok(Version::V2025_11_25)), "{way}: {version:?}");
        // A stream with an event id may be resumed before the client gives up.
        let mut asked = methods(&server);
        asked.retain(|method| method != "GET");
        assert_eq!(
            asked[..3],
            ["server/discover", "initialize", "notifications/initialized"],
            "{way}"
        );
    }
}

/// A failure without an answer says nothing about the era.
#[tokio::test]
async fn a_server_in_trouble_is_not_taken_for_legacy() {
    for status in [500, 503, 429] {
        let server = web(move |_| Reply::empty(status)).await;
        let error = greeted(&server).await.unwrap_err();
        assert!(matches!(error, Error::Status { status: told, .. } if told == status), "{error:?}");
        assert_eq!(methods(&server), ["server/discover"]);
    }
}

/// A server of 2024-11-05 at one URL; it answers any POST there with `status`.
async fn sse_only(
    refuse: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    endpoint: &'static str,
) -> Scripted {
    let feed = std::sync::Mutex::new(None);
    web(move |asked| match (asked.http.method.as_str(), asked.http.path.as_str()) {
        ("GET", _) => {
            let (sender, pieces) = tokio::sync::mpsc::unbounded_channel::<Vec<u8>>();
            let _ = sender.send(format!("event: endpoint\ndata: {endpoint}\n\n").into_bytes());
            *feed.lock().unwrap() = Some(sender);
            Reply::events().feed(pieces)
        }
        ("POST", "/messages") => {
            if asked.method == "initialize" {
                let text = asked.response(&initialized("2024-11-05"));
                let event = format!("data: {text}\n\n").into_bytes();
                let _ = feed.lock().unwrap().as_ref().unwrap().send(event);
            }
            Reply::empty(202)
        }
        _ => refuse(asked),
    })
    .await
}

#[tokio::test]
async fn a_post_that_is_refused_without_a_message_falls_back() {
    for status in [400, 404, 405] {
        let server = sse_only(move |_| Reply::empty(status), "/messages").await;
        assert_eq!(greeted(&server).await.unwrap(), Version::V2024_11_05, "{status}");
    }
    let server = sse_only(|_| Reply::json(404, r#"{"detail":"Not Found"}"#), "/messages").await;
    assert_eq!(greeted(&server).await.unwrap(), Version::V2024_11_05);
}

#[tokio::test]
async fn with_a_message_it_does_not() {
    for status in [400, 404, 405] {
        let server = sse_only(move |asked| asked.error(status, -32600), "/messages").await;
        let error = greeted(&server).await.unwrap_err();
        assert_eq!(error.code(), Some(-32600), "{error:?}");
        assert!(!methods(&server).contains(&"GET".to_owned()));
    }
    let server = sse_only(|_| Reply::empty(403), "/messages").await;
    assert!(greeted(&server).await.is_err());
    assert!(!methods(&server).contains(&"GET".to_owned()));
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    for endpoint in ["http://127.0.0.1:9/messages", "//elsewhere/messages", "https://127.0.0.1/m"] {
        let server = sse_only(|_| Reply::empty(405), endpoint).await;
        let error = greeted(&server).await.unwrap_err();
        assert!(
            matches!(&error, Error::InvalidResult { reason, .. } if reason.contains("origin")),
            "{error:?}"
        );
    }
}

/// From 2025-06-18 on, later requests name the negotiated version in a header.
#[tokio::test]
async fn the_version_header_follows_the_handshake() {
    for (version, header) in [("2025-03-26", None), ("2025-06-18", Some("2025-06-18"))] {
        let server = web(move |asked| match &*asked.method {
            "initialize" => asked.result(&initialized(version)),
            _ => web::legacy(asked, "{}"),
        })
        .await;
        greeted(&server).await.unwrap();
        let requests = server.requests();
        assert_eq!(requests[1].header("mcp-protocol-version"), None);
        assert_eq!(requests[2].header("mcp-protocol-version"), header);
    }
}
