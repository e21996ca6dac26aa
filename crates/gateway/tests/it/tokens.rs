//! Tests of tokens: their storage, and the effect of revoking one in use.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt as _, StreamExt as _};
use switchboard_gateway::face::{
    AnonymousAccess, FaceAccess, FaceOptions, FaceTimeouts, TokenVerifier as _,
};
use switchboard_gateway::tokens::{
    CreatedToken, NewToken, SharedTokens, StoredTokenVerifier, TokenStore, TokenStoreError,
};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{
    Message, client::IntoClientRequest as _, protocol::frame::coding::CloseCode,
};

use crate::face::Served;
use crate::face::raw::{begin, begin_session, get, post, read_until};
use switchboard_testkit::deadline::soon;

fn store() -> (TempDir, TokenStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = TokenStore::new(&folder.path().join("state"));
    (folder, store)
}

fn named(name: &str) -> NewToken {
    NewToken { name: Some(name.to_owned()), ..NewToken::default() }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn text(store: &TokenStore) -> String {
    fs::read_to_string(store.path()).unwrap()
}

#[test]
fn what_is_kept_is_private_and_is_not_the_secret() {
    let (folder, store) = store();
    let one = store.create(named("one"), 7).unwrap();
    let other = store.create(NewToken::default(), 8).unwrap();
    assert_eq!(other.token.name, other.token.id, "a name of its own");
    assert_ne!(one.secret, other.secret);
    let text = text(&store);
    assert!(text.contains(r#""name": "one""#), "{text}");
    for secret in [&one.secret, &other.secret] {
        assert!(!text.contains(secret.reveal().trim_start_matches("sb_")), "{text}");
    }
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(store.path()), mode(&folder.path().join("state"))), (0o600, 0o700));
    assert_eq!(store.list().unwrap(), [one.token, other.token]);
}

#[test]
fn names_that_can_be_told_apart() {
    let (_folder, store) = store();
    let first = store.create(named("laptop"), 1).unwrap().token;
    for (name, is_good) in [
        ("ci-2.main_x", true),
        ("laptop", false),
        (&*first.id, false),
        ("", false),
        ("-x", false),
        ("a b", false),
        ("a@b", false),
        ("é", false),
        (&*"x".repeat(65), false),
        (&*"x".repeat(64), true),
    ] {
        assert_eq!(store.create(named(name), 1).is_ok(), is_good, "{name:?}");
    }
    // A token created after a revoked one of this name has another principal.
    store.revoke(&first.id).unwrap();
    let second = store.create(named("laptop"), 2).unwrap().token;
    assert_ne!(first.principal(), second.principal());
    assert_eq!(store.revoke("laptop").unwrap(), second);
    assert!(matches!(store.revoke("laptop"), Err(TokenStoreError::NoSuch { .. })));
}

#[tokio::test]
async fn a_token_is_good_until_it_is_not() {
    let (_folder, store) = store();
    let checked = StoredTokenVerifier::new(store.clone());
    let lasting = store.create(named("lasting"), 1).unwrap();
    let over = NewToken { expires: Some(now() - 1), ..named("over") };
    let over = store.create(over, 1).unwrap();
    let later = NewToken { expires: Some(now() + 600), ..named("later") };
    let later = store.create(later, 1).unwrap();
    for (secret, expected) in [
        (lasting.secret.reveal(), Some(lasting.token.principal())),
        (later.secret.reveal(), Some(later.token.principal())),
        (over.secret.reveal(), None),
        (&lasting.token.id, None),
        ("lasting", None),
        ("sb_", None),
        ("", None),
    ] {
        assert_eq!(checked.admit(secret, "/mcp").await.ok(), expected);
    }
    store.revoke("lasting").unwrap();
    assert_eq!(checked.admit(lasting.secret.reveal(), "/mcp").await.ok(), None);
    assert!(checked.admit(later.secret.reveal(), "/mcp").await.ok().is_some(), "another one's end");
}

#[tokio::test]
async fn a_damaged_file_lets_nobody_in_and_is_kept() {
    let (_folder, store) = store();
    let made = store.create(named("one"), 1).unwrap();
    let checked = StoredTokenVerifier::new(store.clone());
    let good = text(&store);
    for damage in ["{", "[]", r#"{"version":2,"tokens":[]}"#, r#"{"version":1}"#, "\u{0}"] {
        fs::write(store.path(), damage).unwrap();
        assert_eq!(checked.admit(made.secret.reveal(), "/mcp").await.ok(), None, "{damage:?}");
        assert!(store.list().is_err(), "{damage:?}");
        assert!(store.create(named("two"), 2).is_err(), "{damage:?}");
        assert!(store.revoke("one").is_err(), "{damage:?}");
        assert_eq!(text(&store), damage, "what was there is lost");
    }
    fs::write(store.path(), good).unwrap();
    assert!(checked.admit(made.secret.reveal(), "/mcp").await.ok().is_some());
}

#[tokio::test]
async fn its_last_use_is_known() {
    let (_folder, store) = store();
    let made = store.create(named("one"), 1).unwrap();
    let checked = StoredTokenVerifier::new(store.clone());
    checked.admit(made.secret.reveal(), "/mcp").await.ok().unwrap();
    soon(async {
        while store.list().unwrap()[0].used.is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert!(store.list().unwrap()[0].used.unwrap() >= now() - 60);
    assert!(checked.admit(made.secret.reveal(), "/mcp").await.ok().is_some());
}

/// Faces that require a token.
async fn guarded(store: &TokenStore, times: FaceTimeouts) -> Served {
    let tokens = Arc::new(StoredTokenVerifier::new(store.clone()));
    let access = FaceAccess { tokens: Some(tokens), without_token: AnonymousAccess::Refused };
    Served::start(FaceOptions { access, times, ..FaceOptions::local() }).await
}

#[tokio::test]
async fn a_session_ends_for_whoever_loses_its_token() {
    let (_folder, store) = store();
    let (ann, bob) =
        (store.create(named("ann"), 1).unwrap(), store.create(named("bob"), 1).unwrap());
    let times = FaceTimeouts { keep_alive: Duration::from_millis(20), ..FaceTimeouts::default() };
    let served = guarded(&store, times).await;
    let bearer = |secret: &str| format!("Bearer {secret}");
    let (ann_says, bob_says) = (bearer(ann.secret.reveal()), bearer(bob.secret.reveal()));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let ask = async |says: &str, id: &str| {
        let headers = [("authorization", says), ("mcp-session-id", id)];
        post(served.address, "/mcp", &headers, list).await.status
    };
    assert_eq!(post(served.address, "/mcp", &[], list).await.status, 401);
    let ann_id = begin_session(served.address, "/mcp", &[("authorization", &ann_says)]).await;
    let bob_id = begin_session(served.address, "/mcp", &[("authorization", &bob_says)]).await;
    assert_eq!((ask(&ann_says, &ann_id).await, ask(&bob_says, &bob_id).await), (200, 200));
    store.revoke("ann").unwrap();
    assert_eq!((ask(&ann_says, &ann_id).await, ask(&bob_says, &bob_id).await), (401, 200));
    let principals: Vec<_> =
        served.openings().into_iter().map(|opening| opening.principal).collect();
    assert_eq!(principals, [ann.token.principal(), bob.token.principal()]);
}

/// A request to listen to changes, of a client without a session.
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Waits for something. Returns how late this machine was with a timer meanwhile, at worst.
async fn with_lateness<T>(what: impl Future<Output = T>) -> (T, Duration) {
    tokio::pin!(what);
    let mut worst = Duration::ZERO;
    loop {
        let due = Instant::now() + Duration::from_millis(10);
        tokio::select! {
            done = &mut what => return (done, worst),
            () = tokio::time::sleep_until(due) => worst = worst.max(due.elapsed()),
        }
    }
}

/// Every kind of stream: both of Streamable HTTP (a session's, and a modern client's), HTTP+SSE, WebSocket.
#[tokio::test]
async fn what_is_open_with_a_token_ends_with_it_within_a_second() {
    let (_folder, store) = store();
    let made = store.create(named("ann"), 1).unwrap();
    // The token is looked up far more often than the stream is kept alive.
    let served = guarded(&store, FaceTimeouts::default()).await;
    let says = format!("Bearer {}", made.secret.reveal());
    let headers = [("authorization", &*says), ("accept", "text/event-stream")];
    let mut events = begin(served.address, "GET", "/sse", &headers, "").await;
    read_until(&mut events, "event: endpoint").await;
    let url = format!("ws://{}/ws", served.address);
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("authorization", says.parse().unwrap());
    let stream = TcpStream::connect(served.address).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    socket.send(Message::text(ping)).await.unwrap();
    let answer = async |socket: &mut tokio_tungstenite::WebSocketStream<TcpStream>| loop {
        match soon(socket.next()).await.unwrap().unwrap() {
            Message::Ping(_) | Message::Pong(_) => {}
            message => return message,
        }
    };
    assert!(matches!(answer(&mut socket).await, Message::Text(_)));
    let id = begin_session(served.address, "/mcp", &headers[..1]).await;
    let of_session = [headers[0], headers[1], ("mcp-session-id", &*id)];
    let mut stream = begin(served.address, "GET", "/mcp", &of_session, "").await;
    read_until(&mut stream, "200 OK").await;
    let modern = [
        headers[0],
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let mut listening = begin(served.address, "POST", "/mcp", &modern, LISTEN).await;
    read_until(&mut listening, "notifications/subscriptions/acknowledged").await;

    store.revoke("ann").unwrap();
    let revoked = Instant::now();
    let closed = async {
        let Message::Close(Some(closed)) = answer(&mut socket).await else {
            panic!("a message for nobody")
        };
        assert_eq!(closed.code, CloseCode::Policy);
        revoked.elapsed()
    };
    // The last chunk of a stream, which is its end.
    let over = async |stream: &mut TcpStream| {
        read_until(stream, "0\r\n\r\n").await;
        revoked.elapsed()
    };
    let all =
        async { tokio::join!(closed, over(&mut events), over(&mut stream), over(&mut listening)) };
    let (took, lateness) = with_lateness(all).await;
    let most = Duration::from_secs(1) + lateness;
    let took = [took.0, took.1, took.2, took.3];
    assert!(took.iter().all(|took| *took <= most), "{took:?}, on a machine {lateness:?} late");
    assert_eq!(get(served.address, "/metrics", &[("authorization", &says)]).await.status, 401);
}

#[tokio::test]
async fn tokens_of_one_user_are_one_principal_and_groups_are_those_of_the_token() {
    let (_folder, store) = store();
    let create = |user: Option<&str>, groups: &[&str]| {
        let user = user.map(str::to_owned);
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        store.create(NewToken { user, groups, ..NewToken::default() }, 1)
    };
    let [laptop, desktop, outside] = [&["dev", "ops"][..], &["ops", "dev"], &["dev"]]
        .map(|groups| create(Some("ada"), groups).unwrap());
    let service = create(None, &["dev"]).unwrap();
    assert_eq!(laptop.token.principal(), desktop.token.principal());
    assert_eq!(&**outside.token.principal().id(), "user:ada");
    assert!(!outside.token.principal().is_in_group("ops"));
    assert_eq!(&**service.token.principal().id(), format!("{0}@{0}", service.token.id));
    for bad in ["", "a b", "-x", "a\nb", "\u{202e}a", &"x".repeat(129)] {
        let refused = create(Some(bad), &[]).and(create(None, &[]));
        assert!(matches!(refused, Err(TokenStoreError::Person { .. })), "{bad:?}");
        assert!(matches!(create(None, &[bad]), Err(TokenStoreError::Person { .. })), "{bad:?}");
    }

    // A session is used with every token of its user and groups, and with no other.
    let verifier = StoredTokenVerifier::new(store.clone());
    let access =
        FaceAccess { tokens: Some(Arc::new(verifier)), without_token: AnonymousAccess::Refused };
    let served = Served::start(FaceOptions { access, ..FaceOptions::local() }).await;
    let bearer = |created: &CreatedToken| format!("Bearer {}", created.secret.reveal());
    let begun = bearer(&laptop);
    let id = begin_session(served.address, "/mcp", &[("authorization", &begun)]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (created, status) in [(&laptop, 200), (&desktop, 200), (&outside, 404), (&service, 404)] {
        let says = bearer(created);
        let headers = [("authorization", &*says), ("mcp-session-id", &*id)];
        let reply = post(served.address, "/mcp", &headers, list).await;
        assert_eq!(reply.status, status, "{:?}", created.token);
    }
}

/// Merges a file with what all know, as a replica does: what it has to tell becomes known.
fn share(store: &TokenStore, known: &mut SharedTokens) {
    for token in store.merge(known).unwrap() {
        // As it travels.
        let text = serde_json::to_string(&token).unwrap();
        let token: switchboard_gateway::tokens::SharedToken = serde_json::from_str(&text).unwrap();
        known.insert(token.id().to_owned(), token);
    }
    assert_eq!(store.merge(known).unwrap(), [], "then nothing is left to tell");
}

#[tokio::test]
async fn tokens_of_two_machines_are_merged_and_a_revocation_is_for_good() {
    let ((_one, one), (_two, two)) = (store(), store());
    let mut known = SharedTokens::new();
    let mine = one.create(named("mine"), 7).unwrap();
    let theirs = two.create(NewToken { user: Some("ann".into()), ..named("theirs") }, 6).unwrap();
    let admits = async |store: &TokenStore, created: &CreatedToken| {
        let verifier = StoredTokenVerifier::new(store.clone());
        verifier.admit(created.secret.reveal(), "/mcp").await.is_ok()
    };
    for store in [&one, &two, &one] {
        share(store, &mut known);
    }
    for store in [&one, &two] {
        assert!(admits(store, &mine).await && admits(store, &theirs).await);
        let names: Vec<_> = store.list().unwrap().into_iter().map(|token| token.name).collect();
        assert_eq!(names, ["theirs", "mine"], "in order of creation");
    }
    let before = known.clone();
    two.revoke("mine").unwrap();
    for store in [&two, &one] {
        share(store, &mut known);
    }
    assert!(!admits(&one, &mine).await && admits(&one, &theirs).await);
    // What all know is lost, or shown as it was before: each machine remembers what was revoked.
    for mut shown in [before, SharedTokens::new()] {
        for store in [&one, &two, &one] {
            share(store, &mut shown);
        }
        assert!(!admits(&one, &mine).await && !admits(&two, &mine).await);
        assert!(shown[&mine.token.id].is_revoked() && !shown[&theirs.token.id].is_revoked());
    }
    let unchanged = text(&one);
    one.merge(&known).unwrap();
    assert_eq!(text(&one), unchanged, "nothing new is not written");
}
