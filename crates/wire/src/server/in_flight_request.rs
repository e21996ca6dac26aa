//! A request between being read and being answered.
//!
//! It is taken in when it is read and begins when it is first polled. What comes right behind it, such as the word that
//! it is not wanted any more, is read in between, and finds it.

use std::{collections::hash_map::Entry, pin::pin, sync::Arc};

use super::{HandlerSession, ServerHandler, cancel::CancelFlag};
use crate::{
    envelope::{Id, Request, Response, RpcError, code},
    json::Rope,
    meta::method,
};

/// A request that was taken in: it can be taken back from here on, and its id is free again when it is answered, or
/// when nobody wants to know any more.
pub(super) struct InFlightRequest<H> {
    session: Arc<HandlerSession<H>>,
    request: Request,
    id: Id,
    cancel: Arc<CancelFlag>,
}

/// An answer before it is a text.
pub(super) enum UnrenderedAnswer {
    Result(Id, Rope),
    Error(Response),
}

// === impl InFlightRequest ===

impl<H: ServerHandler> InFlightRequest<H> {
    /// Takes a request in; the error is the answer to one whose id is in use.
    pub(super) fn new(session: Arc<HandlerSession<H>>, request: Request) -> Result<Self, Response> {
        let (id, cancel) = (request.id(), Arc::new(CancelFlag::default()));
        let is_free = match session.state().running.entry(id.clone()) {
            Entry::Vacant(place) => {
                place.insert(cancel.clone());
                true
            }
            Entry::Occupied(_) => false,
        };
        if is_free {
            return Ok(Self { session, request, id, cancel });
        }
        let error = RpcError::new(code::INVALID_REQUEST, "this id is in use");
        Err(Response::error(Some(&id), &error))
    }

    /// Answers it; `None` if it was taken back.
    pub(super) async fn answer(self) -> Option<UnrenderedAnswer> {
        let asked = self.request.method();
        let never = CancelFlag::default();
        let cancel = match &*asked {
            // It cannot be taken back, and a word that does so is to be ignored.
            method::INITIALIZE => &never,
            _ => &*self.cancel,
        };
        let answering = pin!(self.session.dispatch(&self.request, &asked));
        Some(match cancel.run_until_cancelled(answering).await? {
            Ok(result) => UnrenderedAnswer::Result(self.id.clone(), result),
            Err(error) => UnrenderedAnswer::Error(Response::error(Some(&self.id), &error)),
        })
    }
}

impl<H> Drop for InFlightRequest<H> {
    fn drop(&mut self) {
        let mut state = self.session.state.lock();
        // Once it was taken back, the id may be another request's.
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
