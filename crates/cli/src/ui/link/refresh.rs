//! Keeps the UI's copy of the hub current: follows two event streams, and fetches the parts that changed.
//!
//! Used by `link` as its main task. It also retries while no hub runs. It does not send the person's requests.

use std::sync::Arc;
use std::time::Duration;

use http::Method as Verb;
use serde::Deserialize;
use serde_json::Value;
use switchboard_core::catalog::RemoteCatalog as Lists;
use switchboard_core::permission::LastingAnswer;
use switchboard_core::problem::EngineProblem;
use switchboard_core::remote::RemoteServer;
use switchboard_hub::admin::client::{
    AdminClient, AdminClientError, AdminEvent as Told, AdminEventStream, HubLookup,
    QuestionAttendance,
};
use tokio::time::{Instant, sleep_until, timeout};

use super::{OpenHub, Shared, to_request_failure};
use crate::ui::app::{
    ApprovalCase, Catalog, Event, HubSummary, LinkState as State, MAX_CALLS_KEPT, PastCall,
    RequestFailure, ServersUpdate, WaitingQuestion,
};

/// The first and the longest delay before the link looks for a hub again.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);
/// How long a hub may take to open a workspace.
const OPEN_TIMEOUT: Duration = Duration::from_secs(35);
/// Changes within this interval are fetched together.
const COALESCE_INTERVAL: Duration = Duration::from_millis(80);
/// How often the state is fetched without an event: running calls and memory have no events.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// The counts of the last hour are fetched at most so often, however many calls there are.
const TRAFFIC_INTERVAL: Duration = Duration::from_secs(1);

/// The parts to fetch, and when.
#[derive(Debug, Clone, Copy)]
struct DueUpdates {
    servers: bool,
    catalog: bool,
    questions: bool,
    calls: bool,
    at: Instant,
}

/// Looks for a hub, follows it until it ends, and looks again.
pub(super) async fn keep_current(shared: Arc<Shared>) {
    let mut wait = MIN_RETRY_DELAY;
    loop {
        let began = Instant::now();
        let ended = follow_hub(&shared).await;
        *shared.lock() = None;
        let why = ended.err().map_or_else(|| "it has ended".to_owned(), |wrong| wrong.line());
        shared.tell(Event::Link(State::Lost { why })).await;
        wait = if began.elapsed() > MAX_RETRY_DELAY {
            MIN_RETRY_DELAY
        } else {
            (wait * 2).min(MAX_RETRY_DELAY)
        };
        // `start_hub` ends the delay early.
        let _ = timeout(wait, shared.nudge.notified()).await;
    }
}

/// Follows one hub until it ends.
async fn follow_hub(shared: &Shared) -> Result<(), RequestFailure> {
    let found = AdminClient::find(&shared.options.place, &shared.options.version).await;
    match found.map_err(to_request_failure)? {
        HubLookup::Hub(client) => follow_events(shared, client).await.map_err(to_request_failure),
        HubLookup::Nobody => Err(RequestFailure::new("none is running")),
        HubLookup::Stranger { why } => {
            let title = format!("the running hub has another version: {why}");
            let hint = Some("`switchboard stop` ends it, and clients start a new one".to_owned());
            Err(RequestFailure { title, hint })
        }
    }
}

/// Holds our workspace and follows the events.
async fn follow_events(shared: &Shared, client: AdminClient) -> Result<(), AdminClientError> {
    let whose = serde_json::to_value(&shared.whose).map_err(AdminClientError::Strange)?;
    let mut workspace = client.request_stream(Verb::POST, "workspaces", Some(&whose)).await?;
    let open = read_opened(client, &mut workspace).await?;
    let mut events = open.client.events(QuestionAttendance::Yes).await?;
    *shared.lock() = Some(open.clone());
    shared.tell(Event::Link(State::Open)).await;
    let mut due = DueUpdates::everything();
    let mut counted_at: Option<Instant> = None;
    loop {
        tokio::select! {
            event = workspace.next() => match event {
                Some(event) => of_workspace(shared, &event, &mut due).await,
                None => return Ok(()),
            },
            event = events.next() => match event {
                Some(event) => of_hub(shared, &event, &mut due).await,
                None => return Ok(()),
            },
            () = shared.nudge.notified() => due.servers(),
            () = sleep_until(due.at) => {
                refresh_due(shared, &open, due).await?;
                if counted_at.is_none_or(|at| at.elapsed() >= TRAFFIC_INTERVAL) {
                    let traffic = open.client.traffic().await?;
                    shared.tell(Event::Traffic(Box::new(traffic))).await;
                    counted_at = Some(Instant::now());
                }
                due = DueUpdates::nothing();
            }
        }
    }
}

