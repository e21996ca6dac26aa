//! POSTs that can outlive the caller of their request, so that a cancellation follows its request.
//!
//! Over HTTP each message is a request of its own, and two of them may arrive in either order. A cancellation that
//! overtakes its call is for a call that the server does not know yet, and the call then runs to its end. So when a
//! caller goes away, its POST is sent to its end first. Used by Streamable HTTP and by HTTP+SSE.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytestring::ByteString;
use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::{
    Error,
    http::{HttpError, HttpResponse},
};

type PostResult = Result<HttpResponse, HttpError>;

/// POSTs of callers that went away that may be under way. Each was a call under way before.
const MAX_ABANDONED_POSTS: usize = 4096;
/// A POST under way that does not borrow from its caller. The lock, which is never taken, makes it possible to share
/// what holds it.
pub(crate) struct PendingPost(Mutex<BoxFuture<'static, PostResult>>);

/// A request whose caller went away while it was being sent, and the message that takes it back.
type AbandonedPost = (PendingPost, ByteString);

/// Where abandoned POSTs are handed in. Clones share it.
#[derive(Clone)]
pub(crate) struct AbandonedPostSender(mpsc::Sender<AbandonedPost>);

/// Abandoned POSTs, to be given to [`AbandonedPosts::finish`].
pub(crate) struct AbandonedPosts(mpsc::Receiver<AbandonedPost>);

/// A place for abandoned POSTs.
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
        self.0.get_mut().as_mut().poll(cx)
    }
}

impl fmt::Debug for PendingPost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingPost")
    }
}

// === impl AbandonedPostSender ===

impl AbandonedPostSender {
    /// Has `text` sent, which takes back a request, once the request has been sent.
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
    /// Sends each POST to its end, or for as long as `limit`, and then, with `send`, the message that takes it back. They
    /// all run side by side: one that waits holds up no other.
    pub(crate) async fn finish<S: Future<Output = ()>>(
        mut self,
        limit: Duration,
        send: impl Fn(ByteString) -> S,
    ) {
        let mut running = FuturesUnordered::new();
        let finish_one = async |(posting, text): AbandonedPost| {
            // Held until the cancellation is sent, so that the server hears of that before its answer is closed.
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
