//! Tests of faces that answer for the same clients, as replicas in one process.

use std::collections::HashMap;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use switchboard_gateway::face::{
    FaceOptions, RequestRate,
    replicas::{
        BegunSession, RelayedRequest, RelayedResponse, ReplicaError, ReplicaEvent, ReplicaGroup,
        ReplicaRelay, ReplicaTag, SessionNotice, SessionState, SettingsEdit, SharedSession,
        SharedSessions,
    },
};
use tokio::sync::{mpsc, oneshot};

use super::{
    Served,
    raw::{begin, begin_session, call, get, post, read_until, send},
    shared_sessions, soon,
};

/// A replica that takes every request and breaks off before its answer.
const BREAKING_REPLICA: &str = "eeeeeeeeeeee";

type Events = mpsc::Sender<ReplicaEvent>;

/// What replicas in one process share.
#[derive(Default)]
struct InProcess {
    sessions: Mutex<HashMap<String, KnownSession>>,
    replicas: Mutex<HashMap<ReplicaTag, Events>>,
    next: AtomicU64,
    /// Whether nothing can be written.
    is_away: AtomicBool,
}

struct KnownSession {
    owner: String,
    client: String,
    state: SessionState,
}

/// One of the replicas.
struct Member {
    shared: Arc<InProcess>,
    tag: ReplicaTag,
}

// === impl InProcess ===

impl InProcess {
    fn join(self: &Arc<Self>) -> ReplicaGroup {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let tag: ReplicaTag = format!("{number:012x}").parse().unwrap();
        let (sender, events) = mpsc::channel(64);
        self.replicas.lock().insert(tag, sender);
        let member = Arc::new(Member { shared: Arc::clone(self), tag });
        let events = Arc::new(Mutex::new(Some(events)));
        let members = Arc::new(AtomicUsize::new(1));
        ReplicaGroup { tag, sessions: member.clone(), relay: member, members, events }
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut SessionState)) {
        let mut sessions = self.sessions.lock();
        let session = sessions.get_mut(name).unwrap();
        change(&mut session.state);
        session.state.version += 1;
        let state = session.state.clone();
        for replica in self.replicas.lock().values() {
            let event = ReplicaEvent::Changed { name: name.to_owned(), state: state.clone() };
            replica.try_send(event).ok();
        }
    }
}

// === impl Member ===

impl SharedSessions for Member {
    fn begin<'a>(
        &'a self,
        owner: &'a str,
        client: &'a str,
    ) -> BoxFuture<'a, Result<BegunSession, ReplicaError>> {
        let id = format!("session-{}", self.shared.next.fetch_add(1, Ordering::Relaxed));
        let (owner, client) = (owner.to_owned(), client.to_owned());
        let known = KnownSession { owner, client, state: SessionState::default() };
        self.shared.sessions.lock().insert(id.clone(), known);
        Box::pin(async move { Ok(BegunSession { name: id.clone(), id }) })
    }

    fn find<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SharedSession>, ReplicaError>> {
        let sessions = self.shared.sessions.lock();
        let found = sessions.get(id).filter(|known| known.owner == owner && !known.state.ended);
        let found = found.map(|known| SharedSession {
            name: id.to_owned(),
            client: known.client.clone(),
            state: known.state.clone(),
        });
        Box::pin(async move { Ok(found) })
    }

    fn state<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SessionState, ReplicaError>> {
        let state = self.shared.sessions.lock()[name].state.clone();
        Box::pin(async move { Ok(state) })
    }

    fn change<'a>(
        &'a self,
        name: &'a str,
        edit: SettingsEdit,
    ) -> BoxFuture<'a, Result<(), ReplicaError>> {
        if self.shared.is_away.load(Ordering::Relaxed) {
            let error = ReplicaError::Unreachable("NATS is away".into());
            return Box::pin(async { Err(error) });
        }
        self.shared.change(name, |state| edit.apply(&mut state.settings));
        Box::pin(async { Ok(()) })
    }

    fn end<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ReplicaError>> {
        self.shared.change(name, |state| state.ended = true);
        Box::pin(async { Ok(()) })
    }
}

impl ReplicaRelay for Member {
    fn problem(&self) -> Option<String> {
        None
    }

