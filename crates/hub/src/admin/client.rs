//! The API from the other side: a typed client over the hub's private socket.
//!
//! Every request is a connection of its own, since most of them are streams that last. Nothing is started here: where no
//! hub runs there is no client.

mod attached;
mod stream;

use std::time::Duration;

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use switchboard_core::told::Answer;
use switchboard_wire::json::Raw;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

pub use attached::Attached;
pub use stream::{Event, Events};

use super::{Asking, Problem, Status, Whose};
use crate::attach::{self, knock};
use crate::socket::{Place, RefusalKind, Want, Welcome};

/// How long the head of an answer may take; opening a workspace reads files.
const ANSWER: Duration = Duration::from_secs(35);
/// How long the rest of an answer that is no stream may take.
const REST: Duration = Duration::from_secs(30);
/// The largest answer: a snapshot of many servers.
const LARGEST: usize = 256 << 20;

/// A hub that runs, and understands us.
#[derive(Debug, Clone)]
pub struct Client {
    place: Place,
    version: String,
    hub: Welcome,
}

/// What came of looking for a hub.
#[derive(Debug)]
pub enum Found {
    /// One that can be asked.
    Hub(Client),
    /// None runs.
    Nobody,
    /// One that does not know this API: it is of another version.
    Stranger {
        /// What it said.
        why: String,
    },
}

