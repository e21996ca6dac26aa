//! Answers to a JSON-RPC batch: requests run concurrently, and their answers leave as one text of bounded size.
//!
//! Used by [`serve`](super::serve) and the HTTP face. It does not limit the number of messages
//! ([`MAX_BATCH_MESSAGES`](crate::envelope::MAX_BATCH_MESSAGES), applied by the parser) and does not charge the
//! client's budget; its callers do.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};

use super::{HandlerSession, ServerHandler, session::Outbox};
use crate::{
    envelope::{Id, MalformedMessage, Response, RpcError, RpcMessage, code},
    json::Rope,
    link::LinkWriter,
};

/// The most bytes of all answers to one batch. A request with an answer beyond the limit gets an error.
pub const MAX_BATCH_ANSWER_BYTES: usize = 16 << 20;

/// The answers to a batch so far.
#[derive(Default)]
struct BatchAnswers {
    /// Each answer with its request's index in the batch.
    answers: Vec<(usize, Rope)>,
    bytes: usize,
}

// === impl HandlerSession ===

impl<H: ServerHandler> HandlerSession<H> {
    /// Answers all messages of a batch, as one text. Returns `None` if the batch has no request.
    ///
    /// The messages are registered at once, as with [`HandlerSession::answer`]. Those that belong to its requests go to
    /// `said`, if it is given, as with [`HandlerSession::answer_apart`].
    pub fn answer_batch(
        self: Arc<Self>,
        messages: Vec<Result<RpcMessage, MalformedMessage>>,
        said: Option<LinkWriter>,
    ) -> impl Future<Output = Option<Rope>> + Send + use<H> {
        let outbox = said.map_or_else(|| self.outbox.clone(), Outbox::new);
        let answering = messages.into_iter().enumerate().map(|(at, message)| {
            let id = id_of(&message);
            let answer = self.clone().answer_in_pieces(message, outbox.clone());
            answer.map(move |answer| (at, id, answer))
        });
        let mut answering: FuturesUnordered<_> = answering.collect();
        async move {
            let mut answers = BatchAnswers::default();
            while let Some((at, id, answer)) = answering.next().await {
                if let Some(answer) = answer {
                    answers.add(at, id.as_ref(), answer);
                }
            }
            answers.into_text()
        }
    }
}

fn id_of(message: &Result<RpcMessage, MalformedMessage>) -> Option<Id> {
    match message {
        Ok(RpcMessage::Request(request)) => Some(request.id()),
        Ok(_) => None,
        Err(malformed) => malformed.id.clone(),
    }
}

// === impl BatchAnswers ===

impl BatchAnswers {
    fn add(&mut self, at: usize, id: Option<&Id>, answer: Rope) {
        let answer = if self.bytes + answer.len() > MAX_BATCH_ANSWER_BYTES {
            Response::error(id, &too_large()).text().clone().into()
        } else {
            answer
        };
        self.bytes += answer.len();
        self.answers.push((at, answer));
    }

    /// Joins the answers, in the order of the requests.
    fn into_text(mut self) -> Option<Rope> {
        if self.answers.is_empty() {
            return None;
        }
        self.answers.sort_unstable_by_key(|(at, _)| *at);
        let mut text = String::with_capacity(self.bytes + self.answers.len() + 1);
        for (_, answer) in self.answers {
            text.push(if text.is_empty() { '[' } else { ',' });
            for piece in answer.into_pieces() {
                text.push_str(&piece);
            }
        }
        text.push(']');
        Some(bytestring::ByteString::from(text).into())
    }
}

fn too_large() -> RpcError {
    let text = format!(
        "the answers to this batch are larger than {MAX_BATCH_ANSWER_BYTES} bytes; send this request in a batch of its own"
    );
    RpcError::new(code::INTERNAL_ERROR, text)
}
