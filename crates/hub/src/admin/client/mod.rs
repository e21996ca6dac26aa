//! A typed client of the admin API, over the hub's private socket.
//!
//! Used by `command_engine`, `ui::link` and the commands `serve`, `status`, `questions` and `answer`. Every request
//! opens its own connection, since most responses are long streams. It does not start a hub: without a running hub
//! there is no client.

mod stream;
mod workspace;

use std::time::Duration;

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use switchboard_core::remote::RemoteAnswer;
use switchboard_core::traffic::TrafficReport;
use switchboard_wire::json::Raw;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

pub use stream::{AdminEvent, AdminEventStream};
pub use workspace::HubWorkspace;

use super::{AdminProblem, AdminStatus, QuestionInfo, WorkspaceRequest};
use crate::FacesOptions;
use crate::attach::{self, connect_with_hello};
use crate::socket::{HelloPurpose, HelloRefusalKind, HubInfo, HubPaths};

/// How long the head of a response may take; opening a workspace reads files.
const ANSWER_HEAD_TIMEOUT: Duration = Duration::from_secs(35);
/// How long the body of a response may take, unless it is a stream.
const ANSWER_BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest response: a snapshot of many servers.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// A client of a running hub that speaks this API.
#[derive(Debug, Clone)]
pub struct AdminClient {
    place: HubPaths,
    version: String,
    hub: HubInfo,
}

/// The outcome of looking for a hub.
#[derive(Debug)]
pub enum HubLookup {
    /// A hub that speaks this API.
    Hub(AdminClient),
    /// No hub is running.
    Nobody,
    /// A hub of another version, which does not know this API.
    Stranger {
        /// The hub's refusal.
        why: String,
    },
}

