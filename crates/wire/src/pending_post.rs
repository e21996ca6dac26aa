//! POSTs that outlive the caller of their request, so that a cancellation follows its request.
//!
//! Used by Streamable HTTP (`client::http_channel`) and HTTP+SSE (`link::sse`). Over HTTP each message is a separate
//! request, and two messages may arrive in either order. If a cancellation overtakes its call, the server does not
//! know the call yet and runs it to the end. So when a caller goes away, its POST is completed first. It does not
//! write the cancellation.

use std::{
    fmt,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytestring::ByteString;
use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::mpsc;

use crate::{
    Error,
    http::{HttpError, HttpResponse},
};

type PostResult = Result<HttpResponse, HttpError>;

/// The most abandoned POSTs that may run. Each was a running call before.
const MAX_ABANDONED_POSTS: usize = 4096;
/// A running POST that does not borrow from its caller. The `Mutex`, which is never locked, makes it `Sync`.
pub(crate) struct PendingPost(Mutex<BoxFuture<'static, PostResult>>);

/// The POST of an abandoned request, and its cancellation.
type AbandonedPost = (PendingPost, ByteString);

/// The sender of abandoned POSTs. Clones share it.
#[derive(Clone)]
pub(crate) struct AbandonedPostSender(mpsc::Sender<AbandonedPost>);

/// The receiver of abandoned POSTs, to be polled with [`AbandonedPosts::finish`].
pub(crate) struct AbandonedPosts(mpsc::Receiver<AbandonedPost>);

/// A channel for abandoned POSTs.
pub(crate) fn abandoned_posts() -> (AbandonedPostSender, AbandonedPosts) {
    let (sender, receiver) = mpsc::channel(MAX_ABANDONED_POSTS);
    (AbandonedPostSender(sender), AbandonedPosts(receiver))
}

// === impl PendingPost ===

impl PendingPost {
    pub(crate) fn new(posting: impl Future<Output = PostResult> + Send + 'static) -> Self {
        Self(Mutex::new(Box::pin(posting)))
    }
}

impl Future for PendingPost {
    type Output = PostResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(cx)
    }
}

impl fmt::Debug for PendingPost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingPost")
    }
}

// === impl AbandonedPostSender ===

impl AbandonedPostSender {
    /// Queues the cancellation `text`, to be sent after its request.
    pub(crate) fn try_cancel_after(
        &self,
        posting: PendingPost,
        text: ByteString,
    ) -> Result<(), Error> {
        self.0.try_send((posting, text)).map_err(|_| Error::Busy)
    }
}

impl fmt::Debug for AbandonedPostSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AbandonedPostSender").finish_non_exhaustive()
    }
}

// === impl AbandonedPosts ===

impl AbandonedPosts {
    /// Completes each POST, or waits for `limit`, and then sends its cancellation with `send`. The POSTs run
    /// concurrently: none waits for another.
    pub(crate) async fn finish<S: Future<Output = ()>>(
        mut self,
        limit: Duration,
        send: impl Fn(ByteString) -> S,
    ) {
        let mut running = FuturesUnordered::new();
        let finish_one = async |(posting, text): AbandonedPost| {
            // Held until the cancellation is sent, so that the server receives it before the response is closed.
            let _answer = tokio::time::timeout(limit, posting).await;
            send(text).await;
        };
        loop {
            tokio::select! {
                Some(abandoned) = self.0.recv(), if running.len() < MAX_ABANDONED_POSTS => {
                    running.push(finish_one(abandoned));
                }
                Some(()) = running.next(), if !running.is_empty() => {}
                else => return,
            }
        }
    }
}
