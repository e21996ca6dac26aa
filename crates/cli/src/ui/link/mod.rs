//! The link to the hub over its admin API: responses become events, requests come from effects.
//!
//! One task holds the workspace and follows the events, and reconnects when the hub has gone; one sends requests in
//! order; each call is a stream of its own. Used by `ui`. It does not know how the state is shown.

mod refresh;

use std::collections::HashMap;
use std::sync::Arc;

use http::Method as Verb;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::Value;
use switchboard_hub::admin::WorkspaceRequest;
use switchboard_hub::admin::client::{AdminClient, AdminClientError, AdminEvent as Told, escaped};
use switchboard_hub::attach::{self, AttachOptions};
use switchboard_wire::RemoteError as Cause;
use tokio::sync::{Notify, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::app::{CallUpdate, Event, LinkState as State, Method, Path, Request, RequestFailure};

/// The most requests that may wait.
const MAX_WAITING_REQUESTS: usize = 256;

/// The link. Dropping it closes all streams, and the hub releases the workspace and calls.
pub(super) struct Link {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    calls: HashMap<u64, AbortOnDropHandle<()>>,
    following: Option<AbortOnDropHandle<()>>,
    starting: Option<AbortOnDropHandle<()>>,
    _keeping: [AbortOnDropHandle<()>; 2],
}

/// The state that all tasks share.
struct Shared {
    options: AttachOptions,
    whose: WorkspaceRequest,
    events: mpsc::Sender<Event>,
    open: Mutex<Option<OpenHub>>,
    /// Notified after a change, to refresh at once.
    nudge: Notify,
}

/// A reachable hub with our workspace open.
#[derive(Debug, Clone)]
struct OpenHub {
    client: AdminClient,
    workspace: String,
    session: String,
}

// === impl Link ===

impl Link {
    pub(super) fn start(
        options: AttachOptions,
        whose: WorkspaceRequest,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let (open, nudge) = (Mutex::new(None), Notify::new());
        let shared = Arc::new(Shared { options, whose, events, open, nudge });
        let (requests, asked) = mpsc::channel(MAX_WAITING_REQUESTS);
        let keeping = [
            AbortOnDropHandle::new(tokio::spawn(refresh::keep_current(shared.clone()))),
            AbortOnDropHandle::new(tokio::spawn(answer(shared.clone(), asked))),
        ];
        Self {
            shared,
            requests,
            calls: HashMap::new(),
            following: None,
            starting: None,
            _keeping: keeping,
        }
    }

    /// Sends a request, after all earlier ones.
    pub(super) async fn ask(&self, request: Request) {
        if let Err(error) = self.requests.try_send(request) {
            let wish = error.into_inner().wish;
            let answer = Err(RequestFailure::new("too much is asked for at once"));
            self.shared.tell(Event::Done { wish, answer }).await;
        }
    }

    pub(super) fn call(&mut self, ticket: u64, body: Value, repeats: Option<String>) {
        self.calls.retain(|_, call| !call.is_finished());
        let call = tokio::spawn(call(self.shared.clone(), ticket, body, repeats));
        self.calls.insert(ticket, AbortOnDropHandle::new(call));
    }

    pub(super) fn cancel(&mut self, ticket: u64) {
        self.calls.remove(&ticket);
    }

    pub(super) fn follow(&mut self, server: String) {
        let following = tokio::spawn(follow(self.shared.clone(), server));
        self.following = Some(AbortOnDropHandle::new(following));
    }

    pub(super) fn unfollow(&mut self) {
        self.following = None;
    }

    /// Starts a hub if none runs; the refresh task finds it.
    pub(super) fn start_hub(&mut self) {
        let shared = self.shared.clone();
        self.starting = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            match attach::ensure_running(&shared.options).await {
                // Wakes the refresh task from its retry delay.
                Ok(()) => shared.nudge.notify_one(),
                Err(error) => {
                    shared.tell(Event::Link(State::Lost { why: error.to_string() })).await;
                }
            }
        })));
    }
}

// === impl Shared ===

