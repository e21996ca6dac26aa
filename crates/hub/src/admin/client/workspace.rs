//! A workspace of the hub, as if it were one of our own: the same snapshots, the same calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use switchboard_core::dispatch::{CallEventSender, PendingQuestion, QuestionAnswer, QuestionKind};
use switchboard_core::remote::{self, RemoteAnswer, RemoteCallError, RemoteRequest};
use switchboard_core::{
    CallError, CallEvent, CallOutcome, Request, RunningCall, WorkspaceSnapshot,
};
use switchboard_wire::json::Raw;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{AdminClient, AdminClientError, AdminEvent, AdminEventStream, escaped};
use crate::admin::QuestionInfo;

/// Questions that may wait for whoever holds the workspace.
const MAX_WAITING_QUESTIONS: usize = 16;
/// Log messages that may wait.
const MAX_WAITING_LOGS: usize = 256;
/// How long a hub may take to say that the workspace is open.
const OPEN_TIMEOUT: Duration = Duration::from_secs(35);

/// A workspace that is open in the hub, until this is dropped.
#[derive(Debug)]
pub struct HubWorkspace {
    client: AdminClient,
    id: String,
    session: String,
    snapshots: watch::Receiver<Arc<WorkspaceSnapshot>>,
    /// Counts up with every snapshot.
    changes: watch::Receiver<u64>,
    strays: Mutex<Option<mpsc::Receiver<PendingQuestion>>>,
    logs: broadcast::Sender<Raw>,
    /// Has the snapshot of now fetched.
    looks: mpsc::Sender<oneshot::Sender<()>>,
    _following: AbortOnDropHandle<()>,
}

#[derive(Deserialize)]
struct OpenedMessage {
    id: String,
    session: String,
}

/// Keeps what is known of the workspace current.
struct WorkspaceFollower {
    client: AdminClient,
    path: String,
    events: AdminEventStream,
    snapshots: watch::Sender<Arc<WorkspaceSnapshot>>,
    changes: watch::Sender<u64>,
    strays: mpsc::Sender<PendingQuestion>,
    logs: broadcast::Sender<Raw>,
    looks: mpsc::Receiver<oneshot::Sender<()>>,
}

// === impl HubWorkspace ===

