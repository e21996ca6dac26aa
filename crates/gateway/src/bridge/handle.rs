//! Handles: sealed tokens that a client returns with its answers to continue a call.
//!
//! Used by `call` and `view`. A handle is valid for one principal, at one endpoint of one workspace, and for one
//! request: equal method, name and arguments. It refers to a parked call, which can be taken once, or contains
//! everything needed to repeat a call at a stateless server: that server judges how often that may happen. It does
//! not park calls (`parked`).

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use switchboard_core::dispatch::CallContinuation;
use switchboard_core::sealing::{
    HandleBinding, HandleKind, HandleRefusal, HandleSealer, JsonDigest,
};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::HandlerRequest;

use super::parked::{CallTicket, DroppedCall, ParkedCall, TicketError};
use super::view::BridgeView;
use crate::replica_tag::ReplicaTag;
use crate::view_provider::ViewSelection;

/// The request that a handle is for; equal for a request and for its repetition with answers.
pub(super) struct HandleSubject {
    method: Cow<'static, str>,
    name: String,
    arguments: JsonDigest,
}

/// The content of a handle.
pub(super) enum HandleContent {
    /// A parked call, and its ticket.
    Call(Box<ParkedCall>, CallTicket),
    /// A call to be repeated.
    Again(Box<CallContinuation>),
}

// === impl HandleSubject ===

impl HandleSubject {
    pub(super) fn of(asked: &HandlerRequest) -> Self {
        let member = |key| asked.params.get(key).ok().flatten();
        let name = member("name").or_else(|| member("uri")).and_then(|name| name.to_text());
        Self {
            method: asked.method.clone(),
            name: name.unwrap_or_default(),
            arguments: member("arguments")
                .as_ref()
                .map_or_else(JsonDigest::default, JsonDigest::from_json),
        }
    }
}

// === impl BridgeView ===

impl BridgeView {
    /// The handle of a parked call, as a JSON string.
    pub(super) fn seal_ticket(
        &self,
        wanted: &HandleSubject,
        ticket: &CallTicket,
    ) -> Result<Raw, RpcError> {
        let handle = self.seal(HandleKind::Parked, wanted, ticket)?;
        Ok(Raw::string(&self.mark_home(handle)))
    }

    /// The handle of a call to be repeated, as a JSON string.
    pub(super) fn seal_again(
        &self,
        wanted: &HandleSubject,
        carried: &CallContinuation,
    ) -> Result<Raw, RpcError> {
        self.seal(HandleKind::Again, wanted, carried).map(|handle| Raw::string(&handle))
    }

    /// Opens a handle, if this request may use it.
    pub(super) fn unseal(
        &self,
        wanted: &HandleSubject,
        handle: &Raw,
    ) -> Result<HandleContent, RpcError> {
        let handle = handle.to_text().ok_or_else(|| refused_error(HandleRefusal::Foreign))?;
        let handle = self.without_home(&handle);
        match HandleKind::from_handle(handle) {
            Some(HandleKind::Parked) => {
                let ticket: CallTicket = self.open_handle(HandleKind::Parked, wanted, handle)?;
                let call = self.bridge().parked.take(&ticket).map_err(gone_error)?;
                Ok(HandleContent::Call(Box::new(call), ticket))
            }
            Some(HandleKind::Again) => Ok(HandleContent::Again(Box::new(self.open_handle(
                HandleKind::Again,
                wanted,
                handle,
            )?))),
            Some(
                HandleKind::Task
                | HandleKind::ConsolePass
                | HandleKind::BrowserSession
                | HandleKind::IssuerVisit,
            )
            | None => Err(refused_error(HandleRefusal::Foreign)),
        }
    }

    fn seal<T: Serialize>(
        &self,
        kind: HandleKind,
        wanted: &HandleSubject,
        what: &T,
    ) -> Result<String, RpcError> {
        let cannot = |error: &dyn std::error::Error| {
            RpcError::new(code::INTERNAL_ERROR, format!("the call cannot wait: {error}"))
        };
        let payload = serde_json::to_vec(what).map_err(|error| cannot(&error))?;
        let place = self.place();
        let lasts = self.bridge().options.patience;
        let sealed = self.sealer().seal(&self.handle_bound(kind, &place, wanted), &payload, lasts);
        sealed.map_err(|error| cannot(&error))
    }

