//! Tests of fairness on one thread: how much a connection does before another task gets its turn.
//!
//! A busy task, whose polls are counted, and another one share a current-thread runtime, so the counts are the same in
//! every run. The bounds of one poll are tokio's budget of 128 operations, and 256 KiB. Without them the busy task does
//! all its work in one poll.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use bytestring::ByteString;
use futures_util::future::BoxFuture;
use switchboard_wire::{
    client::{CallRequest, ExchangeEvent},
    envelope::{Notification, RpcError},
    json::Raw,
    link::{LinkReader, LinkWriter, lines::line_link, pair},
    server::{
        ChangeBroadcaster, ClientFacts, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
        ServerDescription, ServerHandler, serve,
    },
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::session::{legacy, raw};

/// Tokio's budget.
const MAX_MESSAGES: usize = 128;
const MAX_BYTES: usize = 256 * 1024;

/// Counts the work of each turn, which is one poll of the busy task.
#[derive(Default)]
struct TurnCounter {
    turn: AtomicUsize,
    /// The turns of the other task.
    other: AtomicUsize,
    last: AtomicUsize,
    work: AtomicUsize,
    most: AtomicUsize,
    total: AtomicUsize,
}

// === impl TurnCounter ===

impl TurnCounter {
    /// Counts work in the current turn.
    fn add(&self, work: usize) {
        let turn = self.turn.load(Relaxed);
        if self.last.swap(turn, Relaxed) != turn {
            self.work.store(0, Relaxed);
        }
        let done = self.work.fetch_add(work, Relaxed) + work;
        self.most.fetch_max(done, Relaxed);
        self.total.fetch_add(work, Relaxed);
    }

    /// Runs `busy` in a task beside another one. Returns the most work of a turn, and all work.
    fn run(self: &Arc<Self>, busy: impl Future<Output = ()> + Send + 'static) -> (usize, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let counter = Arc::clone(self);
            let other = tokio::spawn(poll_fn(move |cx| {
                counter.other.fetch_add(1, Relaxed);
                cx.waker().wake_by_ref();
                Poll::<()>::Pending
            }));
            let (counter, mut busy) = (Arc::clone(self), Box::pin(busy));
            let polled = poll_fn(move |cx| {
                counter.turn.fetch_add(1, Relaxed);
                busy.as_mut().poll(cx)
            });
            tokio::spawn(polled).await.unwrap();
            other.abort();
        });
        let (turns, other) = (self.turn.load(Relaxed), self.other.load(Relaxed));
        assert!(other + 1 >= turns, "{other} turns beside {turns}");
        (self.most.load(Relaxed), self.total.load(Relaxed))
    }
}

/// A source that always has more, until its end, and never makes its reader wait.
struct ReadySource(Arc<[u8]>, usize);

impl AsyncRead for ReadySource {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let rest = &self.0[self.1..];
        let length = rest.len().min(into.remaining());
        into.put_slice(&rest[..length]);
        self.1 += length;
        Poll::Ready(Ok(()))
    }
}

/// A sink that takes everything at once.
struct ReadySink(Arc<TurnCounter>);

impl AsyncWrite for ReadySink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.0.add(bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A handler that answers at once, and counts the bytes or the number of all messages.
struct Counting {
    counter: Arc<TurnCounter>,
    bytes: bool,
}

impl Counting {
    fn count(&self, bytes: usize) {
        self.counter.add(if self.bytes { bytes } else { 1 });
    }
}

impl ServerHandler for Counting {
    fn describe(&self) -> ServerDescription {
        let nothing = Raw::empty_object;
        ServerDescription { info: nothing(), capabilities: nothing(), instructions: None }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        self.count(asked.params.as_str().len());
        Box::pin(async { Ok(HandlerReply::Complete(Raw::empty_object())) })
    }

    fn on_notification(&self, notification: Notification, _: Option<ClientFacts>) {
        self.count(notification.text().len());
    }
}

/// Serves a client that has sent everything already; the answers go to a sink that is never full.
async fn serve_flood(handler: Counting, reader: LinkReader, writer: LinkWriter) {
    let changes = ChangeBroadcaster::default();
    serve((writer, reader), Arc::new(handler), &changes, ServeOptions::default()).await.unwrap();
}

fn served_lines(line: &str, times: usize, bytes: bool) -> (usize, usize) {
    let counter = Arc::new(TurnCounter::default());
    let source = ReadySource(format!("{line}\n").repeat(times).into_bytes().into(), 0);
    let (writer, reader, writing) = line_link(source, tokio::io::sink(), 16 << 20);
    let handler = Counting { counter: Arc::clone(&counter), bytes };
    counter.run(async {
        tokio::join!(serve_flood(handler, reader, writer), writing);
    })
}

fn notification(bytes: usize) -> String {
    let text = "x".repeat(bytes);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"text":"{text}"}}}}"#)
}