impl Shared {
    fn open(&self) -> Result<OpenHub, RequestFailure> {
        self.lock().clone().ok_or_else(|| RequestFailure::new("there is no hub"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenHub>> {
        self.open.lock()
    }

    /// Sends an event to the main loop, which may have ended.
    async fn tell(&self, event: Event) {
        let _ = self.events.send(event).await;
    }
}

// === impl OpenHub ===

impl OpenHub {
    fn workspace_path(&self, path: &str) -> String {
        format!("workspaces/{}/{path}", escaped(&self.workspace))
    }

    /// Fetches a path of the hub.
    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, AdminClientError> {
        let answer = self.client.request(Verb::GET, path, None).await?;
        let answer = answer.ok_or(AdminClientError::Gone)?;
        answer.decode().map_err(AdminClientError::Strange)
    }
}

/// Sends requests one after another.
async fn answer(shared: Arc<Shared>, mut requests: mpsc::Receiver<Request>) {
    while let Some(Request { wish, method, path, body }) = requests.recv().await {
        let answer = match shared.open() {
            Ok(open) => ask(&open, method, &path, body.as_ref()).await,
            Err(wrong) => Err(wrong),
        };
        shared.tell(Event::Done { wish, answer }).await;
        if method != Method::Get {
            shared.nudge.notify_one();
        }
    }
}

async fn ask(
    open: &OpenHub,
    method: Method,
    path: &Path,
    body: Option<&Value>,
) -> Result<Value, RequestFailure> {
    let path = match path {
        Path::Hub(path) => path.clone(),
        Path::Workspace(path) => open.workspace_path(path),
    };
    let verb = match method {
        Method::Get => Verb::GET,
        Method::Post => Verb::POST,
        Method::Put => Verb::PUT,
        Method::Delete => Verb::DELETE,
    };
    let answer = open.client.request(verb, &path, body).await.map_err(to_request_failure)?;
    let answer = answer.map(|answer| answer.decode()).transpose();
    answer
        .map(Option::unwrap_or_default)
        .map_err(|error| to_request_failure(AdminClientError::Strange(error)))
}

/// Runs a call from its first event to its last.
async fn call(shared: Arc<Shared>, ticket: u64, body: Value, repeats: Option<String>) {
    let outcome = place_call(&shared, ticket, &body, repeats).await;
    let news = outcome.unwrap_or_else(CallUpdate::Failed);
    shared.tell(Event::Call { ticket, news }).await;
}

async fn place_call(
    shared: &Shared,
    ticket: u64,
    body: &Value,
    repeats: Option<String>,
) -> Result<CallUpdate, RequestFailure> {
    let open = shared.open()?;
    let repeats = repeats.map(|id| format!("&repeats={}", escaped(&id))).unwrap_or_default();
    let path = open.workspace_path(&format!("call?session={}{repeats}", escaped(&open.session)));
    let mut events = open
        .client
        .request_stream(Verb::POST, &path, Some(body))
        .await
        .map_err(to_request_failure)?;
    while let Some(event) = events.next().await {
        match parse_call_update(&event)? {
            Some(news @ (CallUpdate::Done { .. } | CallUpdate::Failed(_))) => return Ok(news),
            Some(news) => shared.tell(Event::Call { ticket, news }).await,
            None => {}
        }
    }
    Err(RequestFailure::new("the hub ended before the call did"))
}

/// Parses an event of a call.
fn parse_call_update(event: &Told) -> Result<Option<CallUpdate>, RequestFailure> {
    #[derive(Deserialize)]
    struct ResultMessage {
        result: Value,
        #[serde(default)]
        note: Option<String>,
    }
    #[derive(Deserialize)]
    struct ErrorMessage {
        error: Cause,
    }
    Ok(match &*event.name {
        "progress" => Some(CallUpdate::Progress(event.read().map_err(to_request_failure)?)),
        "question" => Some(CallUpdate::Question(event.read().map_err(to_request_failure)?)),
        "done" => {
            let ResultMessage { result, note } = event.read().map_err(to_request_failure)?;
            Some(CallUpdate::Done { result, note })
        }
        "failed" => {
            let ErrorMessage { error } = event.read().map_err(to_request_failure)?;
            let (title, hint) = (error.causes.join(": "), error.hint);
            Some(CallUpdate::Failed(RequestFailure { title, hint }))
        }
        _ => None,
    })
}

/// Follows the log of a server.
async fn follow(shared: Arc<Shared>, server: String) {
    #[derive(Deserialize)]
    struct LogMessage {
        lines: Vec<String>,
    }
    let Ok(open) = shared.open() else { return };
    let path =
        open.workspace_path(&format!("servers/{}/logs?lines=500&follow=1", escaped(&server)));
    let mut events = match open.client.request_stream(Verb::GET, &path, None).await {
        Ok(events) => events,
        Err(error) => {
            let lines = vec![to_request_failure(error).line()];
            return shared.tell(Event::Log { server, lines }).await;
        }
    };
    while let Some(event) = events.next().await {
        if let Ok(LogMessage { lines }) = event.read() {
            shared.tell(Event::Log { server: server.clone(), lines }).await;
        }
    }
}

/// The error of a request, for the UI.
fn to_request_failure(error: AdminClientError) -> RequestFailure {
    match error {
        AdminClientError::Problem(problem) => {
            let parts = [Some(problem.title), problem.detail].into_iter().flatten();
            RequestFailure { title: parts.collect::<Vec<_>>().join(": "), hint: problem.hint }
        }
        error => RequestFailure::new(error.to_string()),
    }
}
