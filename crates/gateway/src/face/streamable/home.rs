//! The home of a request: the one replica that can answer it, if that is not this one.
//!
//! Used by `streamable`. Answers to questions, handles of calls that wait, tasks and events carry the tag of the replica
//! that gave them out. It does not check them: their home does.

use axum::response::Response;
use bytes::Bytes;
use bytestring::ByteString;
use http::request::Parts;
use switchboard_wire::envelope::{Id, MessageOrBatch, RpcMessage};

use super::headers::LAST_EVENT_ID;
use crate::{
    face::{
        Face,
        events::EventId,
        refusal::HttpRefusal,
        replicas::{RelayPath, Relayed, ReplicaError, ReplicaGroup, ReplicaTag, relay},
        sessions::SessionOwner,
    },
    view_provider::ViewProvider,
};

/// The members of a request's parameters that carry a tag.
const TAGGED_MEMBERS: [&str; 2] = ["requestState", "taskId"];

/// Another replica that a request is for.
pub(super) struct OtherHome<'a> {
    group: &'a ReplicaGroup,
    tag: ReplicaTag,
}

/// The other replica whose stream a client resumes.
pub(super) fn of_stream<'a, F: ViewProvider>(
    face: &'a Face<F>,
    parts: &Parts,
) -> Option<OtherHome<'a>> {
    let last = parts.headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    OtherHome::new(face, parts, || EventId::parse(last)?.replica)
}

/// The other replica that a message is for.
pub(super) fn of_message<'a, F: ViewProvider>(
    face: &'a Face<F>,
    parts: &Parts,
    asked: &MessageOrBatch,
) -> Option<OtherHome<'a>> {
    OtherHome::new(face, parts, || match asked {
        MessageOrBatch::One(message) => tag_of(message),
        // A client sends the answers to one call's questions together.
        MessageOrBatch::Batch(messages) => messages.iter().flatten().find_map(tag_of),
    })
}

fn tag_of(message: &RpcMessage) -> Option<ReplicaTag> {
    let of_text = |text: &str| ReplicaTag::split(text).map(|(tag, _)| tag);
    match message {
        RpcMessage::Response(response) => {
            response.id().as_ref().map(Id::raw)?.to_text().and_then(|id| of_text(&id))
        }
        RpcMessage::Request(request) => {
            let params = request.params()?;
            TAGGED_MEMBERS.iter().find_map(|name| of_text(&params.get(name).ok()??.to_text()?))
        }
        RpcMessage::Notification(_) => None,
    }
}

// === impl OtherHome ===

impl<'a> OtherHome<'a> {
    fn new<F: ViewProvider>(
        face: &'a Face<F>,
        parts: &Parts,
        tag: impl FnOnce() -> Option<ReplicaTag>,
    ) -> Option<Self> {
        let group = face.options.replicas.as_ref()?;
        if parts.extensions.get::<Relayed>().is_some() {
            return None;
        }
        tag().filter(|tag| *tag != group.tag).map(|tag| Self { group, tag })
    }

    /// Has the home answer.
    pub(super) async fn relay(
        &self,
        owner: &SessionOwner,
        request: (&Parts, Bytes),
    ) -> Result<Response, ReplicaError> {
        relay(self.group, self.tag, RelayPath::Mcp, owner, request).await
    }

    /// Has the home answer a message.
    pub(super) async fn relay_message(
        &self,
        owner: &SessionOwner,
        parts: &Parts,
        text: ByteString,
        asked: &MessageOrBatch,
    ) -> Result<Response, HttpRefusal> {
        let relayed = self.relay(owner, (parts, text.into_bytes())).await;
        relayed.map_err(|error| {
            let id = match asked {
                MessageOrBatch::One(RpcMessage::Request(request)) => Some(request.id()),
                _ => None,
            };
            HttpRefusal::no_replicas(&error).with_id(id.as_ref())
        })
    }
}
