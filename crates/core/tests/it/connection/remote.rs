//! Tests of connections to servers behind a URL, over real sockets, on the real clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use http::HeaderMap;
use switchboard_config::{Entry, RemoteTransport, TlsFiles, Transport};
use switchboard_core::connection::{
    Connection, ConnectionContext, ConnectionError, ConnectionSpec, ConnectionState,
    ConnectionTarget, ConnectionTiming, LiveSession,
};
use switchboard_process::ProcessGuard;
use switchboard_testkit::{
    face::StreamableFace,
    fixture::Fixture,
    http::{Authority, ClientCertificate, Reply, Scripted as Http},
    scripted::Scripted,
};
use switchboard_wire::{
    Era, Version,
    client::{CallRequest, HttpTarget, Implementation, ServerTarget},
    http::{
        ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, EndpointOptions,
        HttpError, HttpPool, ProxySettings, RequestLine, SignInRevision,
    },
    json::Raw,
};

use super::bench::{Heard, timing};

/// Nothing here takes half a minute.
async fn bounded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("the test hangs")
}

fn shared() -> Arc<ConnectionContext> {
    let client = Implementation { name: "test".into(), version: "1".into() };
    let timing =
        ConnectionTiming { first_pause: Duration::from_millis(20), retries: 2, ..timing() };
    let mut shared = ConnectionContext::new(client, ProcessGuard::none(), timing);
    shared.http.proxies = ProxySettings::Off;
    Arc::new(shared)
}

fn spec(remote: RemoteTransport) -> ConnectionSpec {
    let mut spec = super::bench::spec("server", &Scripted::new([]));
    spec.reach = ConnectionTarget::Entry(Box::new(Entry::new(Transport::Http(remote))));
    spec
}

fn at(url: &str) -> ConnectionSpec {
    spec(RemoteTransport { url: url.to_owned(), ..RemoteTransport::default() })
}

fn start(spec: ConnectionSpec, shared: Arc<ConnectionContext>) -> Arc<Connection> {
    Connection::start(spec, shared, Arc::new(Heard::new()))
}

/// The state that counts: connected, or failed for good or three times.
async fn settled(connection: &Connection) -> ConnectionState {
    let so = |state: &ConnectionState| match state {
        ConnectionState::Pending(_) => false,
        ConnectionState::Failed(failed) => failed.retry_at.is_none() || failed.number == 3,
        _ => true,
    };
    bounded(connection.watch().wait_for(so)).await.unwrap().clone()
}

/// A face, and a connection that takes it for a legacy server because it once was one.
async fn legacy() -> (StreamableFace, Arc<Connection>) {
    let face = StreamableFace::start(Arc::new(Fixture::default())).await;
    let shared = shared();
    let url = face.url().parse().unwrap();
    let (pool, options) = (HttpPool::new(&shared.http).unwrap(), EndpointOptions::default());
    let key = ServerTarget::Http(HttpTarget { url, pool, options }).key();
    shared.eras.put(&key, Version::LATEST_LEGACY);
    let connection = start(at(&face.url()), shared);
    (face, connection)
}

async fn echo(live: &LiveSession) {
    let call = CallRequest::call_tool("echo", &Raw::empty_object());
    bounded(live.client.call(call).result()).await.unwrap();
}

#[tokio::test]
async fn stopping_deletes_the_session_at_the_server() {
    let (face, connection) = legacy().await;
    let live = bounded(connection.ready()).await.unwrap();
    assert_eq!(live.facts.era(), Era::Legacy);
    assert_eq!(face.sessions(), (1, 1));
    bounded(connection.stop()).await;
    assert_eq!(face.sessions(), (0, 1));
}

/// A session that the server forgets is begun again beneath the connection, which stays connected.
#[tokio::test]
async fn an_expired_session_is_no_lost_connection() {
    let (face, connection) = legacy().await;
    let live = bounded(connection.ready()).await.unwrap();
    face.expire();
    echo(&live).await;
    assert_eq!(face.sessions(), (1, 2));
    assert_eq!(connection.stats().connects, 1);
    assert_eq!(connection.state().word(), "connected");
    bounded(connection.stop()).await;
    assert_eq!(face.sessions(), (0, 2));
}

/// By hand, what was known of a server's era does not count.
#[tokio::test]
async fn reconnecting_finds_out_the_era_anew() {
    let (_face, connection) = legacy().await;
    let first = bounded(connection.ready()).await.unwrap();
    connection.reconnect();
    let so =
        |state: &ConnectionState| state.live().is_some_and(|live| live.number() > first.number());
    let state = bounded(connection.watch().wait_for(so)).await.unwrap().clone();
    assert_eq!(state.live().unwrap().facts.era(), Era::Modern);
    bounded(connection.stop()).await;
}

