//! Test helper: a connection with a scripted server, and a record of its events. Used by the tests of `connection`.

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::Method;
use switchboard_config::Scope;
use switchboard_core::connection::{
    CapabilityClass, Connection, ConnectionContext, ConnectionEvent, ConnectionListener,
    ConnectionSharing, ConnectionSpec, ConnectionState, ConnectionTarget, ConnectionTiming,
    InProcessLink, RetryJitter,
};
use switchboard_process::ProcessGuard;
use switchboard_testkit::scripted::{Part, Scripted};
use switchboard_wire::{
    Error,
    client::{Implementation, ListKind},
    http::{HttpError, NoCredentials, RequestSummary},
};
use tokio::time::{Instant, sleep};

/// A connection under test.
pub(super) struct Bench {
    pub(super) connection: Arc<Connection>,
    pub(super) server: Arc<Scripted>,
    pub(super) heard: Arc<Heard>,
    pub(super) began: Instant,
}

/// Writes down what it hears, with the time.
#[derive(Debug)]
pub(super) struct Heard {
    began: Instant,
    lines: Mutex<Vec<String>>,
}

// === impl Bench ===

impl Bench {
    /// A connection to a server that plays these parts.
    pub(super) fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::with(Scripted::new(parts), shared(timing()))
    }

    pub(super) fn with(server: Arc<Scripted>, shared: Arc<ConnectionContext>) -> Self {
        Self::of(spec("scripted", &server), server, shared)
    }

    pub(super) fn of(
        spec: ConnectionSpec,
        server: Arc<Scripted>,
        shared: Arc<ConnectionContext>,
    ) -> Self {
        let heard = Arc::new(Heard::new());
        let connection = Connection::start(spec, shared, heard.clone());
        Self { connection, server, heard, began: Instant::now() }
    }

    /// Waits until the connection is in the state of this name.
    pub(super) async fn until(&self, word: &str) -> ConnectionState {
        let mut state = self.connection.watch();
        let found = bounded(state.wait_for(|state| state.word() == word)).await;
        found.unwrap().clone()
    }

    /// Waits until each list is known.
    pub(super) async fn until_known(&self) {
        let mut lists = self.connection.watch_lists();
        bounded(lists.wait_for(|lists| lists.is_known())).await.unwrap();
    }

    /// When each attempt was made, in seconds.
    pub(super) fn attempts(&self) -> Vec<f64> {
        let attempts = self.server.attempts();
        attempts.into_iter().map(|at| tenths(at.duration_since(self.began))).collect()
    }
}

// === impl Heard ===

impl Heard {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), lines: Mutex::default() }
    }

    /// Everything so far, which is then forgotten.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

impl ConnectionListener for Heard {
    fn handle_event(&self, connection: &Arc<Connection>, notice: ConnectionEvent) {
        let at = tenths(self.began.elapsed());
        let said = match notice {
            ConnectionEvent::StateChanged => told(&connection.state()),
            ConnectionEvent::SilenceChanged => {
                let live = connection.state().live().cloned();
                let is_silent = live.is_some_and(|live| live.silent_since().is_some());
                if is_silent { "silent".into() } else { "answers again".into() }
            }
            ConnectionEvent::ListsChanged(list) => format!("read {}", word(list)),
            ConnectionEvent::ListUnchanged { list, .. } => format!("read {} again", word(list)),
            ConnectionEvent::CatalogRestored => "restored".into(),
            ConnectionEvent::NoLists => "offers no list".into(),
            ConnectionEvent::ListProblem { list, .. } => format!("could not read {}", word(list)),
            ConnectionEvent::Log(_) => "log".into(),
            ConnectionEvent::ResourceUpdated { uri, .. } => format!("updated {uri}"),
            ConnectionEvent::ElicitationComplete(_) => "elicitation complete".into(),
            ConnectionEvent::Question(question) => format!("asks {}", question.method()),
            ConnectionEvent::Withdrawn { key } => format!("withdraws {key}"),
            ConnectionEvent::Other(note) => format!("says {}", note.method()),
            ConnectionEvent::Unreadable(_) => "unreadable".into(),
        };
        self.lines.lock().unwrap().push(format!("{at:.1} {said}"));
    }
}

/// A state in a few words.
pub(super) fn told(state: &ConnectionState) -> String {
    match state {
        ConnectionState::Failed(failed) => {
            let what = if failed.was_connected { "lost" } else { "failed" };
            match failed.retry_at {
                Some(at) => format!("{what}, again in {}", tenths(at - failed.since)),
                None => format!("{what} for good"),
            }
        }
        other => other.word().to_owned(),
    }
}

fn word(list: ListKind) -> &'static str {
    list.member()
}

pub(super) fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

/// The numbers of the contract, without jitter.
pub(super) fn timing() -> ConnectionTiming {
    ConnectionTiming { jitter: RetryJitter::NONE, ..ConnectionTiming::default() }
}

pub(super) fn shared(timing: ConnectionTiming) -> Arc<ConnectionContext> {
    let client = Implementation { name: "test".into(), version: "1".into() };
    Arc::new(ConnectionContext::new(client, ProcessGuard::none(), timing))
}

pub(super) fn spec(id: &str, server: &Arc<Scripted>) -> ConnectionSpec {
    let server = server.clone();
    let open = Arc::new(move || server.open());
    ConnectionSpec {
        server: id.to_owned(),
        scope: Scope::User,
        reach: ConnectionTarget::InProcess(InProcessLink { id: id.to_owned(), open }),
        working_dir: "/".into(),
        environment: Arc::new([]),
        root: None,
        class: CapabilityClass::QUEUE,
        era: None,
        principal: None,
        variant: ConnectionSharing::Shared,
        credentials: Arc::new(NoCredentials),
        credential_id: String::new(),
        secrets: Arc::new([]),
    }
}

/// The error of a server that somebody has to sign in to.
pub(super) fn sign_in() -> Error {
    let doing = RequestSummary::new(Method::POST, &"https://example.test/mcp".parse().unwrap());
    let challenges = vec!["Bearer".to_owned()];
    HttpError::SignIn { doing, reason: "expired".into(), challenges }.into()
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Lets the test's clock run.
pub(super) async fn pass(time: Duration) {
    sleep(time).await;
}

/// Nothing here takes an hour.
pub(super) async fn bounded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_hours(1), future).await.expect("the test hangs")
}
