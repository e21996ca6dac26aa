//! Replies as scripts: a head, then steps.
//!
//! Used by tests to program the scripted server; `play` runs them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

/// The server's reaction to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) framing: Framing,
    pub(super) steps: Vec<Step>,
}

/// How the end of the body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// `Content-Length`: the length of all bytes in the script, unless the script sets another.
    Length,
    Chunked,
    /// No head and no framing: only the steps.
    Raw,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Bytes(Vec<u8>),
    Wait(Signal),
    Delay(Duration),
    Close,
    Reset,
    HalfClose,
    Hang,
    Feed(Fed),
}

/// Pieces of a body that arrive later. Only the first reply that plays them gets them.
#[derive(Clone, Debug)]
pub(super) struct Fed(Arc<Mutex<Option<mpsc::UnboundedReceiver<Vec<u8>>>>>);

impl Fed {
    pub(super) fn take(&self) -> Option<mpsc::UnboundedReceiver<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Lets a test decide when a script continues. An early signal is remembered.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<Notify>);

impl Signal {
    /// Releases one waiter, now or when it comes.
    pub fn fire(&self) {
        self.0.notify_one();
    }

    /// Waits for [`fire`](Self::fire).
    pub async fn wait(&self) {
        self.0.notified().await;
    }
}

impl Reply {
    fn new(status: u16, framing: Framing) -> Self {
        Self { status, headers: Vec::new(), framing, steps: Vec::new() }
    }

    /// A JSON body.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::text(status, "application/json", body)
    }

    /// A body of another type.
    pub fn text(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, Framing::Length).header("content-type", content_type).bytes(body)
    }

    /// A reply without a body.
    pub fn empty(status: u16) -> Self {
        Self::new(status, Framing::Length)
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::empty(status).header("location", location)
    }

    /// An event stream, to which events are added; it ends with the script.
    pub fn events() -> Self {
        Self::chunked(200, "text/event-stream")
    }

    /// A body sent in chunks.
    pub fn chunked(status: u16, content_type: &str) -> Self {
        Self::new(status, Framing::Chunked).header("content-type", content_type)
    }

    /// Exactly these bytes, including the head; further steps may follow.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(0, Framing::Raw).bytes(bytes)
    }

    /// No reply, forever.
    pub fn silence() -> Self {
        Self::new(0, Framing::Raw).hang()
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds body bytes, as one chunk where the body is chunked.
    #[must_use]
    pub fn bytes(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Bytes(bytes.into()))
    }

    /// Adds an event with one line of data.
    #[must_use]
    pub fn event(self, data: &str) -> Self {
        self.bytes(format!("data: {data}\n\n"))
    }

    /// Continues when the signal is fired.
    #[must_use]
    pub fn wait(self, signal: &Signal) -> Self {
        self.step(Step::Wait(signal.clone()))
    }

    /// Continues after a while, by the runtime's clock.
    #[must_use]
    pub fn delay(self, time: Duration) -> Self {
        self.step(Step::Delay(time))
    }

    /// Closes the connection in an orderly way, even before the announced end.
    #[must_use]
    pub fn close(self) -> Self {
        self.step(Step::Close)
    }

    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    /// Closes the sending direction and continues to read.
    #[must_use]
    pub fn half_close(self) -> Self {
        self.step(Step::HalfClose)
    }

    /// Stays idle until the client disconnects.
    #[must_use]
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// Adds body bytes as they come, until the sender is dropped. When the client disconnects, the
    /// sender's channel closes.
    #[must_use]
    pub fn feed(self, pieces: mpsc::UnboundedReceiver<Vec<u8>>) -> Self {
        self.step(Step::Feed(Fed(Arc::new(Mutex::new(Some(pieces))))))
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}