#[tokio::test]
async fn a_refusal_asks_for_a_sign_in() {
    let refuse = async |_| Reply::empty(401).header("www-authenticate", r#"Bearer realm="x""#);
    let server = Http::start(refuse).await;
    let connection = start(at(&server.url("/mcp")), shared());
    let ConnectionState::NeedsAuth(needs) = settled(&connection).await else {
        panic!("{connection:?}")
    };
    assert_eq!(needs.challenges, [r#"Bearer realm="x""#]);
    bounded(connection.stop()).await;
}

/// The handshake is for everybody, the lists are not: the session is of no use, and nobody is told otherwise.
#[tokio::test]
async fn a_list_that_is_refused_asks_for_a_sign_in() {
    let server = Http::start(async |request: switchboard_testkit::http::Request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match body["method"].as_str() {
            Some("initialize") => {
                let result = serde_json::json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "half open", "version": "1" },
                });
                let answer =
                    serde_json::json!({ "jsonrpc": "2.0", "id": body["id"], "result": result });
                Reply::json(200, answer.to_string())
            }
            Some("notifications/initialized") => Reply::empty(202),
            Some("tools/list") => Reply::empty(401).header("www-authenticate", "Bearer"),
            Some(_) => Reply::empty(400),
            None => Reply::empty(405),
        }
    })
    .await;
    let heard = Arc::new(Heard::new());
    let connection = Connection::start(at(&server.url("/mcp")), shared(), heard.clone());
    let needs_auth = |state: &ConnectionState| matches!(state, ConnectionState::NeedsAuth(_));
    bounded(connection.watch().wait_for(needs_auth)).await.unwrap();
    let words: Vec<_> = heard.take().iter().map(|line| line[4..].to_owned()).collect();
    assert_eq!(words, ["pending", "connected", "needs-auth"]);
    bounded(connection.stop()).await;
}

/// Credentials that are never good enough, until somebody signs in; then there is something to try.
struct Nobody(tokio::sync::Notify);

impl CredentialProvider for Nobody {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(std::future::ready(ChallengeAction::SignIn { reason: "nobody".into() }))
    }

    fn sign_in_changed(&self, _: SignInRevision) -> BoxFuture<'_, ()> {
        Box::pin(self.0.notified())
    }
}

/// A quarter of an hour is not waited for once somebody has signed in.
#[tokio::test]
async fn a_sign_in_elsewhere_is_noticed() {
    let server = Http::start(async |_| Reply::empty(401)).await;
    let nobody = Arc::new(Nobody(tokio::sync::Notify::new()));
    let spec = ConnectionSpec { credentials: nobody.clone(), ..at(&server.url("/mcp")) };
    let connection = start(spec, shared());
    let ConnectionState::NeedsAuth(first) = settled(&connection).await else {
        panic!("{connection:?}")
    };
    nobody.0.notify_one();
    let again = |state: &ConnectionState| matches!(state, ConnectionState::NeedsAuth(next) if next.number > first.number);
    bounded(connection.watch().wait_for(again)).await.unwrap();
    bounded(connection.stop()).await;
}

/// Credentials that nothing asks for, and a sign-in that changes without a word.
#[derive(Default)]
struct SignIns(AtomicU64);

impl CredentialProvider for SignIns {
    fn headers<'a>(
        &'a self,
        _: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(std::future::ready(Ok(HeaderMap::new())))
    }

    fn on_challenge<'a>(&'a self, _: &'a CredentialChallenge) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(std::future::ready(ChallengeAction::GiveUp))
    }

    fn sign_in_revision(&self) -> BoxFuture<'_, SignInRevision> {
        Box::pin(std::future::ready(SignInRevision(self.0.load(Ordering::Relaxed))))
    }
}

/// A server that knows a client by its session would let anyone in with the session of a person who has signed out.
#[tokio::test]
async fn a_session_is_not_used_under_another_sign_in() {
    let face = StreamableFace::start(Arc::new(Fixture::default())).await;
    let shared = shared();
    let url = face.url().parse().unwrap();
    let (pool, options) = (HttpPool::new(&shared.http).unwrap(), EndpointOptions::default());
    let key = ServerTarget::Http(HttpTarget { url, pool, options }).key();
    shared.eras.put(&key, Version::LATEST_LEGACY);
    let sign_ins = Arc::new(SignIns::default());
    let connection =
        start(ConnectionSpec { credentials: sign_ins.clone(), ..at(&face.url()) }, shared);
    for made in 1..4 {
        let first = bounded(connection.ready()).await.unwrap();
        let again = bounded(connection.ready()).await.unwrap();
        assert_eq!((first.number(), face.sessions()), (again.number(), (1, made)));
        sign_ins.0.fetch_add(1, Ordering::Relaxed);
    }
    bounded(connection.stop()).await;
}

/// Nobody listens there: it is tried again.
#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again() {
    let server = Http::start(async |_| Reply::empty(500)).await;
    let url = server.url("/mcp");
    drop(server);
    let connection = start(at(&url), shared());
    let ConnectionState::Failed(failed) = settled(&connection).await else {
        panic!("{connection:?}")
    };
    assert!(failed.retries == 3 && failed.retry_at.is_some(), "{failed:?}");
}

