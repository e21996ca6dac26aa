//! Serving one client over one link.
//!
//! One task: it reads, and polls the answers that are being worked on. No answer waits for another,
//! and nothing is spawned for a message.

use std::sync::Arc;

use bytestring::ByteString;
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};

use super::{ByteBudget, ByteCharge, ChangeBroadcaster, HandlerSession, ServerHandler};
use crate::{
    Error,
    envelope::{Id, MessageOrBatch, Response, RpcError, RpcMessage, code},
    json::Rope,
    link::{LinkFrame, LinkReader, LinkWriter},
};

/// Bounds on what one client may do.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Requests being answered at once, those of batches included; one past it is refused.
    pub max_in_flight: usize,
    /// Bytes of those requests. Clones of these options share it.
    pub budget: ByteBudget,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { max_in_flight: 256, budget: ByteBudget::default() }
    }
}

/// The requests that are being answered.
#[derive(Default)]
struct PendingAnswers {
    answers: FuturesUnordered<BoxFuture<'static, FinishedAnswer>>,
    /// How many requests they are.
    requests: usize,
}

/// What one message came to.
struct FinishedAnswer {
    text: Option<ByteString>,
    /// How many requests it held.
    requests: usize,
}

/// Serves until the client closes; answers under way are then dropped.
pub async fn serve<H: ServerHandler>(
    (writer, mut reader): (LinkWriter, LinkReader),
    handler: Arc<H>,
    changes: &ChangeBroadcaster,
    options: ServeOptions,
) -> Result<(), Error> {
    let mut news = changes.listen();
    let session = HandlerSession::new(handler, writer);
    let mut answering = PendingAnswers::default();
    loop {
        tokio::select! {
            frame = reader.next() => match frame? {
                None => return drain(&session, answering).await,
                Some(frame) => handle_frame(&session, frame, &mut answering, &options).await,
            },
            Some(text) = answering.next() => {
                if let Some(text) = text {
                    session.outbox.send(text).await;
                }
            }
            change = news.next() => session.announce(&change).await,
        }
    }
}

/// A client that closes its end may still read: answers that are ready soon reach it.
async fn drain<H: ServerHandler>(
    session: &Arc<HandlerSession<H>>,
    mut answering: PendingAnswers,
) -> Result<(), Error> {
    const DRAIN_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(250);
    let finishing = async {
        while let Some(answer) = answering.next().await {
            if let Some(text) = answer {
                session.outbox.send(text).await;
            }
        }
    };
    // Past that, nobody is likely to wait.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, finishing).await;
    Ok(())
}

async fn handle_frame<H: ServerHandler>(
    session: &Arc<HandlerSession<H>>,
    frame: LinkFrame,
    answering: &mut PendingAnswers,
    options: &ServeOptions,
) {
    let bytes = frame.len();
    match frame.parse() {
        Ok(MessageOrBatch::One(RpcMessage::Request(request))) => {
            let Some(charge) = answering.admit(1, bytes, options) else {
                return refuse(session, Some(&request.id())).await;
            };
            // It is taken in before the next message is read, whenever it begins.
            let answer = Box::pin({
                let answer = session.clone().answer(Ok(RpcMessage::Request(request)));
                answer
                    .map(|response| finish_answer(response.map(|it| it.text().clone()), 1, charge))
            });
            answering.answers.push(answer);
        }
        // Notifications and answers take no time and keep their order.
        Ok(MessageOrBatch::One(message)) => {
            session.clone().answer(Ok(message)).await;
        }
        Ok(MessageOrBatch::Batch(messages)) => {
            let requests = messages.len();
            let Some(charge) = answering.admit(requests, bytes, options) else {
                return refuse(session, None).await;
            };
            let answer = session.clone().answer_batch(messages);
            answering.answers.push(Box::pin(
                answer.map(move |text| finish_answer(text.map(Rope::into_text), requests, charge)),
            ));
        }
        Err(malformed) => {
            if let Some(response) = session.clone().answer(Err(malformed)).await {
                session.outbox.send(response.text().clone()).await;
            }
        }
    }
}

/// The end of some requests, which gives back what they held.
fn finish_answer(text: Option<ByteString>, requests: usize, charge: ByteCharge) -> FinishedAnswer {
    drop(charge);
    FinishedAnswer { text, requests }
}

async fn refuse<H: ServerHandler>(session: &HandlerSession<H>, id: Option<&Id>) {
    let response = Response::error(id, &too_busy());
    session.outbox.send(response.text().clone()).await;
}

fn too_busy() -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, "too many requests at once; try again")
}

// === impl PendingAnswers ===

impl PendingAnswers {
    /// Counts `requests` of so many bytes in, if there is room for them.
    fn admit(
        &mut self,
        requests: usize,
        bytes: usize,
        options: &ServeOptions,
    ) -> Option<ByteCharge> {
        if self.requests + requests > options.max_in_flight {
            return None;
        }
        let charge = options.budget.charge(bytes)?;
        self.requests += requests;
        Some(charge)
    }

    /// What the next message to be answered comes to; nothing while none is being answered. Safe to cancel.
    async fn next(&mut self) -> Option<Option<ByteString>> {
        let FinishedAnswer { text, requests } = self.answers.next().await?;
        self.requests -= requests;
        Some(text)
    }
}
