//! A request between its arrival and its answer.
//!
//! Used by `session`. The request is registered on arrival and starts when it is first polled, so that a cancellation
//! right behind it finds it. It does not run the handler (`legacy`, `modern`).

use std::{collections::hash_map::Entry, pin::pin, sync::Arc};

use super::{HandlerSession, ServerHandler, cancel::CancelFlag, session::Outbox};
use crate::{
    envelope::{Id, Request, Response, RpcError, code},
    json::Rope,
    meta::method,
};

/// A registered request: it can be cancelled from now on, and its id is free again when it is answered or dropped.
pub(super) struct InFlightRequest<H> {
    session: Arc<HandlerSession<H>>,
    request: Request,
    id: Id,
    cancel: Arc<CancelFlag>,
    outbox: Outbox,
}

/// An answer before it becomes text.
pub(super) enum UnrenderedAnswer {
    Result(Id, Rope),
    Error(Response),
}

// === impl InFlightRequest ===

impl<H: ServerHandler> InFlightRequest<H> {
    /// Registers a request. The error is the response if the id is in use.
    pub(super) fn new(
        session: Arc<HandlerSession<H>>,
        request: Request,
        outbox: Outbox,
    ) -> Result<Self, Response> {
        let (id, cancel) = (request.id(), Arc::new(CancelFlag::default()));
        let is_free = match session.state().running.entry(id.clone()) {
            Entry::Vacant(place) => {
                place.insert(cancel.clone());
                true
            }
            Entry::Occupied(_) => false,
        };
        if is_free {
            return Ok(Self { session, request, id, cancel, outbox });
        }
        let error = RpcError::new(code::INVALID_REQUEST, "this id is in use");
        Err(Response::error(Some(&id), &error))
    }

    /// Answers the request. Returns `None` if it was cancelled.
    pub(super) async fn answer(self) -> Option<UnrenderedAnswer> {
        let asked = self.request.method();
        let never = CancelFlag::default();
        let cancel = match &*asked {
            // `initialize` cannot be cancelled; a cancellation is ignored.
            method::INITIALIZE => &never,
            _ => &*self.cancel,
        };
        let answering = pin!(self.session.dispatch(&self.request, &asked, &self.outbox));
        Some(match cancel.run_until_cancelled(answering).await? {
            Ok(result) => UnrenderedAnswer::Result(self.id.clone(), result),
            Err(error) => UnrenderedAnswer::Error(Response::error(Some(&self.id), &error)),
        })
    }
}

impl<H> Drop for InFlightRequest<H> {
    fn drop(&mut self) {
        let mut state = self.session.state.lock();
        // After a cancellation, the id may belong to a newer request.
        if state.running.get(&self.id).is_some_and(|own| Arc::ptr_eq(own, &self.cancel)) {
            state.running.remove(&self.id);
        }
    }
}

// === impl UnrenderedAnswer ===

impl UnrenderedAnswer {
    pub(super) fn into_response(self) -> Response {
        match self {
            Self::Result(id, result) => Response::result_from_rope(&id, &result),
            Self::Error(response) => response,
        }
    }

    pub(super) fn into_pieces(self) -> Rope {
        match self {
            Self::Result(id, result) => Response::result_rope(&id, &result),
            Self::Error(response) => response.text().clone().into(),
        }
    }
}
