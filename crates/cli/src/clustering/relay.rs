//! Requests that another replica answers, over the cluster's exchanges; and what other replicas send to the faces.
//!
//! Used by the faces through `ReplicaRelay`. The head of a request or response is JSON, its body is passed on as bytes. It
//! does not choose the replica.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, future::BoxFuture, stream};
use serde::{Deserialize, Serialize};
use switchboard_cluster::{
    ClusterContact, PeerError, PeerEvent, PeerLink, PeerReply, PeerRequest, ReplicaId, SessionName,
    SessionRecord,
};
use switchboard_gateway::face::replicas::{
    RelayedRequest, RelayedResponse, ReplicaError, ReplicaEvent, ReplicaRelay, ReplicaTag,
    SessionNotice,
};
use tokio::sync::{mpsc, oneshot};

use super::sessions::to_state;

/// The status that stands for no answer.
const NOT_ANSWERED: u16 = 503;

/// The way to the other replicas.
pub(super) struct ClusterRelay {
    pub(super) peers: PeerLink,
    pub(super) contact: ClusterContact,
}

#[derive(Serialize, Deserialize)]
struct ResponseHead {
    status: u16,
    headers: Vec<(String, String)>,
}

// === impl ClusterRelay ===

impl ReplicaRelay for ClusterRelay {
    fn problem(&self) -> Option<String> {
        self.contact.problem()
    }

    fn relay(
        &self,
        to: ReplicaTag,
        request: RelayedRequest,
    ) -> BoxFuture<'_, Result<RelayedResponse, ReplicaError>> {
        Box::pin(async move {
            let to = ReplicaId::of_text(&to.to_string()).ok_or(ReplicaError::Gone)?;
            let text = encode(&request).map_err(unreachable)?;
            // Until the request is sent whole, nothing is executed.
            let mut reply = self.peers.request(&to, &text).await.map_err(|error| match error {
                PeerError::Gone | PeerError::Silent => ReplicaError::Gone,
                error => unreachable(error),
            })?;
            let head = reply.next().await.map_err(interrupted)?.unwrap_or_default();
            let head: ResponseHead = serde_json::from_slice(&head)
                .map_err(|error| ReplicaError::Interrupted(Box::new(error)))?;
            let ResponseHead { status, headers } = head;
            Ok(RelayedResponse { status, headers, body: body(reply).boxed() })
        })
    }

    fn announce(&self, notice: SessionNotice) -> BoxFuture<'_, Result<(), ReplicaError>> {
        Box::pin(async move {
            let text = serde_json::to_vec(&notice).map_err(unreachable)?;
            self.peers.notify_all(&text).await.map_err(unreachable)
        })
    }
}

/// The rest of a reply.
fn body(reply: PeerReply) -> impl Stream<Item = Result<Bytes, ReplicaError>> + Send {
    stream::unfold(Some(reply), |reply| async move {
        let mut reply = reply?;
        match reply.next().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(reply))),
            Ok(None) => None,
            Err(error) => Some((Err(interrupted(error)), None)),
        }
    })
}

/// Why there is no answer to a request that was sent: the other replica may have carried it out.
fn interrupted(error: PeerError) -> ReplicaError {
    match error {
        PeerError::Gone | PeerError::Silent => ReplicaError::Gone,
        error => ReplicaError::Interrupted(Box::new(error)),
    }
}

fn unreachable(error: impl std::error::Error + Send + Sync + 'static) -> ReplicaError {
    ReplicaError::Unreachable(Box::new(error))
}

/// The head in one line, then the body.
fn encode(request: &RelayedRequest) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_vec(&request.head)?;
    text.push(b'\n');
    text.extend_from_slice(&request.body);
    Ok(text)
}

fn decode(text: Vec<u8>) -> Option<RelayedRequest> {
    let mut text = Bytes::from(text);
    let at = text.iter().position(|byte| *byte == b'\n')?;
    let head = serde_json::from_slice(&text.split_to(at)).ok()?;
    Some(RelayedRequest { head, body: text.slice(1..) })
}

/// Hands the faces what other replicas send, until the faces have ended.
pub(super) async fn forward_events(
    mut peers: mpsc::Receiver<PeerEvent>,
    mut changes: mpsc::Receiver<(SessionName, SessionRecord)>,
    faces: mpsc::Sender<ReplicaEvent>,
) {
    loop {
        let event = tokio::select! {
            Some((name, record)) = changes.recv() => {
                let (name, state) = (name.as_str().to_owned(), to_state(&record));
                Some(ReplicaEvent::Changed { name, state })
            }
            Some(event) = peers.recv() => match event {
                PeerEvent::Notice(text) => serde_json::from_slice(&text).ok().map(ReplicaEvent::Notice),
                PeerEvent::Request(request) => to_event(request),
            },
            () = faces.closed() => return,
        };
        if let Some(event) = event
            && faces.send(event).await.is_err()
        {
            return;
        }
    }
}

/// The event of a request, whose answer a task sends back. `None` for a request of another version.
fn to_event(mut request: PeerRequest) -> Option<ReplicaEvent> {
    let relayed = decode(std::mem::take(&mut request.body))?;
    let (reply, answered) = oneshot::channel();
    tokio::spawn(request.answer(respond(answered)));
    Some(ReplicaEvent::Request(relayed, reply))
}

async fn respond(
    answered: oneshot::Receiver<RelayedResponse>,
) -> (Vec<u8>, impl Stream<Item = Bytes> + Unpin) {
    let answered = answered.await.unwrap_or_else(|_| RelayedResponse {
        status: NOT_ANSWERED,
        headers: Vec::new(),
        body: stream::empty().boxed(),
    });
    let RelayedResponse { status, headers, body } = answered;
    let head = serde_json::to_vec(&ResponseHead { status, headers }).unwrap_or_else(|error| {
        // The replica that asked takes a response without a head for a failure.
        tracing::error!(%error, "the head of a response cannot be written as JSON");
        Vec::new()
    });
    (head, body.filter_map(|piece| std::future::ready(piece.ok())).boxed())
}
