//! A workspace of the hub, as if it were one of our own: the same snapshots, the same calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use switchboard_core::dispatch::{About, Emit, Question, Reply};
use switchboard_core::told::{self, Answer, Call, Failure};
use switchboard_core::{CallError, CallEvent, Outcome, Request, Running, Snapshot};
use switchboard_wire::json::Raw;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{Client, Error, Event, Events, escaped};
use crate::admin::Asking;

/// Questions that may wait for whoever holds the workspace.
const STRAYS: usize = 16;
/// Log messages that may wait.
const LOGS: usize = 256;
/// How long a hub may take to say that the workspace is open.
const OPENING: Duration = Duration::from_secs(35);

/// A workspace that is open in the hub, until this is dropped.
#[derive(Debug)]
pub struct Attached {
    client: Client,
    id: String,
    session: String,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    /// Counts up with every snapshot.
    changes: watch::Receiver<u64>,
    strays: Mutex<Option<mpsc::Receiver<Question>>>,
    logs: broadcast::Sender<Raw>,
    /// Has the snapshot of now fetched.
    looks: mpsc::Sender<oneshot::Sender<()>>,
    _following: AbortOnDropHandle<()>,
}

#[derive(Deserialize)]
struct Opened {
    id: String,
    session: String,
}

/// Keeps what is known of the workspace current.
struct Follower {
    client: Client,
    path: String,
    events: Events,
    snapshots: watch::Sender<Arc<Snapshot>>,
    changes: watch::Sender<u64>,
    strays: mpsc::Sender<Question>,
    logs: broadcast::Sender<Raw>,
    looks: mpsc::Receiver<oneshot::Sender<()>>,
}

// === impl Attached ===

impl Attached {
    pub(super) async fn new(client: Client, mut events: Events) -> Result<Self, Error> {
        let opened = timeout(OPENING, events.first("opened")).await;
        let opened: Opened = opened.map_err(|_| Error::Silent { after: OPENING })??;
        let path = format!("workspaces/{}/snapshot", escaped(&opened.id));
        let first = read(&client, &path).await?;
        let (snapshots, snapshot) = watch::channel(Arc::new(first));
        let (changes, revisions) = watch::channel(0);
        let (strays, asked) = mpsc::channel(STRAYS);
        let logs = broadcast::Sender::new(LOGS);
        let (looks, asked_for) = mpsc::channel(1);
        let follower = Follower {
            client: client.clone(),
            path,
            events,
            snapshots,
            changes,
            strays,
            logs: logs.clone(),
            looks: asked_for,
        };
        Ok(Self {
            client,
            id: opened.id,
            session: opened.session,
            snapshots: snapshot,
            changes: revisions,
            strays: Mutex::new(Some(asked)),
            logs,
            looks,
            _following: AbortOnDropHandle::new(tokio::spawn(follower.follow())),
        })
    }

    /// What the workspace looks like, as far as is known.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// Changes whenever the snapshot does; ends when the hub does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Questions that belong to us but to no call of ours; once.
    pub fn strays(&self) -> Option<mpsc::Receiver<Question>> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Log messages of servers that belong to no call.
    pub fn logs(&self) -> broadcast::Receiver<Raw> {
        self.logs.subscribe()
    }

