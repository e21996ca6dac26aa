//! Replies as scripts: a head, then steps.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

/// What the server does in answer to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) framing: Framing,
    pub(super) steps: Vec<Step>,
}

/// How the body's end is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// `Content-Length`, of all bytes in the script unless the script names another.
    Length,
    Chunked,
    /// No head and no framing: the steps are everything.
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

/// Pieces of a body that are still to come. The first reply that plays it has them.
#[derive(Clone, Debug)]
pub(super) struct Fed(Arc<Mutex<Option<mpsc::UnboundedReceiver<Vec<u8>>>>>);

impl Fed {
    pub(super) fn take(&self) -> Option<mpsc::UnboundedReceiver<Vec<u8>>> {
        self.0.lock().take()
    }
}

/// Lets a test say when a script goes on. A signal fired early is remembered.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<Notify>);

impl Signal {
    /// Lets one waiter go on, now or when it comes.
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

    /// Any other body.
    pub fn text(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, Framing::Length).header("content-type", content_type).bytes(body)
    }

    /// No body.
    pub fn empty(status: u16) -> Self {
        Self::new(status, Framing::Length)
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::empty(status).header("location", location)
    }

    /// An event stream; add events, and it ends with the script.
    pub fn events() -> Self {
        Self::chunked(200, "text/event-stream")
    }

    /// A body sent in chunks.
    pub fn chunked(status: u16, content_type: &str) -> Self {
        Self::new(status, Framing::Chunked).header("content-type", content_type)
    }

    /// Exactly these bytes, head and all; add steps for more.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(0, Framing::Raw).bytes(bytes)
    }

    /// Nothing at all, for ever.
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

    /// Goes on when the signal is fired.
    #[must_use]
    pub fn wait(self, signal: &Signal) -> Self {
        self.step(Step::Wait(signal.clone()))
    }

    /// Goes on after a while, by the runtime's clock.
    #[must_use]
    pub fn delay(self, time: Duration) -> Self {
        self.step(Step::Delay(time))
    }

    /// Closes the connection in an orderly way, whatever was promised.
    #[must_use]
    pub fn close(self) -> Self {
        self.step(Step::Close)
    }

    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    /// Closes the sending direction and goes on reading.
    #[must_use]
    pub fn half_close(self) -> Self {
        self.step(Step::HalfClose)
    }

    /// Does nothing more until the client goes away.
    #[must_use]
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// Adds body bytes as they come, until the sender is dropped. When the client goes away the
    /// sender sees its channel closed.
    #[must_use]
    pub fn feed(self, pieces: mpsc::UnboundedReceiver<Vec<u8>>) -> Self {
        self.step(Step::Feed(Fed(Arc::new(Mutex::new(Some(pieces))))))
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}