async fn read_opened(
    client: AdminClient,
    events: &mut AdminEventStream,
) -> Result<OpenHub, AdminClientError> {
    #[derive(Deserialize)]
    struct OpenedWorkspace {
        id: String,
        session: String,
    }
    let first = timeout(OPEN_TIMEOUT, events.next()).await;
    let first = first
        .map_err(|_| AdminClientError::Silent { after: OPEN_TIMEOUT })?
        .ok_or(AdminClientError::Gone)?;
    let OpenedWorkspace { id, session } = first.read()?;
    Ok(OpenHub { client, workspace: id, session })
}

async fn of_workspace(shared: &Shared, event: &Told, due: &mut DueUpdates) {
    match &*event.name {
        "changed" | "resync" => {
            due.servers();
            due.catalog = true;
        }
        "question" => handle_question(shared, event).await,
        _ => {}
    }
}

async fn of_hub(shared: &Shared, event: &Told, due: &mut DueUpdates) {
    match &*event.name {
        "state" => due.servers(),
        "list" => {
            due.servers();
            due.catalog = true;
        }
        "question" => handle_question(shared, event).await,
        "answered" => {
            let id = event.data.get("id").ok().flatten().and_then(|id| id.to_text());
            if let Some(id) = id {
                shared.tell(Event::Answered { id }).await;
            }
        }
        "called" => {
            due.servers();
            if let Ok(call) = event.read::<PastCall>() {
                shared.tell(Event::Called(Box::new(call))).await;
            }
        }
        "resync" => *due = DueUpdates::everything(),
        _ => {}
    }
}

async fn handle_question(shared: &Shared, event: &Told) {
    if let Ok(asked) = event.read::<WaitingQuestion>() {
        shared.tell(Event::Question(asked)).await;
    }
}

/// Fetches the due parts.
async fn refresh_due(
    shared: &Shared,
    open: &OpenHub,
    due: DueUpdates,
) -> Result<(), AdminClientError> {
    if due.servers {
        shared.tell(Event::Looked(Box::new(servers(open).await?))).await;
    }
    if due.catalog {
        let lists: Lists = open.get(&open.workspace_path("catalog")).await?;
        shared.tell(Event::Listed(Box::new(Catalog::from(lists)))).await;
    }
    if due.questions {
        let questions: Questions = open.get("questions").await?;
        shared.tell(Event::Questions(questions.questions)).await;
    }
    if due.calls {
        shared.tell(Event::Calls(calls(open).await?)).await;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Questions {
    questions: Vec<WaitingQuestion>,
}

async fn servers(open: &OpenHub) -> Result<ServersUpdate, AdminClientError> {
    #[derive(Deserialize)]
    struct Servers {
        servers: Vec<RemoteServer>,
        problems: Vec<EngineProblem>,
    }
    #[derive(Deserialize)]
    struct Approvals {
        pending: Vec<ApprovalCase>,
    }
    #[derive(Deserialize)]
    struct Answers {
        answers: Vec<LastingAnswer>,
    }
    let hub: HubSummary = open.get("status").await?;
    let Servers { servers, problems } = open.get(&open.workspace_path("servers")).await?;
    let Approvals { pending } = open.get(&open.workspace_path("approvals")).await?;
    let Answers { answers } = open.get("answers").await?;
    Ok(ServersUpdate { hub, servers, problems, approvals: pending, answers })
}

/// Past calls, newest first. Audit lines other than calls are left out.
async fn calls(open: &OpenHub) -> Result<Vec<PastCall>, AdminClientError> {
    #[derive(Deserialize)]
    struct Activity {
        calls: Vec<Value>,
    }
    let activity = open.get::<Activity>(&format!("activity?calls={MAX_CALLS_KEPT}")).await;
    let calls = match activity {
        Ok(activity) => activity.calls,
        // A hub without logs reports that among its problems.
        Err(AdminClientError::Problem(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(calls.into_iter().rev().filter_map(|call| serde_json::from_value(call).ok()).collect())
}

// === impl DueUpdates ===

impl DueUpdates {
    fn everything() -> Self {
        Self { servers: true, catalog: true, questions: true, calls: true, at: Instant::now() }
    }

    fn nothing() -> Self {
        let at = Instant::now() + REFRESH_INTERVAL;
        Self { servers: true, catalog: false, questions: false, calls: false, at }
    }

    fn servers(&mut self) {
        self.servers = true;
        self.at = self.at.min(Instant::now() + COALESCE_INTERVAL);
    }
}