#[tokio::test]
async fn an_entry_that_cannot_be_sent_is_not_tried_again() {
    let check = async |remote: RemoteTransport, so: fn(&ConnectionError) -> bool| {
        let connection = start(spec(remote), shared());
        let ConnectionState::Failed(failed) = settled(&connection).await else {
            panic!("{connection:?}")
        };
        assert!(failed.number == 1 && so(&failed.error), "{failed:?}");
    };
    let url = || "http://127.0.0.1:9/mcp".to_owned();
    check(RemoteTransport { url: "nowhere".into(), ..RemoteTransport::default() }, |error| {
        matches!(error, ConnectionError::Url(_))
    })
    .await;
    let headers = [("x-secret".to_owned(), "a\nb".to_owned())].into();
    check(
        RemoteTransport { url: url(), headers, ..RemoteTransport::default() },
        |error| matches!(error, ConnectionError::Header { name } if name == "x-secret"),
    )
    .await;
}

/// What a server is told of us.
#[tokio::test]
async fn a_server_learns_what_we_can_do() {
    let (face, connection) = legacy().await;
    bounded(connection.ready()).await.unwrap();
    let requests = face.requests();
    let greeting = requests.iter().find(|request| request.text().contains("initialize")).unwrap();
    assert!(greeting.text().contains(r#""capabilities":{"elicitation":{"form":{},"url":{}}}"#));
    bounded(connection.stop()).await;

    let face = StreamableFace::start(Arc::new(Fixture::default())).await;
    let mut spec = at(&face.url());
    spec.class.sampling = true;
    spec.root = Some("/a/project".into());
    let connection = start(spec, shared());
    bounded(connection.ready()).await.unwrap();
    let requests = face.requests();
    let declared = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;
    assert!(requests[0].text().contains(declared), "{}", requests[0].text());
    bounded(connection.stop()).await;
}

/// A way to reach a server.
type Kind = fn(RemoteTransport) -> Transport;

/// Answers what a server of the modern era is asked first, and nothing else.
async fn modern(request: switchboard_testkit::http::Request) -> Reply {
    let Ok(asked) = serde_json::from_slice::<serde_json::Value>(&request.body) else {
        return Reply::empty(405);
    };
    let result = serde_json::json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    let answer = serde_json::json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    Reply::json(200, answer.to_string())
}

/// Whichever way a server is reached, it sees the certificate of its entry; without one it sees nothing.
#[tokio::test]
async fn a_certificate_is_shown_to_a_server_that_demands_one() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let pem = String::from_utf8(authority.client_pem()).unwrap();
    let at = pem.find("-----BEGIN PRIVATE").unwrap();
    for (name, text) in
        [("both.pem", pem.as_str()), ("cert.pem", &pem[..at]), ("key.pem", &pem[at..])]
    {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("ca.pem"), authority.ca_pem()).unwrap();
    let tls = |cert: Option<&str>, key: Option<&str>| {
        let named = |name: &str| name.to_owned();
        let (cert_file, key_file) = (cert.map(named), key.map(named));
        Some(TlsFiles { cert_file, key_file, ca_file: Some("ca.pem".into()) })
    };
    let kinds: [(Kind, &str); 3] =
        [(Transport::Http, "https"), (Transport::Sse, "https"), (Transport::Ws, "wss")];
    for (kind, scheme) in kinds {
        for (tls, seen) in [
            (tls(Some("both.pem"), None), true),
            (tls(Some("cert.pem"), Some("key.pem")), true),
            (tls(None, None), false),
        ] {
            let config = authority.server(ClientCertificate::Required, &["http/1.1"]);
            let server = Http::start_tls(config, modern).await;
            let url = format!("{scheme}://{}/mcp", server.addr());
            let entry =
                Entry::new(kind(RemoteTransport { url, tls, ..RemoteTransport::default() }));
            let mut spec = super::bench::spec("server", &Scripted::new([]));
            spec.working_dir = folder.path().to_owned();
            spec.reach = ConnectionTarget::Entry(Box::new(entry.clone()));
            let connection = start(spec, shared());
            let state = settled(&connection).await;
            assert_eq!(!server.requests().is_empty(), seen, "{entry:?}: {state:?}");
            let is_http = matches!(entry.transport, Transport::Http(_));
            assert_eq!(state.live().is_some(), seen && is_http, "{entry:?}: {state:?}");
            bounded(connection.stop()).await;
        }
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_there_is_named() {
    let tls = Some(TlsFiles { cert_file: Some("/nowhere/me.pem".into()), ..TlsFiles::default() });
    let url = "https://127.0.0.1:9/mcp".to_owned();
    let connection =
        start(spec(RemoteTransport { url, tls, ..RemoteTransport::default() }), shared());
    let ConnectionState::Failed(failed) = settled(&connection).await else {
        panic!("{connection:?}")
    };
    let ConnectionError::Wire(switchboard_wire::Error::Http(error)) = &failed.error else {
        panic!("{failed:?}")
    };
    let HttpError::Setup { source, .. } = &**error else { panic!("{error:?}") };
    assert!(source.to_string().starts_with("/nowhere/me.pem: "), "{source}");
}
