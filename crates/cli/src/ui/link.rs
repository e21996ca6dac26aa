//! The hub, over its admin API: what happens there becomes events, what is to be done there is asked for.
//!
//! One task holds the workspace and hears what happens, and takes both up again when the hub has gone and come back; one
//! asks for changes, one after another; each call of ours is a stream of its own. This module refuses to know what is
//! shown.

mod keep;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Method as Verb;
use serde::Deserialize;
use serde_json::Value;
use switchboard_hub::admin::Whose;
use switchboard_hub::admin::client::{Client, Error, Event as Told, escaped};
use switchboard_hub::attach::{self, AttachOptions};
use switchboard_wire::Told as Cause;
use tokio::sync::{Notify, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::app::{Event, Link as State, Method, News, Path, Request, Wrong};

/// Requests that may wait for those before them.
const WAITING: usize = 256;

/// The way to the hub. Dropped, everything that is open there is let go.
pub(super) struct Link {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    calls: HashMap<u64, AbortOnDropHandle<()>>,
    following: Option<AbortOnDropHandle<()>>,
    starting: Option<AbortOnDropHandle<()>>,
    _keeping: [AbortOnDropHandle<()>; 2],
}

/// What all tasks know.
struct Shared {
    options: AttachOptions,
    whose: Whose,
    events: mpsc::Sender<Event>,
    open: Mutex<Option<Open>>,
    /// Something was changed, and is worth a look.
    nudge: Notify,
}

/// A hub that is there, with our workspace open in it.
#[derive(Debug, Clone)]
struct Open {
    client: Client,
    workspace: String,
    session: String,
}

// === impl Link ===

impl Link {
    pub(super) fn start(options: AttachOptions, whose: Whose, events: mpsc::Sender<Event>) -> Self {
        let (open, nudge) = (Mutex::new(None), Notify::new());
        let shared = Arc::new(Shared { options, whose, events, open, nudge });
        let (requests, asked) = mpsc::channel(WAITING);
        let keeping = [
            AbortOnDropHandle::new(tokio::spawn(keep::keep(shared.clone()))),
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

    /// Asks for a change, after those that were asked for before.
    pub(super) async fn ask(&self, request: Request) {
        if let Err(error) = self.requests.try_send(request) {
            let wish = error.into_inner().wish;
            let answer = Err(Wrong::new("too much is asked for at once"));
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

    /// Starts a hub where none runs; whoever looks for one finds it.
    pub(super) fn start_hub(&mut self) {
        let shared = self.shared.clone();
        self.starting = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            match attach::wake(&shared.options).await {
                // Whoever waits to look again need not.
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
    fn open(&self) -> Result<Open, Wrong> {
        self.lock().clone().ok_or_else(|| Wrong::new("there is no hub"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the program, which may have ended.
    async fn tell(&self, event: Event) {
        let _ = self.events.send(event).await;
    }
}

// === impl Open ===

impl Open {
    fn here(&self, path: &str) -> String {
        format!("workspaces/{}/{path}", escaped(&self.workspace))
    }

    /// What stands at a path of the hub.
    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, Error> {
        let answer = self.client.ask(Verb::GET, path, None).await?;
        let answer = answer.ok_or(Error::Gone)?;
        answer.decode().map_err(Error::Strange)
    }
}

/// Asks for one thing after another.
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
    open: &Open,
    method: Method,
    path: &Path,
    body: Option<&Value>,
) -> Result<Value, Wrong> {
    let path = match path {
        Path::Hub(path) => path.clone(),
        Path::Here(path) => open.here(path),
    };
    let verb = match method {
        Method::Get => Verb::GET,
        Method::Post => Verb::POST,
        Method::Put => Verb::PUT,
        Method::Delete => Verb::DELETE,
    };
    let answer = open.client.ask(verb, &path, body).await.map_err(wrong)?;
    let answer = answer.map(|answer| answer.decode()).transpose();
    answer.map(Option::unwrap_or_default).map_err(|error| wrong(Error::Strange(error)))
}

/// A call, from its first event to its last.
async fn call(shared: Arc<Shared>, ticket: u64, body: Value, repeats: Option<String>) {
    let outcome = placed(&shared, ticket, &body, repeats).await;
    let news = outcome.unwrap_or_else(News::Failed);
    shared.tell(Event::Call { ticket, news }).await;
}

async fn placed(
    shared: &Shared,
    ticket: u64,
    body: &Value,
    repeats: Option<String>,
) -> Result<News, Wrong> {
    let open = shared.open()?;
    let repeats = repeats.map(|id| format!("&repeats={}", escaped(&id))).unwrap_or_default();
    let path = open.here(&format!("call?session={}{repeats}", escaped(&open.session)));
    let mut events = open.client.follow(Verb::POST, &path, Some(body)).await.map_err(wrong)?;
    while let Some(event) = events.next().await {
        match heard(&event)? {
            Some(news @ (News::Done { .. } | News::Failed(_))) => return Ok(news),
            Some(news) => shared.tell(Event::Call { ticket, news }).await,
            None => {}
        }
    }
    Err(Wrong::new("the hub ended before the call did"))
}

/// What an event says of a call.
fn heard(event: &Told) -> Result<Option<News>, Wrong> {
    #[derive(Deserialize)]
    struct Done {
        result: Value,
        #[serde(default)]
        note: Option<String>,
    }
    #[derive(Deserialize)]
    struct Failed {
        error: Cause,
    }
    Ok(match &*event.name {
        "progress" => Some(News::Progress(event.read().map_err(wrong)?)),
        "question" => Some(News::Question(event.read().map_err(wrong)?)),
        "done" => {
            let Done { result, note } = event.read().map_err(wrong)?;
            Some(News::Done { result, note })
        }
        "failed" => {
            let Failed { error } = event.read().map_err(wrong)?;
            let (title, hint) = (error.causes.join(": "), error.hint);
            Some(News::Failed(Wrong { title, hint }))
        }
        _ => None,
    })
}

/// What a server writes to its standard error, as it does.
async fn follow(shared: Arc<Shared>, server: String) {
    #[derive(Deserialize)]
    struct Written {
        lines: Vec<String>,
    }
    let Ok(open) = shared.open() else { return };
    let path = open.here(&format!("servers/{}/logs?lines=500&follow=1", escaped(&server)));
    let mut events = match open.client.follow(Verb::GET, &path, None).await {
        Ok(events) => events,
        Err(error) => {
            let lines = vec![wrong(error).line()];
            return shared.tell(Event::Log { server, lines }).await;
        }
    };
    while let Some(event) = events.next().await {
        if let Ok(Written { lines }) = event.read() {
            shared.tell(Event::Log { server: server.clone(), lines }).await;
        }
    }
}

/// What the hub would not do, or could not.
fn wrong(error: Error) -> Wrong {
    match error {
        Error::Problem(problem) => {
            let parts = [Some(problem.title), problem.detail].into_iter().flatten();
            Wrong { title: parts.collect::<Vec<_>>().join(": "), hint: problem.hint }
        }
        error => Wrong::new(error.to_string()),
    }
}