    fn relay(
        &self,
        to: ReplicaTag,
        request: RelayedRequest,
    ) -> BoxFuture<'_, Result<RelayedResponse, ReplicaError>> {
        let replica = self.shared.replicas.lock().get(&to).cloned();
        Box::pin(async move {
            if to.to_string() == BREAKING_REPLICA {
                return Err(ReplicaError::Interrupted("it broke off".into()));
            }
            let (reply, answered) = oneshot::channel();
            let replica = replica.ok_or(ReplicaError::Gone)?;
            let sent = replica.send(ReplicaEvent::Request(request, reply)).await;
            sent.map_err(|_| ReplicaError::Gone)?;
            answered.await.map_err(|_| ReplicaError::Gone)
        })
    }

    fn announce(&self, notice: SessionNotice) -> BoxFuture<'_, Result<(), ReplicaError>> {
        for (tag, replica) in &*self.shared.replicas.lock() {
            if *tag != self.tag {
                replica.try_send(ReplicaEvent::Notice(notice.clone())).ok();
            }
        }
        Box::pin(async { Ok(()) })
    }
}

/// Faces that answer for the same clients.
async fn served<const COUNT: usize>() -> [Served; COUNT] {
    served_over(&Arc::default()).await
}

async fn served_over<const COUNT: usize>(shared: &Arc<InProcess>) -> [Served; COUNT] {
    let mut served = Vec::new();
    for _ in 0..COUNT {
        let replicas = Some(shared.join());
        served.push(Served::start(FaceOptions { replicas, ..FaceOptions::local() }).await);
    }
    served.try_into().unwrap_or_else(|_| panic!("as many as were started"))
}

#[tokio::test]
async fn sessions_of_one_process_keep_the_contract() {
    let shared = Arc::<InProcess>::default();
    let (one, other) = (shared.join(), shared.join());
    shared_sessions::check(&*one.sessions, &*other.sessions).await;
}

