//! Streamable HTTP of both eras: legacy with sessions, a GET stream and resumable events; modern
//! with none of these.
//!
//! Used by the client tests of `wire`.

mod modern;
mod session;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use switchboard_wire::{
    envelope::{MessageOrBatch, RpcMessage, parse},
    meta,
};

use crate::{
    fixture::Fixture,
    http::{Reply, Request, Scripted},
};

use session::Session;

/// A running face at `/mcp`.
pub struct StreamableFace {
    server: Scripted,
    shared: Arc<Shared>,
}

struct Shared {
    fixture: Arc<Fixture>,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    open: HashMap<String, Arc<Session>>,
    begun: usize,
}

impl StreamableFace {
    /// Serves `fixture` on a free port.
    pub async fn start(fixture: Arc<Fixture>) -> Self {
        let shared = Arc::new(Shared { fixture, sessions: Mutex::default() });
        let answering = shared.clone();
        let server = Scripted::start(move |request| answer(answering.clone(), request)).await;
        Self { server, shared }
    }

    /// The URL of the face.
    pub fn url(&self) -> String {
        self.server.url("/mcp")
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// Drops all sessions, as a restarted server does.
    pub fn expire(&self) {
        self.shared.sessions.lock().unwrap().open.clear();
    }

    /// Ends every open stream, as an impatient proxy does.
    pub fn cut(&self) {
        for session in self.shared.sessions.lock().unwrap().open.values() {
            session.cut();
        }
    }

    /// The number of open legacy sessions, and of all so far.
    pub fn sessions(&self) -> (usize, usize) {
        let sessions = self.shared.sessions.lock().unwrap();
        (sessions.open.len(), sessions.begun)
    }
}

async fn answer(shared: Arc<Shared>, request: Request) -> Reply {
    let session = request.header("mcp-session-id").map(str::to_owned);
    let known =
        session.as_ref().and_then(|id| shared.sessions.lock().unwrap().open.get(id).cloned());
    match (request.method.as_str(), known) {
        ("POST", known) => post(&shared, &request, known).await,
        (_, None) => Reply::empty(if session.is_some() { 404 } else { 405 }),
        ("GET", Some(known)) => known.listen(request.header("last-event-id")),
        (_, Some(_)) => {
            let id = session.unwrap_or_default();
            shared.sessions.lock().unwrap().open.remove(&id);
            Reply::empty(200)
        }
    }
}

async fn post(shared: &Arc<Shared>, request: &Request, known: Option<Arc<Session>>) -> Reply {
    let Ok(MessageOrBatch::One(message)) = parse(request.text().to_owned().into()) else {
        return Reply::json(400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#);
    };
    match &message {
        RpcMessage::Request(asked) if is_modern(asked) => {
            modern::post(&shared.fixture, request, asked).await
        }
        RpcMessage::Request(asked) if asked.method() == meta::method::INITIALIZE => {
            let (id, session) = begin(shared);
            session.post(request.text(), Some(asked)).await.header("mcp-session-id", &id)
        }
        other => match (known, request.header("mcp-session-id")) {
            (Some(session), _) => {
                let asked = match other {
                    RpcMessage::Request(asked) => Some(asked),
                    _ => None,
                };
                session.post(request.text(), asked).await
            }
            (None, Some(_)) => Reply::empty(404),
            (None, None) => Reply::empty(400),
        },
    }
}

fn is_modern(request: &switchboard_wire::envelope::Request) -> bool {
    let params = request.params();
    let version = params
        .and_then(|params| params.get_path(&["_meta", meta::PROTOCOL_VERSION]).ok().flatten());
    version.is_some()
}

fn begin(shared: &Arc<Shared>) -> (String, Arc<Session>) {
    let session = Session::start(shared.fixture.clone());
    let mut sessions = shared.sessions.lock().unwrap();
    sessions.begun += 1;
    let id = format!("session {}", sessions.begun).replace(' ', "-");
    sessions.open.insert(id.clone(), session.clone());
    (id, session)
}
