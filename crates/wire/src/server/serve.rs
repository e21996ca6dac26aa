//! The serve loop: serves one client over one link.
//!
//! Used by the commands that serve stdio, by the SSE and WebSocket faces, and by in-process servers. One task reads
//! messages and polls all running answers; no answer waits for another, and it spawns no task for a message.
//! Streamable HTTP does not use it (`gateway::face::streamable`).

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

/// Limits for one client.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The most requests that run at once, including those in batches; further ones are refused.
    pub max_in_flight: usize,
    /// The byte budget of those requests. Clones of these options share it.
    pub budget: ByteBudget,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { max_in_flight: 256, budget: ByteBudget::default() }
    }
}

/// The running requests.
#[derive(Default)]
struct PendingAnswers {
    answers: FuturesUnordered<BoxFuture<'static, FinishedAnswer>>,
    /// The number of requests in `answers`.
    requests: usize,
}

/// The outcome of one message.
struct FinishedAnswer {
    text: Option<ByteString>,
    /// The number of requests in the message.
    requests: usize,
}

/// Serves until the client closes the link; running answers are then dropped.
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

/// Sends the answers that finish soon after the client closed its sending end: it may still read.
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
    // After the timeout, the client is unlikely to wait.
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
            // Registered before the next message is read, even if it starts later.
            let answer = Box::pin({
                let answer = session.clone().answer(Ok(RpcMessage::Request(request)));
                answer
                    .map(|response| finish_answer(response.map(|it| it.text().clone()), 1, charge))
            });
            answering.answers.push(answer);
        }
        // Notifications and answers are handled at once, in order.
        Ok(MessageOrBatch::One(message)) => {
            session.clone().answer(Ok(message)).await;
        }
        Ok(MessageOrBatch::Batch(messages)) => {
            let requests = messages.len();
            let Some(charge) = answering.admit(requests, bytes, options) else {
                return refuse(session, None).await;
            };
            let answer = session.clone().answer_batch(messages, None);
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

/// Releases the budget of finished requests.
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
    /// Counts `requests` of `bytes` in. Returns `None` if there is no room.
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

    /// Returns the answer of the next finished message; `None` if no request is running. Cancel-safe.
    async fn next(&mut self) -> Option<Option<ByteString>> {
        let FinishedAnswer { text, requests } = self.answers.next().await?;
        self.requests -= requests;
        Some(text)
    }
}