#[test]
fn a_client_that_floods_with_small_messages_pauses_after_a_budget() {
    let (most, total) = served_lines(&notification(1), 50_000, false);
    assert_eq!(total, 50_000);
    assert!(most <= MAX_MESSAGES, "{most} messages in one turn");
}

#[test]
fn a_client_that_floods_with_large_messages_pauses_after_so_many_bytes() {
    let line = notification(100_000);
    let (most, total) = served_lines(&line, 200, true);
    assert_eq!(total, 200 * line.len());
    assert!(most <= MAX_BYTES + line.len(), "{most} bytes in one turn");
}

#[test]
fn a_client_with_many_calls_that_are_answered_at_once_pauses() {
    let hello = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let call = |id| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
    };
    let calls: Vec<_> = (0..20_000).map(call).collect();
    let counter = Arc::new(TurnCounter::default());
    let text = format!("{hello}\n{}\n", calls.join("\n"));
    let source = ReadySource(text.into_bytes().into(), 0);
    let (writer, reader, writing) = line_link(source, tokio::io::sink(), 1 << 20);
    let handler = Counting { counter: Arc::clone(&counter), bytes: false };
    let (most, total) = counter.run(async {
        tokio::join!(serve_flood(handler, reader, writer), writing);
    });
    // A call over the limit of calls at once is refused, so not all of them reach the handler.
    assert!(total > 1_000, "{total}");
    // Each of the calls under way may be polled once in a turn, besides those that are read in it.
    let bound = MAX_MESSAGES + ServeOptions::default().max_in_flight;
    assert!(most <= bound, "{most} calls in one turn");
}

#[test]
fn a_reader_of_a_pair_pauses_although_its_writer_never_does() {
    let counter = Arc::new(TurnCounter::default());
    let (writer, mut reader) = pair::one_way();
    let count = Arc::clone(&counter);
    let (most, total) = counter.run(async move {
        // Writer and reader are polled in one task: so the writer refills the queue while the reader reads, as it
        // would on another thread.
        for _ in 0..10_000 {
            writer.try_send("{}".into()).unwrap();
            reader.next().await.unwrap().unwrap();
            count.add(1);
        }
    });
    assert_eq!(total, 10_000);
    assert!(most <= MAX_MESSAGES, "{most} messages in one turn");
}

#[test]
fn a_writer_pauses_although_its_peer_takes_everything() {
    let counter = Arc::new(TurnCounter::default());
    let (writer, _reader, writing) =
        line_link(tokio::io::empty(), ReadySink(Arc::clone(&counter)), 1 << 20);
    let (large, text) = (100_000, ByteString::from("x".repeat(100_000)));
    let (most, total) = counter.run(async move {
        let sending = async move {
            for _ in 0..200 {
                writer.send(text.clone()).await.unwrap();
            }
        };
        tokio::join!(writing, sending);
    });
    assert_eq!(total, 200 * (large + 1));
    assert!(most <= 2 * MAX_BYTES + large, "{most} bytes in one turn");
}

/// The server's messages are in the mailbox of the call before the call is polled again.
#[test]
fn a_call_whose_server_floods_with_progress_pauses() {
    let counter = Arc::new(TurnCounter::default());
    let count = Arc::clone(&counter);
    let (most, total) = counter.run(async move {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let call = CallRequest::call_tool("flooded", &raw("{}")).with_progress();
        let mut exchange = client.call(call);
        let flooding = tokio::spawn(async move {
            let asked = peer.expect("tools/call").await;
            for step in 0..5_000 {
                let token = asked.id();
                peer.say(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
                ))
                .await;
            }
            peer.answer(&asked, "{}").await;
        });
        loop {
            match exchange.next().await.unwrap() {
                ExchangeEvent::Done(_) => break,
                _ => count.add(1),
            }
        }
        flooding.await.unwrap();
    });
    assert!(total > 1_000, "{total}");
    assert!(most <= MAX_MESSAGES, "{most} events in one turn");
}