/// Why a request to the hub failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminClientError {
    /// The hub could not be reached.
    #[error(transparent)]
    Attach(#[from] attach::HubAttachError),
    /// The hub closed the connection.
    #[error("the hub ended before it answered")]
    Gone,
    /// The hub took too long.
    #[error("the hub did not answer within {after:?}")]
    Silent {
        /// How long the client waited.
        after: Duration,
    },
    /// The hub answered with an error.
    #[error(transparent)]
    Problem(AdminProblem),
    /// The response cannot be parsed.
    #[error("the hub's answer cannot be understood")]
    Strange(#[source] serde_json::Error),
}

/// A response, and the connection that carries it.
pub(super) struct IncomingAnswer {
    body: Body,
    connection: AbortOnDropHandle<()>,
}

// === impl AdminClient ===

impl AdminClient {
    /// Looks for the hub at `place`.
    pub async fn find(place: &HubPaths, version: &str) -> Result<HubLookup, AdminClientError> {
        match connect_with_hello(place, version, HelloPurpose::Admin).await {
            Ok(Some((_, hub))) => {
                let (place, version) = (place.clone(), version.to_owned());
                Ok(HubLookup::Hub(Self { place, version, hub }))
            }
            Ok(None) => Ok(HubLookup::Nobody),
            // An older hub refuses a purpose that it does not know.
            Err(attach::HubAttachError::Refused(refusal))
                if matches!(
                    refusal.kind,
                    HelloRefusalKind::Malformed | HelloRefusalKind::Protocol
                ) =>
            {
                Ok(HubLookup::Stranger { why: refusal.message })
            }
            Err(attach::HubAttachError::Refused(refusal))
                if refusal.kind == HelloRefusalKind::Stopping =>
            {
                Ok(HubLookup::Nobody)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Version and process id of the hub.
    pub fn hub_info(&self) -> &HubInfo {
        &self.hub
    }

    /// The hub's status.
    pub async fn status(&self) -> Result<AdminStatus, AdminClientError> {
        self.get("status").await
    }

    /// The calls of the last hour, counted by minute, tool, server and client.
    pub async fn traffic(&self) -> Result<TrafficReport, AdminClientError> {
        self.get("traffic").await
    }

    /// The URL of the console with a one-time invitation, valid for 15 minutes.
    pub async fn console_url(&self) -> Result<String, AdminClientError> {
        #[derive(Deserialize)]
        struct ConsoleAddress {
            url: String,
        }
        let text = self.send(Method::POST, "console", Bytes::new()).await?.whole().await?;
        serde_json::from_slice(&text)
            .map(|at: ConsoleAddress| at.url)
            .map_err(AdminClientError::Strange)
    }

    /// Stops the hub.
    pub async fn stop(&self) -> Result<(), AdminClientError> {
        self.send(Method::POST, "stop", Bytes::new()).await?.whole().await.map(drop)
    }

    /// Makes the hub write all ended calls to the audit log.
    pub async fn settle_activity(&self) -> Result<(), AdminClientError> {
        self.send(Method::POST, "activity/settle", Bytes::new()).await?.whole().await.map(drop)
    }

    /// The question queue, oldest first.
    pub async fn questions(&self) -> Result<Vec<QuestionInfo>, AdminClientError> {
        #[derive(Deserialize)]
        struct QuestionList {
            questions: Vec<QuestionInfo>,
        }
        self.get("questions").await.map(|listed: QuestionList| listed.questions)
    }

    /// Answers a question.
    pub async fn answer(&self, id: &str, answer: &RemoteAnswer) -> Result<(), AdminClientError> {
        self.post(&format!("questions/{}", escaped(id)), answer).await?.whole().await.map(drop)
    }

    /// All events of the hub; with `attending`, questions of the queue may be sent to this client.
    pub async fn events(
        &self,
        attending: QuestionAttendance,
    ) -> Result<AdminEventStream, AdminClientError> {
        let path = match attending {
            QuestionAttendance::Yes => "events?attend=1",
            QuestionAttendance::No => "events",
        };
        Ok(self.send(Method::GET, path, Bytes::new()).await?.events())
    }

    /// Opens a workspace and keeps it open.
    pub async fn open(&self, whose: &WorkspaceRequest) -> Result<HubWorkspace, AdminClientError> {
        let events = self.post("workspaces", whose).await?.events();
        HubWorkspace::new(self.clone(), events).await
    }

    /// Makes the hub serve a workspace over the network while the returned stream is held.
    pub async fn serve_faces(
        &self,
        whose: &WorkspaceRequest,
        faces: &FacesOptions,
    ) -> Result<AdminEventStream, AdminClientError> {
        let wanted = serde_json::json!({ "whose": whose, "faces": faces });
        Ok(self.post("faces", &wanted).await?.events())
    }

    /// Sends any request of the API and reads the whole response; `None` if it is empty.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<Option<Raw>, AdminClientError> {
        let text = self.send_json(method, path, body).await?.whole().await?;
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(&text).map(Some).map_err(AdminClientError::Strange)
    }

    /// Sends any request of the API that answers with a stream. Dropping the stream ends its call, lease or face.
    pub async fn request_stream(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<AdminEventStream, AdminClientError> {
        Ok(self.send_json(method, path, body).await?.events())
    }

    async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<IncomingAnswer, AdminClientError> {
        let body = body.map(serde_json::to_vec).transpose().map_err(AdminClientError::Strange)?;
        self.send(method, path, body.unwrap_or_default().into()).await
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AdminClientError> {
        let text = self.send(Method::GET, path, Bytes::new()).await?.whole().await?;
        serde_json::from_slice(&text).map_err(AdminClientError::Strange)
    }

    pub(super) async fn post(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<IncomingAnswer, AdminClientError> {
        let body = serde_json::to_vec(body).map_err(AdminClientError::Strange)?;
        self.send(Method::POST, path, body.into()).await
    }

    /// Sends a request and waits for the head of its response.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<IncomingAnswer, AdminClientError> {
        let asking = async {
            let knocked =
                connect_with_hello(&self.place, &self.version, HelloPurpose::Admin).await?;
            let (stream, _) = knocked.ok_or(AdminClientError::Gone)?;
            exchange(stream, method, path, body).await
        };
        let (response, connection) = timeout(ANSWER_HEAD_TIMEOUT, asking)
            .await
            .map_err(|_| AdminClientError::Silent { after: ANSWER_HEAD_TIMEOUT })??;
        let status = response.status();
        let incoming = IncomingAnswer { body: Body::new(response.into_body()), connection };
        if status.is_success() {
            return Ok(incoming);
        }
        let text = incoming.whole().await?;
        Err(serde_json::from_slice(&text)
            .map_or_else(AdminClientError::Strange, AdminClientError::Problem))
    }
}

/// Whether a client answers questions of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionAttendance {
    /// Questions may be sent to this client.
    Yes,
    /// Questions are not for this client.
    No,
}

async fn exchange(
    stream: UnixStream,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<(Response<hyper::body::Incoming>, AbortOnDropHandle<()>), AdminClientError> {
    let gone = |error: hyper::Error| {
        tracing::debug!(%error, "the hub is gone");
        AdminClientError::Gone
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
        .map_err(|_| AdminClientError::Gone)?;
    Ok((sender.send_request(request).await.map_err(gone)?, connection))
}

/// Percent-encodes a name for use in a path.
pub fn escaped(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

// === impl IncomingAnswer ===

impl IncomingAnswer {
    /// Reads the whole body.
    async fn whole(self) -> Result<Bytes, AdminClientError> {
        let reading = timeout(ANSWER_BODY_TIMEOUT, to_bytes(self.body, MAX_ANSWER_BYTES)).await;
        drop(self.connection);
        reading
            .map_err(|_| AdminClientError::Silent { after: ANSWER_BODY_TIMEOUT })?
            .map_err(|_| AdminClientError::Gone)
    }

    /// Reads the body as a stream of events.
    pub(super) fn events(self) -> AdminEventStream {
        AdminEventStream::new(self.body.into_data_stream(), self.connection)
    }
}
