//! Serving one client over one link.
//!
//! One task: it reads, and polls the answers that are being worked on. No answer waits for another,
//! and nothing is spawned for a message.

use std::sync::Arc;

use bytestring::ByteString;
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};

use super::{Changes, Handler, Session};
use crate::{
    Error,
    envelope::{Malformed, Message, Parsed, Response, RpcError, code},
    link::{LinkReader, LinkWriter},
    placed,
};

/// Bounds on what one client may do.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    /// Messages being answered at once; a request past it is refused.
    pub max_in_flight: usize,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { max_in_flight: 256 }
    }
}

type Answering = FuturesUnordered<BoxFuture<'static, Option<ByteString>>>;

/// Serves until the client closes; answers under way are then dropped.
pub async fn serve<H: Handler>(
    (writer, mut reader): (LinkWriter, LinkReader),
    handler: Arc<H>,
    changes: &Changes,
    options: ServeOptions,
) -> Result<(), Error> {
    let mut news = changes.listen();
    let session = Session::new(handler, writer);
    let mut answering = Answering::new();
    loop {
        tokio::select! {
            frame = reader.next() => match frame? {
                None => return drain(&session, answering).await,
                Some(frame) => take(&session, frame.parse(), &mut answering, options).await,
            },
            Some(answer) = answering.next(), if !answering.is_empty() => {
                if let Some(text) = answer {
                    session.outbox.send(text).await;
                }
            }
            change = news.next() => session.announce(&change).await,
        }
    }
}

/// A client that closes its end may still read: answers that are ready soon reach it.
async fn drain<H: Handler>(
    session: &Arc<Session<H>>,
    mut answering: Answering,
) -> Result<(), Error> {
    const GRACE: std::time::Duration = std::time::Duration::from_millis(250);
    let finishing = async {
        while let Some(answer) = answering.next().await {
            if let Some(text) = answer {
                session.outbox.send(text).await;
            }
        }
    };
    // Past that, nobody is likely to wait.
    let _ = tokio::time::timeout(GRACE, finishing).await;
    Ok(())
}

async fn take<H: Handler>(
    session: &Arc<Session<H>>,
    parsed: Result<Parsed, Malformed>,
    answering: &mut Answering,
    options: ServeOptions,
) {
    let busy = answering.len() >= options.max_in_flight;
    match parsed {
        Ok(Parsed::One(Message::Request(request))) if busy => {
            let response = Response::error(Some(&request.id()), &too_busy());
            session.outbox.send(response.text().clone()).await;
        }
        Ok(Parsed::One(message @ Message::Request(_))) => {
            // It is taken in before the next message is read, whenever it begins.
            let answer = placed(|| {
                let answer = session.clone().answer(Ok(message));
                answer.map(|response| Some(response?.text().clone()))
            });
            answering.push(answer);
        }
        // Notifications and answers take no time and keep their order.
        Ok(Parsed::One(message)) => {
            session.clone().answer(Ok(message)).await;
        }
        Ok(Parsed::Batch(messages)) => answering.push(Box::pin(batch(session, messages))),
        Err(malformed) => {
            if let Some(response) = session.clone().answer(Err(malformed)).await {
                session.outbox.send(response.text().clone()).await;
            }
        }
    }
}

fn too_busy() -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, "too many requests at once; try again")
}

/// All answers of a batch together, as JSON-RPC has it.
fn batch<H: Handler>(
    session: &Arc<Session<H>>,
    messages: Vec<Result<Message, Malformed>>,
) -> impl Future<Output = Option<ByteString>> + Send + use<H> {
    let answering = messages.into_iter().map(|message| session.clone().answer(message));
    let answering = futures_util::future::join_all(answering);
    async {
        let answers = answering.await;
        let texts: Vec<_> =
            answers.iter().flatten().map(|response| -> &str { response.text() }).collect();
        (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")).into())
    }
}
