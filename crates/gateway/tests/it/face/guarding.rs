//! Tests of access control.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use switchboard_core::principal::Principal;
use switchboard_gateway::face::{
    AnonymousAccess, FaceAccess, FaceLimits, FaceOptions, RequestRate, TlsIdentity, TokenDenial,
    TokenVerifier,
};
use switchboard_gateway::tokens::TokenVerifiers;
use switchboard_testkit::http::Authority;
use switchboard_wire::{
    Version,
    client::{Client, VersionNegotiation},
    http::TlsOptions,
};

use super::{
    Served,
    raw::{WebSocket, begin_session, get, post, send},
    sessions::begin_sse,
    soon,
    suite::{Transport, no_platform, options},
};

struct Two;

impl TokenVerifier for Two {
    fn admit<'a>(
        &'a self,
        token: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Principal, TokenDenial>> {
        let name = token.strip_prefix("token-of-").map(Principal::user);
        Box::pin(std::future::ready(name.ok_or(TokenDenial::NotGood)))
    }
}

/// A verifier of tokens that clients obtain themselves.
struct Described;

impl TokenVerifier for Described {
    fn admit<'a>(
        &'a self,
        token: &'a str,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Principal, TokenDenial>> {
        Box::pin(std::future::ready(match token {
            "weak" => Err(TokenDenial::TooLittle),
            "untold" => Err(TokenDenial::Unavailable),
            "for-mcp" if path == "/mcp" => Ok(Principal::user("ann")),
            _ => Err(TokenDenial::NotGood),
        }))
    }

    fn challenge(&self, path: &str) -> String {
        format!("Bearer resource_metadata=\"{path}\"")
    }

    fn metadata(&self, path: &str) -> Option<String> {
        (path.is_empty() || path == "/mcp").then(|| format!("{{\"resource\":\"{path}\"}}"))
    }
}

