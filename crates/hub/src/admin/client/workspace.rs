//! A workspace of the hub, with the snapshots and calls that an engine in this process would have.
//!
//! Used by `command_engine`, so that a command works alike with and without a hub. It does not reconnect: when the hub
//! ends, so does the workspace.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use serde::Deserialize;
use switchboard_core::dispatch::{CallEventSender, PendingQuestion, QuestionAnswer, QuestionKind};
use switchboard_core::remote::{self, RemoteAnswer, RemoteCallError, RemoteRequest};
use switchboard_core::skills::ServerSkills;
use switchboard_core::{
    CallError, CallEvent, CallOutcome, Request, RunningCall, WorkspaceSnapshot,
};
use switchboard_wire::json::Raw;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{AdminClient, AdminClientError, AdminEvent, AdminEventStream, escaped};
use crate::admin::QuestionInfo;

/// The most questions that may wait for the holder of the workspace.
const MAX_WAITING_QUESTIONS: usize = 16;
/// The most log messages that may wait.
const MAX_WAITING_LOGS: usize = 256;
/// How long a hub may take to open the workspace.
const OPEN_TIMEOUT: Duration = Duration::from_secs(35);

/// A workspace that the hub keeps open until this value is dropped.
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
    /// Requests to fetch a snapshot now.
    looks: mpsc::Sender<oneshot::Sender<()>>,
    _following: AbortOnDropHandle<()>,
}

#[derive(Deserialize)]
struct OpenedMessage {
    id: String,
    session: String,
}

#[derive(Deserialize)]
struct SkillsMessage {
    servers: Vec<ServerSkills>,
}

/// The task that follows the events and keeps the snapshot current.
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

    /// The latest snapshot.
    pub fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        self.snapshots.borrow().clone()
    }

    /// Changes with every snapshot; closed when the hub ends.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Questions for this session that belong to none of its calls. Returns the receiver once.
    pub fn session_questions(&self) -> Option<mpsc::Receiver<PendingQuestion>> {
        self.strays.lock().take()
    }

    /// Log messages of servers that belong to no call.
    pub fn logs(&self) -> broadcast::Receiver<Raw> {
        self.logs.subscribe()
    }

    /// Reconnects a server; when it returns, the snapshot shows the new attempt.
    pub async fn reconnect(&self, server: &str) -> Result<(), AdminClientError> {
        let path =
            format!("workspaces/{}/servers/{}/reconnect", escaped(&self.id), escaped(server));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// Retries servers that are down and pings connected ones; when it returns, the snapshot shows the attempts and the
    /// answers.
    pub async fn check_servers(&self) -> Result<(), AdminClientError> {
        let path = format!("workspaces/{}/check", escaped(&self.id));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// Starts servers that are idle; when it returns, the snapshot shows the attempts.
    pub async fn start_idle_servers(&self) -> Result<(), AdminClientError> {
        let path = format!("workspaces/{}/start", escaped(&self.id));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// Has a connected server asked whether it still answers; when it returns, the snapshot shows how long that took.
    pub async fn check_answers(&self, server: &str) -> Result<(), AdminClientError> {
        let path = format!("workspaces/{}/servers/{}/check", escaped(&self.id), escaped(server));
        self.client.post(&path, &()).await?.whole().await?;
        self.fetch_snapshot().await
    }

    /// The skills of all servers, or of one.
    pub async fn skills(
        &self,
        server: Option<&str>,
    ) -> Result<Vec<ServerSkills>, AdminClientError> {
        let server = server.map(|server| format!("?server={}", escaped(server)));
        let path = format!("workspaces/{}/skills{}", escaped(&self.id), server.unwrap_or_default());
        let listed: SkillsMessage = self.client.get(&path).await?;
        Ok(listed.servers)
    }

    async fn fetch_snapshot(&self) -> Result<(), AdminClientError> {
        let (done, looked) = oneshot::channel();
        self.looks.send(done).await.map_err(|_| AdminClientError::Gone)?;
        looked.await.map_err(|_| AdminClientError::Gone)
    }

    /// Creates a call. It starts when it is first polled; dropped before it is done, it is cancelled at the server.
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

// === impl WorkspaceFollower ===

impl WorkspaceFollower {
    async fn follow(mut self) {
        loop {
            // One fetch at a time, so that no snapshot replaces a newer one.
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
                    // The task that asked may have ended.
                    let _ = done.send(());
                }
            }
        }
    }

    /// Handles an event; `None` once the hub is gone.
    async fn hear(&mut self, event: &AdminEvent) -> Option<()> {
        match &*event.name {
            "changed" | "resync" => self.look().await?,
            "log" => {
                let params = event.data.get("params").ok().flatten();
                // Without receivers the send fails, which is fine.
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

    /// Passes a question to the holder of the workspace; a task waits for the answer and sends it to the hub.
    fn ask(&self, event: &AdminEvent) {
        let Some((id, question, answer)) = question(event) else { return };
        let client = self.client.clone();
        if self.strays.try_send(question).is_ok() {
            tokio::spawn(async move { pass_on(&client, &id, answer).await });
        }
    }
}

/// Follows a call from its first event to its last.
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

/// Sends an answer to the hub. A dropped question is answered with *cancel*.
async fn pass_on(client: &AdminClient, id: &str, answer: oneshot::Receiver<QuestionAnswer>) {
    let reply = answer.await.unwrap_or(QuestionAnswer::Cancel);
    if let Err(error) = client.answer(id, &RemoteAnswer::from_answer(&reply)).await {
        tracing::debug!(%error, "an answer came too late");
    }
}

/// The error for a call that the hub did not answer.
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