#[tokio::test]
async fn a_session_is_opened_once_where_it_was_not_begun() {
    let [one, other] = served().await;
    let id = begin_session(one.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let calls = (0..8).map(|_| post(other.address, "/mcp", &known, list));
    for reply in futures_util::future::join_all(calls).await {
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    assert_eq!(other.openings().len(), 1, "of eight requests at once, one opens it");
    assert_eq!(send(other.address, "DELETE", "/mcp", &known, "").await.status, 200);
    one.until(r#"sessions{transport="http"}"#, 0).await;
    for served in [&one, &other] {
        assert_eq!(post(served.address, "/mcp", &known, list).await.status, 404);
    }
}

#[tokio::test]
async fn a_call_is_cancelled_where_it_runs() {
    let [one, other] = served().await;
    let id = begin_session(one.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let usual = [known[0], ("content-type", "application/json")];
    let _stream = begin(one.address, "POST", "/mcp", &usual, &call(5, "hang", "{}")).await;
    post(one.address, "/mcp", &known, &call(6, "await_hanging", "{}")).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    assert_eq!(post(other.address, "/mcp", &known, cancel).await.status, 202);
    soon(post(one.address, "/mcp", &known, &call(7, "await_dropped", "{}"))).await;
}

#[tokio::test]
async fn a_stream_is_resumed_where_its_events_are() {
    let [one, other] = served().await;
    let id = begin_session(one.address, "/mcp", &[]).await;
    let known = ("mcp-session-id", id.as_str());
    let usual = [
        known,
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let mut stream = begin(one.address, "POST", "/mcp", &usual, &call(5, "ask", "{}")).await;
    let text = read_until(&mut stream, "elicitation/create").await;
    drop(stream);
    let asked = text.split("\"id\":").nth(1).unwrap().split(',').next().unwrap();
    let last = text.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"action":"accept"}}}}"#);
    assert_eq!(post(other.address, "/mcp", &[known], &answer).await.status, 202);
    let resumed = get(other.address, "/mcp", &[known, ("last-event-id", last)]).await;
    assert!(resumed.body.contains(r#""said":{"who":{"action":"accept"}}"#), "{resumed:?}");
    let of_gone = last.replace(last.split('-').next().unwrap(), "ffffffffffff");
    let told = get(other.address, "/mcp", &[known, ("last-event-id", &of_gone)]).await;
    assert!(told.body.contains(r#""id":5,"error""#), "{told:?}");
    let unknown = [known, ("last-event-id", "ffffffffffff-9-1")];
    assert_eq!(get(other.address, "/mcp", &unknown).await.status, 400);
}

#[tokio::test]
async fn a_setting_that_cannot_be_shared_is_refused_and_undone() {
    let shared = Arc::<InProcess>::default();
    let [one] = served_over(&shared).await;
    let id = begin_session(one.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let ask = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{params}}}"#)
    };
    let subscribe = ask("resources/subscribe", r#"{"uri":"a:b"}"#);
    let level = ask("logging/setLevel", r#"{"level":"error"}"#);
    let logged = async || post(one.address, "/mcp", &known, &call(4, "log", "{}")).await.body;
    assert!(logged().await.contains(r#""level":"info""#));
    shared.is_away.store(true, Ordering::Relaxed);
    for request in [&level, &subscribe] {
        let refused = post(one.address, "/mcp", &known, request).await;
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.body.contains(r#""id":3"#), "{refused:?}");
        assert!(refused.body.contains("NATS is away"), "{refused:?}");
    }
    assert!(logged().await.contains(r#""level":"info""#), "the level is as it was");
    shared.is_away.store(false, Ordering::Relaxed);
    for request in [&level, &subscribe] {
        let set = post(one.address, "/mcp", &known, request).await;
        assert!(set.status == 200 && !set.body.contains("error"), "{set:?}");
    }
    assert!(!logged().await.contains(r#""level":"info""#));
    let state = shared.sessions.lock()[&id].state.clone();
    assert_eq!(
        (state.version, state.settings.subscriptions.len()),
        (2, 1),
        "each was written once"
    );
}

#[tokio::test]
async fn a_replica_that_breaks_off_may_have_executed_the_call() {
    let [one] = served().await;
    let id = begin_session(one.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":"{BREAKING_REPLICA}-1","result":{{"action":"accept"}}}}"#
    );
    let told = post(one.address, "/mcp", &known, &answer).await;
    assert!(told.status == 400 && told.body.contains("execution is unknown"), "{told:?}");
    let last = format!("{BREAKING_REPLICA}-1-1");
    let resumed = get(one.address, "/mcp", &[known[0], ("last-event-id", &last)]).await;
    assert_eq!(resumed.status, 503, "reading executes nothing: {resumed:?}");
}

#[tokio::test]
async fn each_replica_grants_its_share_of_the_rate() {
    let group = Arc::<InProcess>::default().join();
    group.members.store(40, Ordering::Relaxed);
    let mut options = FaceOptions { replicas: Some(group), ..FaceOptions::local() };
    options.limits.rate = RequestRate::PerSecond(40);
    let one = Served::start(options).await;
    let mut granted = 0;
    while post(one.address, "/mcp", &[], "{}").await.status != 429 {
        granted += 1;
        assert!(granted < 40, "two, and one for each second that passes");
    }
}

#[tokio::test]
async fn a_change_is_told_on_the_stream_at_another_replica() {
    let [one, other, third] = served().await;
    let id = begin_session(one.address, "/mcp", &[]).await;
    let known = [("mcp-session-id", id.as_str())];
    let subscribe =
        r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
    assert_eq!(post(one.address, "/mcp", &known, subscribe).await.status, 200);
    let reading = [known[0], ("accept", "text/event-stream")];
    let mut stream = begin(one.address, "GET", "/mcp", &reading, "").await;
    read_until(&mut stream, "\r\n\r\n").await;
    let change = call(5, "announce", r#"{"what":"a:b"}"#);
    // With the first request that the session makes there.
    assert_eq!(post(other.address, "/mcp", &known, &change).await.status, 200);
    read_until(&mut stream, "notifications/resources/updated").await;
    let list = call(6, "announce", r#"{"what":"tools"}"#);
    assert_eq!(post(other.address, "/mcp", &known, &list).await.status, 200);
    read_until(&mut stream, "notifications/tools/list_changed").await;
    // The stream moves.
    drop(stream);
    let mut stream = begin(third.address, "GET", "/mcp", &reading, "").await;
    read_until(&mut stream, "\r\n\r\n").await;
    soon(async {
        // Until the other one has been told who holds the stream now.
        let heard = read_until(&mut stream, "notifications/resources/updated");
        tokio::pin!(heard);
        loop {
            post(other.address, "/mcp", &known, &change).await;
            if futures_util::poll!(&mut heard).is_ready() {
                break;
            }
        }
    })
    .await;
}