#[tokio::test]
async fn a_resource_says_how_one_gets_in() {
    let all: Vec<Arc<dyn TokenVerifier>> = vec![Arc::new(Two), Arc::new(Described)];
    let access = FaceAccess {
        tokens: Some(Arc::new(TokenVerifiers(all))),
        without_token: AnonymousAccess::Refused,
    };
    let served = Served::start(FaceOptions { access, ..FaceOptions::local() }).await;
    for (path, status, body) in [
        ("/.well-known/oauth-protected-resource", 200, r#"{"resource":""}"#),
        ("/.well-known/oauth-protected-resource/mcp", 200, r#"{"resource":"/mcp"}"#),
        ("/.well-known/oauth-protected-resource/nowhere", 404, ""),
        ("/.well-known/oauth-protected-resources", 401, ""),
    ] {
        let reply = get(served.address, path, &[]).await;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        assert!(body.is_empty() || reply.body == body, "{path}: {reply:?}");
    }
    for (path, token, status, challenge) in [
        ("/mcp", None, 401, Some(r#"Bearer resource_metadata="/mcp""#)),
        (
            "/mcp",
            Some("nonsense"),
            401,
            Some(r#"Bearer resource_metadata="/mcp", error="invalid_token""#),
        ),
        (
            "/mcp",
            Some("weak"),
            403,
            Some(r#"Bearer resource_metadata="/mcp", error="insufficient_scope""#),
        ),
        ("/mcp", Some("untold"), 503, None),
        ("/mcp", Some("for-mcp"), 200, None),
        ("/mcp", Some("token-of-bob"), 200, None),
        (
            "/mcp/one",
            Some("for-mcp"),
            401,
            Some(r#"Bearer realm="switchboard", error="invalid_token""#),
        ),
    ] {
        let token = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> = token.iter().map(|token| ("authorization", token.as_str())).collect();
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
        let reply = post(served.address, path, &headers, hello).await;
        assert_eq!(reply.status, status, "{path} {token:?}: {reply:?}");
        assert_eq!(reply.header("www-authenticate"), challenge, "{path} {token:?}");
    }
}

fn access(without_token: AnonymousAccess) -> FaceOptions {
    let access = FaceAccess { tokens: Some(Arc::new(Two)), without_token };
    FaceOptions { access, ..FaceOptions::local() }
}

/// Options under which every client needs a token.
pub(super) fn by_token() -> FaceOptions {
    access(AnonymousAccess::Refused)
}

/// Every path and method of the faces.
const EVERYWHERE: [(&str, &str); 11] = [
    ("GET", "/health"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp/one"),
    ("GET", "/sse"),
    ("POST", "/messages"),
    ("GET", "/ws"),
    ("OPTIONS", "/mcp"),
    ("GET", "/nowhere"),
];

/// Tested on every kind of request.
#[tokio::test]
async fn names_and_pages_of_others_are_refused_everywhere() {
    let served = Served::start(FaceOptions {
        hosts: vec!["hub.example".into()],
        origins: vec!["https://app.example".into()],
        ..access(AnonymousAccess::Refused)
    })
    .await;
    let ann = ("authorization", "Bearer token-of-ann");
    let own = format!("http://{}", served.address);
    let other_port = "http://127.0.0.1:6274";
    for (method, path) in EVERYWHERE {
        for (name, value, refused) in [
            ("host", "evil.example.com", true),
            ("host", "hub.example", false),
            ("origin", "http://evil.example.com", true),
            ("origin", "null", true),
            ("origin", "http://localhost:6274", true),
            ("origin", other_port, true),
            ("origin", own.as_str(), false),
            ("origin", "https://app.example", false),
        ] {
            if (method, path) == ("GET", "/sse") && !refused {
                continue; // a stream without an end
            }
            let reply = send(served.address, method, path, &[ann, (name, value)], "").await;
            assert_eq!(reply.status == 403, refused, "{method} {path} {name}: {value}: {reply:?}");
            let shared = reply.header("access-control-allow-origin");
            let expected = (name == "origin" && !refused).then_some(value);
            assert_eq!(shared, expected, "{method} {path} {name}: {value}");
        }
    }
    let metric = async |reason: &str| {
        let page = get(served.address, "/metrics", &[ann]).await.body;
        let line = format!("switchboard_face_refusals_total{{reason=\"{reason}\"}} ");
        page.lines().find_map(|found| found.strip_prefix(&line)).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!((metric("host").await, metric("origin").await), (11, 44));
}

#[tokio::test]
async fn a_page_may_ask_before_it_asks() {
    let origins = vec!["http://localhost:6274".to_owned()];
    let served = Served::start(FaceOptions { origins, ..access(AnonymousAccess::Refused) }).await;
    let asking = |origin| {
        [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type,mcp-param-region"),
        ]
    };
    let headers = asking("http://localhost:6274");
    let reply = send(served.address, "OPTIONS", "/mcp", &headers, "").await;
    assert_eq!(reply.status, 204, "{reply:?}");
    assert_eq!(reply.header("access-control-allow-headers"), Some("content-type,mcp-param-region"));
    assert!(reply.header("access-control-allow-methods").unwrap().contains("DELETE"));
    let exposed = reply.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("mcp-session-id"), "{exposed}");
    // Another port of this machine is another program.
    for origin in ["http://localhost:6275", "http://localhost", "https://localhost:6274"] {
        for path in ["/mcp", "/mcp/one", "/sse", "/messages", "/ws"] {
            let reply = send(served.address, "OPTIONS", path, &asking(origin), "").await;
            assert_eq!(reply.status, 403, "{origin} {path}: {reply:?}");
            assert_eq!(reply.header("access-control-allow-origin"), None, "{origin} {path}");
        }
    }
}

/// A proxy connects as its own user, for clients anywhere.
#[tokio::test]
async fn what_comes_through_a_proxy_needs_a_token() {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let ann = ("authorization", "Bearer token-of-ann");
    let start = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        Served::start(FaceOptions { hosts, ..access(AnonymousAccess::SameUser) })
    };
    let direct = start(&["localhost:80", "127.0.0.1"]).await;
    let proxied = start(&["hub.example"]).await;
    let own = proxied.address.to_string();
    for (served, header, status) in [
        (&direct, ("x-other", "1"), 200),
        (&direct, ("forwarded", "for=192.0.2.1"), 401),
        (&direct, ("via", "1.1 proxy"), 401),
        (&direct, ("x-forwarded-for", "192.0.2.1"), 401),
        (&direct, ("x-forwarded-host", "hub.example"), 401),
        (&direct, ("x-real-ip", "127.0.0.1"), 401),
        (&direct, ("cf-connecting-ip", "192.0.2.1"), 401),
        // Other machines can use the name, so a token is needed under any name.
        (&proxied, ("host", "hub.example"), 401),
        (&proxied, ("host", own.as_str()), 401),
        (&proxied, ("host", "localhost"), 401),
    ] {
        let reply = post(served.address, "/mcp", &[header], hello).await;
        assert_eq!(reply.status, status, "{header:?}: {reply:?}");
        let challenged = reply.header("www-authenticate").is_some();
        assert_eq!(challenged, status == 401, "{header:?}");
        assert_eq!(post(served.address, "/mcp", &[header, ann], hello).await.status, 200);
    }
    for (method, path) in [
        ("GET", "/metrics"),
        ("POST", "/mcp/one"),
        ("GET", "/sse"),
        ("POST", "/messages"),
        ("GET", "/ws"),
    ] {
        for (served, header) in
            [(&direct, ("x-forwarded-for", "192.0.2.1")), (&proxied, ("host", "localhost"))]
        {
            let reply = send(served.address, method, path, &[header], "").await;
            assert_eq!(reply.status, 401, "{method} {path} {header:?}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn tokens_say_who_it_is() {
    for (without_token, headers, status, principal) in [
        (AnonymousAccess::Refused, vec![], 401, None),
        (
            AnonymousAccess::Refused,
            vec![("authorization", "Bearer token-of-ann")],
            200,
            Some("user:ann"),
        ),
        (AnonymousAccess::Refused, vec![("authorization", "Bearer wrong")], 401, None),
        (AnonymousAccess::Refused, vec![("authorization", "Basic token-of-ann")], 401, None),
        (AnonymousAccess::SameUser, vec![], 200, Some("local")),
        (AnonymousAccess::SameUser, vec![("authorization", "Bearer wrong")], 401, None),
        (AnonymousAccess::Anyone, vec![], 200, Some("anyone")),
    ] {
        let served = Served::start(access(without_token)).await;
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
        let reply = post(served.address, "/mcp", &headers, hello).await;
        assert_eq!(reply.status, status, "{without_token:?} {headers:?}: {reply:?}");
        let openings = served.openings();
        assert_eq!(openings.first().map(|opening| &**opening.principal.id()), principal);
        let challenge = reply.header("www-authenticate");
        assert_eq!(challenge.is_some_and(|text| text.starts_with("Bearer ")), status == 401);
        assert_eq!(get(served.address, "/healthz", &[]).await.status, 200);
    }
}

#[tokio::test]
async fn a_session_is_of_one_principal() {
    let served = Served::start(access(AnonymousAccess::Refused)).await;
    let ann = ("authorization", "Bearer token-of-ann");
    let bob = ("authorization", "Bearer token-of-bob");
    let id = begin_session(served.address, "/mcp", &[ann]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (who, status) in [(bob, 404), (ann, 200)] {
        let headers = [who, ("mcp-session-id", id.as_str())];
        assert_eq!(post(served.address, "/mcp", &headers, list).await.status, status, "{who:?}");
    }
    let headers = [bob, ("mcp-session-id", id.as_str())];
    assert_eq!(send(served.address, "DELETE", "/mcp", &headers, "").await.status, 404);
}

#[tokio::test]
async fn who_asks_too_often_is_told_to_wait() {
    let limits = FaceLimits { rate: RequestRate::PerSecond(1), ..FaceLimits::default() };
    let served = Served::start(FaceOptions { limits, ..access(AnonymousAccess::Refused) }).await;
    let ann = [("authorization", "Bearer token-of-ann")];
    let mut statuses = Vec::new();
    while statuses.len() < 50 && !statuses.contains(&429) {
        statuses.push(get(served.address, "/metrics", &ann).await.status);
    }
    assert_eq!(statuses[..2], [200, 200]);
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    let bob = [("authorization", "Bearer token-of-bob")];
    assert_eq!(get(served.address, "/metrics", &bob).await.status, 200);
}

/// Each message of a WebSocket and each request of a batch counts.
#[tokio::test]
async fn every_message_counts() {
    let limits = FaceLimits { rate: RequestRate::PerSecond(2), ..FaceLimits::default() };
    let start = || Served::start(FaceOptions { limits, ..by_token() });
    let ping = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let batch = |count: usize| {
        let pings: Vec<_> = (0..count).map(ping).collect();
        format!("[{}]", pings.join(","))
    };
    let ann = ("authorization", "Bearer token-of-ann");

    let served = start().await;
    let mut socket = WebSocket::greeted(&served, &[ann]).await;
    let mut answers = Vec::new();
    for id in 0..50 {
        socket.send(&ping(id)).await;
        answers.push(socket.next().await);
    }
    let refused = answers.iter().filter(|answer| answer.contains("too many requests")).count();
    assert!(refused >= 40, "{refused} refused: {answers:?}");
    assert!(answers[49].contains(r#""id":49"#), "{}", answers[49]);
    let page = get(served.address, "/metrics", &[("authorization", "Bearer token-of-bob")]).await;
    let line = format!(r#"switchboard_face_refusals_total{{reason="rate"}} {refused}"#);
    assert!(page.body.contains(&line), "{}", page.body);

    let served = start().await;
    let mut socket = WebSocket::greeted(&served, &[ann]).await;
    socket.send(&batch(5)).await;
    assert!(socket.next().await.contains("too many requests"));

    let served = start().await;
    let id = begin_session(served.address, "/mcp", &[ann]).await;
    let known = [ann, ("mcp-session-id", id.as_str())];
    assert_eq!(post(served.address, "/mcp", &known, &batch(5)).await.status, 429);

    let served = start().await;
    let (_stream, place) = begin_sse(&served, &[ann]).await;
    assert_eq!(post(served.address, &place, &[ann], &batch(5)).await.status, 429);
}

/// An authority's certificate, and a server certificate of that authority.
fn certified() -> (Vec<u8>, TlsIdentity) {
    let authority = Authority::new();
    let pem = authority.server_pem();
    (authority.ca_pem(), TlsIdentity::from_pem(pem.clone(), pem))
}

#[tokio::test]
async fn faces_are_served_with_a_certificate() {
    let (authority, identity) = certified();
    let served = Served::start(FaceOptions { tls: Some(identity), ..FaceOptions::local() }).await;
    let tls = TlsOptions { extra_ca_pem: vec![authority], ..no_platform() };
    for transport in [Transport::Http, Transport::Sse, Transport::WebSocket] {
        let greeting = VersionNegotiation::Only(Version::LATEST_LEGACY);
        let target = transport.target(&served, &tls);
        let (client, _inbox) = soon(Client::connect(target, options(greeting))).await.unwrap();
        assert_eq!(client.server_facts().name().as_deref(), Some("fixture"), "{transport:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn a_certificate_that_is_none_is_told() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let identity = TlsIdentity::from_pem("nothing", "nothing");
    let options = FaceOptions { tls: Some(identity), ..FaceOptions::local() };
    let shutdown = tokio_util::sync::CancellationToken::new();
    let stage = Arc::<super::Stage>::default();
    let served = switchboard_gateway::face::serve(listener, stage, options, shutdown).await;
    assert_eq!(served.unwrap_err().to_string(), "the certificate's key cannot be read");
}