    /// Connects to a server anew; when it returns, the snapshot is of the new attempt.
    pub async fn reconnect(&self, server: &str) -> Result<(), Error> {
        let path =
            format!("workspaces/{}/servers/{}/reconnect", escaped(&self.id), escaped(server));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// Has servers that are down tried again and connected ones asked whether they still answer; when it returns, the
    /// snapshot shows the attempts and the answers.
    pub async fn check_servers(&self) -> Result<(), Error> {
        let path = format!("workspaces/{}/check", escaped(&self.id));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    async fn fetch_snapshot(&self) -> Result<(), Error> {
        let (done, looked) = oneshot::channel();
        self.looks.send(done).await.map_err(|_| Error::Gone)?;
        looked.await.map_err(|_| Error::Gone)
    }

    /// Places a call. Nothing happens until it is polled; dropped before it is done, it is cancelled at the server.
    pub fn call(&self, request: &Request) -> Running {
        let (client, call) = (self.client.clone(), Call::from(request));
        let path =
            format!("workspaces/{}/call?session={}", escaped(&self.id), escaped(&self.session));
        Running::new(move |emit| async move {
            let events = client.post(&path, &call).await.map_err(lost)?.events();
            follow(&client, events, &emit).await
        })
    }
}

async fn read(client: &Client, path: &str) -> Result<Snapshot, Error> {
    let told: told::Snapshot = client.get(path).await?;
    Ok(told.snapshot())
}

// === impl Follower ===

impl Follower {
    async fn follow(mut self) {
        loop {
            // One thing after another, so that no snapshot takes the place of a newer one.
            tokio::select! {
                event = self.events.next() => {
                    let Some(event) = event else { return };
                    if self.hear(&event).await.is_none() {
                        return;
                    }
                }
                Some(done) = self.looks.recv() => {
                    if self.look().await.is_none() {
                        return;
                    }
                    // Whoever asked may have gone.
                    let _ = done.send(());
                }
            }
        }
    }

    /// `None` once the hub is gone.
    async fn hear(&mut self, event: &Event) -> Option<()> {
        match &*event.name {
            "changed" | "resync" => self.look().await?,
            "log" => {
                let params = event.data.get("params").ok().flatten();
                // Nobody may be listening.
                let _ = params.map(|params| self.logs.send(params));
            }
            "question" => self.ask(event),
            _ => {}
        }
        Some(())
    }

    async fn look(&mut self) -> Option<()> {
        let snapshot = read(&self.client, &self.path).await.ok()?;
        self.snapshots.send_replace(Arc::new(snapshot));
        self.changes.send_modify(|count| *count += 1);
        Some(())
    }

    /// Puts a question to whoever holds the workspace; a task waits for the answer, as nobody else would.
    fn ask(&self, event: &Event) {
        let Some((id, question, answer)) = question(event) else { return };
        let client = self.client.clone();
        if self.strays.try_send(question).is_ok() {
            tokio::spawn(async move { pass_on(&client, &id, answer).await });
        }
    }
}

/// A call, from its first event to its last.
async fn follow(client: &Client, mut events: Events, emit: &Emit) -> Result<Outcome, CallError> {
    let mut answers = FuturesUnordered::new();
    loop {
        let event = tokio::select! {
            event = events.next() => event.ok_or(CallError::Lost)?,
            Some(()) = answers.next(), if !answers.is_empty() => continue,
        };
        match &*event.name {
            "done" => {
                let outcome: told::Outcome = event.read().map_err(lost)?;
                return Ok(outcome.outcome());
            }
            "failed" => {
                let failure: Failure = event.read().map_err(lost)?;
                return Err(failure.error());
            }
            "question" => {
                if let Some((id, question, answer)) = question(&event) {
                    emit.event(CallEvent::Question(question)).await;
                    answers.push(async move { pass_on(client, &id, answer).await });
                }
            }
            word => {
                if let Some(event) = told::Event::read(word, event.data) {
                    emit.event(event).await;
                }
            }
        }
    }
}

fn question(event: &Event) -> Option<(String, Question, oneshot::Receiver<Reply>)> {
    let asking: Asking = event.read().ok()?;
    let (question, answer) = Question::new(&asking.server, About::read(&asking.about)?);
    let question = question.of_client(asking.client.as_deref().unwrap_or_default());
    Some((asking.id, question, answer))
}

/// Brings an answer to the hub. A question that was put away is cancelled there too.
async fn pass_on(client: &Client, id: &str, answer: oneshot::Receiver<Reply>) {
    let reply = answer.await.unwrap_or(Reply::Cancel);
    if let Err(error) = client.answer(id, &Answer::of(&reply)).await {
        tracing::debug!(%error, "an answer came too late");
    }
}

/// What a call comes to that the hub did not answer.
fn lost(error: Error) -> CallError {
    match error {
        Error::Problem(problem) => {
            let reason = [Some(problem.title), problem.detail].into_iter().flatten();
            CallError::Request { reason: reason.collect::<Vec<_>>().join(": ") }
        }
        error => {
            tracing::debug!(%error, "a call is lost");
            CallError::Lost
        }
    }
}