    /// Marks a handle that only this replica can use, if there are others.
    pub(super) fn mark_home(&self, handle: String) -> String {
        match &self.bridge().options.replica {
            Some(replica) => replica.tag.mark(&handle),
            None => handle,
        }
    }

    /// The handle without the mark of its replica. A handle of another replica is relayed there before it is opened.
    pub(super) fn without_home<'h>(&self, handle: &'h str) -> &'h str {
        let replica = self.bridge().options.replica.as_ref();
        let own = replica
            .and_then(|replica| ReplicaTag::split(handle).filter(|(tag, _)| *tag == replica.tag));
        own.map_or(handle, |(_, handle)| handle)
    }

    fn open_handle<T: DeserializeOwned>(
        &self,
        kind: HandleKind,
        wanted: &HandleSubject,
        handle: &str,
    ) -> Result<T, RpcError> {
        let place = self.place();
        let payload = self.sealer().open(&self.handle_bound(kind, &place, wanted), handle);
        let payload = payload.map_err(|why| match (why, kind) {
            // The parked call was cancelled on expiry; its server may have started it.
            (HandleRefusal::Expired, HandleKind::Parked) => lost("expired", EXPIRED),
            (why, _) => refused_error(why),
        })?;
        // The seal is ours, but a version with another payload format wrote it.
        serde_json::from_slice(&payload).map_err(|_| gone_error(TicketError::Restarted))
    }

    fn handle_bound<'a>(
        &'a self,
        kind: HandleKind,
        place: &'a str,
        wanted: &'a HandleSubject,
    ) -> HandleBinding<'a> {
        HandleBinding {
            kind,
            place,
            principal: self.opening.principal.id(),
            method: &wanted.method,
            name: &wanted.name,
            arguments: wanted.arguments,
        }
    }

    /// The workspace and the selection, which a handle is bound to.
    pub(super) fn place(&self) -> String {
        let bridge = self.bridge();
        let workspace = match &bridge.options.replica {
            Some(replica) => replica.place.clone(),
            None => bridge.workspace.to_string(),
        };
        match &self.opening.part {
            ViewSelection::Everything => workspace,
            ViewSelection::Server(name) => format!("{workspace} server {name}"),
            ViewSelection::Agent(name) => format!("{workspace} agent {name}"),
        }
    }

    pub(super) fn sealer(&self) -> &dyn HandleSealer {
        self.bridge().engine.sealer()
    }
}

const DROPPED: &str = "too many of your calls were waiting for an answer, so the oldest were cancelled, and the call of this \
                       `requestState` is one of them";
const EXPIRED: &str = "this `requestState` has expired";

fn refused_error(why: HandleRefusal) -> RpcError {
    match why {
        HandleRefusal::Foreign => invalid(
            "foreign",
            "this `requestState` was not issued here, was changed, or belongs to another request or client",
        ),
        HandleRefusal::Expired => invalid("expired", EXPIRED),
    }
}

fn gone_error(why: TicketError) -> RpcError {
    match why {
        TicketError::Redeemed => lost("used", "this `requestState` was used already"),
        TicketError::Dropped(DroppedCall::Unsent) => invalid("dropped", DROPPED),
        TicketError::Dropped(DroppedCall::Sent) => lost("dropped", DROPPED),
        TicketError::Restarted => lost(
            "restarted",
            "the call that this `requestState` belongs to was lost when the gateway was restarted",
        ),
    }
}

/// The error for a call that was not carried out.
fn invalid(reason: &str, text: &str) -> RpcError {
    refusal(reason, "retry", &format!("{text}; make the call again without it"))
}

/// The error for a call that was running, and may have been carried out.
fn lost(reason: &str, text: &str) -> RpcError {
    let advice = "the server may have carried out the call: check before you repeat it";
    refusal(reason, "unknown", &format!("{text}; {advice}"))
}

/// An error with text for people, and a reason and remedy for programs.
fn refusal(reason: &str, remedy: &str, text: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, text)
        .with_data(Raw::from(json!({ "reason": reason, "remedy": remedy })))
}