impl HubWorkspace {
    pub(super) async fn new(
        client: AdminClient,
        mut events: AdminEventStream,
    ) -> Result<Self, AdminClientError> {
        let opened = timeout(OPEN_TIMEOUT, events.first("opened")).await;
        let opened: OpenedMessage =
            opened.map_err(|_| AdminClientError::Silent { after: OPEN_TIMEOUT })??;
        let path = format!("workspaces/{}/snapshot", escaped(&opened.id));
        let first = read(&client, &path).await?;
        let (snapshots, snapshot) = watch::channel(Arc::new(first));
        let (changes, revisions) = watch::channel(0);
        let (strays, asked) = mpsc::channel(MAX_WAITING_QUESTIONS);
        let logs = broadcast::Sender::new(MAX_WAITING_LOGS);
        let (looks, asked_for) = mpsc::channel(1);
        let follower = WorkspaceFollower {
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
    pub fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        self.snapshots.borrow().clone()
    }

    /// Changes whenever the snapshot does; ends when the hub does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Questions that belong to us but to no call of ours; once.
    pub fn strays(&self) -> Option<mpsc::Receiver<PendingQuestion>> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Log messages of servers that belong to no call.
    pub fn logs(&self) -> broadcast::Receiver<Raw> {
        self.logs.subscribe()
    }

    /// Connects to a server anew; when it returns, the snapshot is of the new attempt.
    pub async fn reconnect(&self, server: &str) -> Result<(), AdminClientError> {
        let path =
            format!("workspaces/{}/servers/{}/reconnect", escaped(&self.id), escaped(server));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// Has servers that are down tried again and connected ones asked whether they still answer; when it returns, the
    /// snapshot shows the attempts and the answers.
    pub async fn check_servers(&self) -> Result<(), AdminClientError> {
        let path = format!("workspaces/{}/check", escaped(&self.id));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// Has a connected server asked whether it still answers; when it returns, the snapshot shows how long that took.
    pub async fn check_answers(&self, server: &str) -> Result<(), AdminClientError> {
        let path = format!("workspaces/{}/servers/{}/check", escaped(&self.id), escaped(server));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    async fn fetch_snapshot(&self) -> Result<(), AdminClientError> {
        let (done, looked) = oneshot::channel();
        self.looks.send(done).await.map_err(|_| AdminClientError::Gone)?;
        looked.await.map_err(|_| AdminClientError::Gone)
    }

    /// Places a call. Nothing happens until it is polled; dropped before it is done, it is cancelled at the server.
    pub fn call(&self, request: &Request) -> RunningCall {
        let (client, call) = (self.client.clone(), RemoteRequest::from(request));
        let path =
            format!("workspaces/{}/call?session={}", escaped(&self.id), escaped(&self.session));
        RunningCall::new(move |emit| async move {
            let events = client.post(&path, &call).await.map_err(lost)?.events();
            follow(&client, events, &emit).await
        })
    }
}

async fn read(client: &AdminClient, path: &str) -> Result<WorkspaceSnapshot, AdminClientError> {
    let told: remote::RemoteSnapshot = client.get(path).await?;
    Ok(told.into_snapshot())
}

// === impl Follower ===

impl WorkspaceFollower {
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
    async fn hear(&mut self, event: &AdminEvent) -> Option<()> {
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
    fn ask(&self, event: &AdminEvent) {
        let Some((id, question, answer)) = question(event) else { return };
        let client = self.client.clone();
        if self.strays.try_send(question).is_ok() {
            tokio::spawn(async move { pass_on(&client, &id, answer).await });
        }
    }
}

/// A call, from its first event to its last.
async fn follow(
    client: &AdminClient,
    mut events: AdminEventStream,
    emit: &CallEventSender,
) -> Result<CallOutcome, CallError> {
    let mut answers = FuturesUnordered::new();
    loop {
        let event = tokio::select! {
            event = events.next() => event.ok_or(CallError::Lost)?,
            Some(()) = answers.next(), if !answers.is_empty() => continue,
        };
        match &*event.name {
            "done" => {
                let outcome: remote::RemoteOutcome = event.read().map_err(lost)?;
                return Ok(outcome.into_outcome());
            }
            "failed" => {
                let failure: RemoteCallError = event.read().map_err(lost)?;
                return Err(failure.into_call_error());
            }
            "question" => {
                if let Some((id, question, answer)) = question(&event) {
                    emit.send(CallEvent::Question(question)).await;
                    answers.push(async move { pass_on(client, &id, answer).await });
                }
            }
            word => {
                if let Some(event) = remote::RemoteCallEvent::to_call_event(word, event.data) {
                    emit.send(event).await;
                }
            }
        }
    }
}

fn question(
    event: &AdminEvent,
) -> Option<(String, PendingQuestion, oneshot::Receiver<QuestionAnswer>)> {
    let asking: QuestionInfo = event.read().ok()?;
    let (question, answer) =
        PendingQuestion::new(&asking.server, QuestionKind::from_json(&asking.about)?);
    let question = question.of_client(asking.client.as_deref().unwrap_or_default());
    Some((asking.id, question, answer))
}

/// Brings an answer to the hub. A question that was put away is cancelled there too.
async fn pass_on(client: &AdminClient, id: &str, answer: oneshot::Receiver<QuestionAnswer>) {
    let reply = answer.await.unwrap_or(QuestionAnswer::Cancel);
    if let Err(error) = client.answer(id, &RemoteAnswer::from_answer(&reply)).await {
        tracing::debug!(%error, "an answer came too late");
    }
}

/// What a call comes to that the hub did not answer.
fn lost(error: AdminClientError) -> CallError {
    match error {
        AdminClientError::Problem(problem) => {
            let reason = [Some(problem.title), problem.detail].into_iter().flatten();
            CallError::Request { reason: reason.collect::<Vec<_>>().join(": ") }
        }
        error => {
            tracing::debug!(%error, "a call is lost");
            CallError::Lost
        }
    }
}
