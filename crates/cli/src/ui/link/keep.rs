//! What is known, kept current: two streams, and a look at whatever they say has changed.

use std::sync::Arc;
use std::time::Duration;

use http::Method as Verb;
use serde::Deserialize;
use serde_json::Value;
use switchboard_core::catalog::Told as Lists;
use switchboard_core::permission::LastingAnswer;
use switchboard_core::problem::Problem;
use switchboard_core::told::Server;
use switchboard_hub::admin::client::{Attending, Client, Error, Event as Told, Events, Found};
use tokio::time::{Instant, sleep_until, timeout};

use super::{Open, Shared, wrong};
use crate::ui::app::{Asked, CALLS, Call, Case, Catalog, Event, Hub, Link as State, Look, Wrong};

/// How long to wait before a hub is looked for again, at first and at most.
const SOON: Duration = Duration::from_millis(250);
const LATE: Duration = Duration::from_secs(5);
/// How long a hub may take to say that a workspace is open.
const OPENING: Duration = Duration::from_secs(35);
/// Changes that come together are looked at together.
const TOGETHER: Duration = Duration::from_millis(80);
/// How often is looked where nothing is heard: of calls in flight and memory nobody tells.
const QUIET: Duration = Duration::from_secs(5);

/// What has to be looked at.
#[derive(Debug, Clone, Copy)]
struct Due {
    servers: bool,
    catalog: bool,
    questions: bool,
    calls: bool,
    at: Instant,
}

/// Looks for a hub, hears what happens in it until it goes, and looks again.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut wait = SOON;
    loop {
        let began = Instant::now();
        let ended = attended(&shared).await;
        *shared.lock() = None;
        let why = ended.err().map_or_else(|| "it has ended".to_owned(), |wrong| wrong.line());
        shared.tell(Event::Link(State::Lost { why })).await;
        wait = if began.elapsed() > LATE { SOON } else { (wait * 2).min(LATE) };
        // Somebody who has just started one does not want to wait.
        let _ = timeout(wait, shared.nudge.notified()).await;
    }
}

/// Hears what happens in one hub, until it has ended.
async fn attended(shared: &Shared) -> Result<(), Wrong> {
    let found = Client::find(&shared.options.place, &shared.options.version).await;
    match found.map_err(wrong)? {
        Found::Hub(client) => hear(shared, client).await.map_err(wrong),
        Found::Nobody => Err(Wrong::new("none runs")),
        Found::Stranger { why } => {
            let title = format!("the one that runs is of another version: {why}");
            let hint = Some("`switchboard stop` ends it, and clients start a new one".to_owned());
            Err(Wrong { title, hint })
        }
    }
}

/// Holds our workspace, and hears what happens.
async fn hear(shared: &Shared, client: Client) -> Result<(), Error> {
    let whose = serde_json::to_value(&shared.whose).map_err(Error::Strange)?;
    let mut workspace = client.follow(Verb::POST, "workspaces", Some(&whose)).await?;
    let open = opened(client, &mut workspace).await?;
    let mut events = open.client.events(Attending::Yes).await?;
    *shared.lock() = Some(open.clone());
    shared.tell(Event::Link(State::Open)).await;
    let mut due = Due::everything();
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
                look(shared, &open, due).await?;
                due = Due::nothing();
            }
        }
    }
}

async fn opened(client: Client, events: &mut Events) -> Result<Open, Error> {
    #[derive(Deserialize)]
    struct Opened {
        id: String,
        session: String,
    }
    let first = timeout(OPENING, events.next()).await;
    let first = first.map_err(|_| Error::Silent { after: OPENING })?.ok_or(Error::Gone)?;
    let Opened { id, session } = first.read()?;
    Ok(Open { client, workspace: id, session })
}

async fn of_workspace(shared: &Shared, event: &Told, due: &mut Due) {
    match &*event.name {
        "changed" | "resync" => {
            due.servers();
            due.catalog = true;
        }
        "question" => asked(shared, event).await,
        _ => {}
    }
}

async fn of_hub(shared: &Shared, event: &Told, due: &mut Due) {
    match &*event.name {
        "state" => due.servers(),
        "list" => {
            due.servers();
            due.catalog = true;
        }
        "question" => asked(shared, event).await,
        "answered" => {
            let id = event.data.get("id").ok().flatten().and_then(|id| id.to_text());
            if let Some(id) = id {
                shared.tell(Event::Answered { id }).await;
            }
        }
        "called" => {
            due.servers();
            if let Ok(call) = event.read::<Call>() {
                shared.tell(Event::Called(Box::new(call))).await;
            }
        }
        "resync" => *due = Due::everything(),
        _ => {}
    }
}

async fn asked(shared: &Shared, event: &Told) {
    if let Ok(asked) = event.read::<Asked>() {
        shared.tell(Event::Question(asked)).await;
    }
}

/// Looks at what is due.
async fn look(shared: &Shared, open: &Open, due: Due) -> Result<(), Error> {
    if due.servers {
        shared.tell(Event::Looked(Box::new(servers(open).await?))).await;
    }
    if due.catalog {
        let lists: Lists = open.get(&open.here("catalog")).await?;
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
    questions: Vec<Asked>,
}

async fn servers(open: &Open) -> Result<Look, Error> {
    #[derive(Deserialize)]
    struct Servers {
        servers: Vec<Server>,
        problems: Vec<Problem>,
    }
    #[derive(Deserialize)]
    struct Approvals {
        pending: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Answers {
        answers: Vec<LastingAnswer>,
    }
    let hub: Hub = open.get("status").await?;
    let Servers { servers, problems } = open.get(&open.here("servers")).await?;
    let Approvals { pending } = open.get(&open.here("approvals")).await?;
    let Answers { answers } = open.get("answers").await?;
    Ok(Look { hub, servers, problems, approvals: pending, answers })
}

/// The newest first. Lines that say something else than a call are left out.
async fn calls(open: &Open) -> Result<Vec<Call>, Error> {
    #[derive(Deserialize)]
    struct Activity {
        calls: Vec<Value>,
    }
    let activity = open.get::<Activity>(&format!("activity?calls={CALLS}")).await;
    let calls = match activity {
        Ok(activity) => activity.calls,
        // A hub that keeps no log says so among its problems.
        Err(Error::Problem(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(calls.into_iter().rev().filter_map(|call| serde_json::from_value(call).ok()).collect())
}

// === impl Due ===

impl Due {
    fn everything() -> Self {
        Self { servers: true, catalog: true, questions: true, calls: true, at: Instant::now() }
    }

    fn nothing() -> Self {
        let at = Instant::now() + QUIET;
        Self { servers: true, catalog: false, questions: false, calls: false, at }
    }

    fn servers(&mut self) {
        self.servers = true;
        self.at = self.at.min(Instant::now() + TOGETHER);
    }
}