/// Why a hub gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It could not be reached.
    #[error(transparent)]
    Attach(#[from] attach::Error),
    /// It is gone.
    #[error("the hub ended before it answered")]
    Gone,
    /// It took too long.
    #[error("the hub did not answer within {after:?}")]
    Silent {
        /// How long was waited.
        after: Duration,
    },
    /// It said no.
    #[error(transparent)]
    Problem(Problem),
    /// It answered in a way that is not known here.
    #[error("the hub's answer cannot be understood")]
    Strange(#[source] serde_json::Error),
}

/// An answer, and the connection it comes over.
pub(super) struct Incoming {
    body: Body,
    connection: AbortOnDropHandle<()>,
}

// === impl Client ===

impl Client {
    /// Looks for the hub of this place.
    pub async fn find(place: &Place, version: &str) -> Result<Found, Error> {
        match knock(place, version, Want::Admin).await {
            Ok(Some((_, hub))) => {
                let (place, version) = (place.clone(), version.to_owned());
                Ok(Found::Hub(Self { place, version, hub }))
            }
            Ok(None) => Ok(Found::Nobody),
            // What an older hub says of a wish it does not know.
            Err(attach::Error::Refused(refusal))
                if matches!(refusal.kind, RefusalKind::Malformed | RefusalKind::Protocol) =>
            {
                Ok(Found::Stranger { why: refusal.message })
            }
            Err(attach::Error::Refused(refusal)) if refusal.kind == RefusalKind::Stopping => {
                Ok(Found::Nobody)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The hub's process and version.
    pub fn hub(&self) -> &Welcome {
        &self.hub
    }

    /// How the hub is.
    pub async fn status(&self) -> Result<Status, Error> {
        self.get("status").await
    }

    /// Where the console is, for one page that comes within a quarter of an hour.
    pub async fn console(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct At {
            url: String,
        }
        let text = self.send(Method::POST, "console", Bytes::new()).await?.whole().await?;
        serde_json::from_slice(&text).map(|at: At| at.url).map_err(Error::Strange)
    }

    /// Ends the hub.
    pub async fn stop(&self) -> Result<(), Error> {
        self.send(Method::POST, "stop", Bytes::new()).await?.whole().await.map(drop)
    }

    /// Has the hub write down which calls have ended, so that the audit log has them.
    pub async fn settle_activity(&self) -> Result<(), Error> {
        self.send(Method::POST, "activity/settle", Bytes::new()).await?.whole().await.map(drop)
    }

    /// The queue of questions, oldest first.
    pub async fn questions(&self) -> Result<Vec<Asking>, Error> {
        #[derive(Deserialize)]
        struct Listed {
            questions: Vec<Asking>,
        }
        self.get("questions").await.map(|listed: Listed| listed.questions)
    }

    /// Answers a question.
    pub async fn answer(&self, id: &str, answer: &Answer) -> Result<(), Error> {
        self.post(&format!("questions/{}", escaped(id)), answer).await?.whole().await.map(drop)
    }

    /// Everything that happens; `attending` the queue means that its questions may be put to us.
    pub async fn events(&self, attending: Attending) -> Result<Events, Error> {
        let path = match attending {
            Attending::Yes => "events?attend=1",
            Attending::No => "events",
        };
        Ok(self.send(Method::GET, path, Bytes::new()).await?.events())
    }

    /// Opens a workspace and keeps it open.
    pub async fn open(&self, whose: &Whose) -> Result<Attached, Error> {
        let events = self.post("workspaces", whose).await?.events();
        Attached::new(self.clone(), events).await
    }

    /// Has the hub serve a workspace over the network while the events are held.
    pub async fn faces(&self, whose: &Whose, faces: &Raw) -> Result<Events, Error> {
        let wanted = serde_json::json!({ "whose": whose, "faces": faces });
        Ok(self.post("faces", &wanted).await?.events())
    }

    /// Asks for anything the API has, and reads the whole answer; nothing where the hub has nothing to say.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<Option<Raw>, Error> {
        let text = self.put(method, path, body).await?.whole().await?;
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(&text).map(Some).map_err(Error::Strange)
    }

    /// The same for an answer that lasts. Dropped, what it stands for is let go.
    pub async fn follow(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<Events, Error> {
        Ok(self.put(method, path, body).await?.events())
    }

    async fn put(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<Incoming, Error> {
        let body = body.map(serde_json::to_vec).transpose().map_err(Error::Strange)?;
        self.send(method, path, body.unwrap_or_default().into()).await
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let text = self.send(Method::GET, path, Bytes::new()).await?.whole().await?;
        serde_json::from_slice(&text).map_err(Error::Strange)
    }

    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Incoming, Error> {
        let body = serde_json::to_vec(body).map_err(Error::Strange)?;
        self.send(Method::POST, path, body.into()).await
    }

    /// A request, up to the head of its answer.
    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Incoming, Error> {
        let asking = async {
            let knocked = knock(&self.place, &self.version, Want::Admin).await?;
            let (stream, _) = knocked.ok_or(Error::Gone)?;
            exchange(stream, method, path, body).await
        };
        let (response, connection) =
            timeout(ANSWER, asking).await.map_err(|_| Error::Silent { after: ANSWER })??;
        let status = response.status();
        let incoming = Incoming { body: Body::new(response.into_body()), connection };
        if status.is_success() {
            return Ok(incoming);
        }
        let text = incoming.whole().await?;
        Err(serde_json::from_slice(&text).map_or_else(Error::Strange, Error::Problem))
    }
}

/// Whether somebody is there to answer the questions of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attending {
    /// They may be put to us.
    Yes,
    /// They may not.
    No,
}

async fn exchange(
    stream: UnixStream,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<(Response<hyper::body::Incoming>, AbortOnDropHandle<()>), Error> {
    let gone = |error: hyper::Error| {
        tracing::debug!(%error, "the hub is gone");
        Error::Gone
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(gone)?;
    let connection = AbortOnDropHandle::new(tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the hub is gone");
        }
    }));
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1/{path}"))
        .header(header::HOST, "switchboard")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .map_err(|_| Error::Gone)?;
    Ok((sender.send_request(request).await.map_err(gone)?, connection))
}

/// A name as it stands in a path.
pub fn escaped(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

// === impl Incoming ===

impl Incoming {
    /// All of it.
    async fn whole(self) -> Result<Bytes, Error> {
        let reading = timeout(REST, to_bytes(self.body, LARGEST)).await;
        drop(self.connection);
        reading.map_err(|_| Error::Silent { after: REST })?.map_err(|_| Error::Gone)
    }

    /// A stream of events.
    pub(super) fn events(self) -> Events {
        Events::new(self.body.into_data_stream(), self.connection)
    }
}
