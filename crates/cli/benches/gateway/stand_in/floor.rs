//! The floor: a gateway with no duty but forwarding. One thread parses the envelope, gives the message an id of its
//! own, and splices the old one back into the answer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use switchboard_testkit::http1::{Http, Received};
use switchboard_wire::envelope::{Id, MessageOrBatch, Request, RpcMessage, parse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Notify, oneshot};
use tokio::task::{LocalSet, spawn_local};

use super::{Behind, Upstream};

/// The head of an answer, up to its length.
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one\r\n";
/// The same for what wants no answer.
const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\n";

/// The way to the upstream.
enum Way {
    Pipes(Pipes),
    Pool(Pool),
}

/// One pair of pipes for all.
#[derive(Default)]
struct Pipes {
    next: Cell<u64>,
    waiting: RefCell<HashMap<u64, (Id, oneshot::Sender<ByteString>)>>,
    out: RefCell<BytesMut>,
    written: Notify,
}

/// Connections that nobody uses now.
struct Pool {
    address: SocketAddr,
    next: Cell<u64>,
    idle: RefCell<Vec<Http>>,
}

pub(super) async fn serve(behind: Behind, upstream: Upstream) {
    LocalSet::new().run_until(accept(behind, upstream)).await;
}

async fn accept(behind: Behind, upstream: Upstream) {
    let way = Rc::new(match behind {
        Behind::Stdio => Way::Pipes(Pipes::default()),
        Behind::Http(address) => {
            Way::Pool(Pool { address, next: Cell::default(), idle: RefCell::default() })
        }
    });
    let mut child = None;
    if let Way::Pipes(_) = &*way {
        let mut upstream = super::started(upstream);
        spawn_local(write(Rc::clone(&way), upstream.stdin.take().unwrap()));
        spawn_local(read(Rc::clone(&way), upstream.stdout.take().unwrap()));
        child = Some(upstream);
    }
    let listener = super::listen().await;
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let way = Rc::clone(&way);
        let _held = &child;
        spawn_local(async move {
            let mut connection = Http::new(stream).unwrap();
            while let Ok(Some(asked)) = connection.receive().await {
                let sent = match way.forward(&asked).await {
                    Some(answer) => connection.send(OK, &answer).await,
                    None => connection.send(ACCEPTED, &[]).await,
                };
                if sent.is_err() {
                    return;
                }
            }
        });
    }
}

// === impl Way ===

impl Way {
    async fn forward(&self, asked: &Received) -> Option<Bytes> {
        let text = ByteString::try_from(asked.body.clone()).ok()?;
        let request = match (self, parse(text).ok()?) {
            (_, MessageOrBatch::One(RpcMessage::Request(request))) => request,
            (Self::Pipes(pipes), MessageOrBatch::One(RpcMessage::Notification(note))) => {
                pipes.send(note.text());
                return None;
            }
            _ => return None,
        };
        match self {
            Self::Pipes(pipes) => pipes.forward(&request).await.map(ByteString::into_bytes),
            Self::Pool(pool) => pool.forward(&request, asked).await,
        }
    }
}

// === impl Pipes ===

impl Pipes {
    async fn forward(&self, request: &Request) -> Option<ByteString> {
        let id = self.next.get();
        self.next.set(id + 1);
        let text = request.rewrite(&Id::number(id), &[]).unwrap();
        let (sender, receiver) = oneshot::channel();
        self.waiting.borrow_mut().insert(id, (request.id(), sender));
        self.send(&text);
        receiver.await.ok()
    }

    fn send(&self, text: &str) {
        let mut out = self.out.borrow_mut();
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\n");
        self.written.notify_one();
    }

    fn take(&self, line: Bytes) {
        let text = ByteString::try_from(line).unwrap();
        let Ok(MessageOrBatch::One(RpcMessage::Response(response))) = parse(text) else { return };
        let id = response.id().and_then(|id| id.as_u64()).unwrap();
        if let Some((asked, sender)) = self.waiting.borrow_mut().remove(&id) {
            let _ = sender.send(response.rewrite(&asked, &[]).unwrap());
        }
    }
}

async fn write(way: Rc<Way>, mut input: ChildStdin) {
    let Way::Pipes(pipes) = &*way else { return };
    loop {
        let out = pipes.out.take();
        if out.is_empty() {
            pipes.written.notified().await;
        } else if input.write_all(&out).await.is_err() {
            return;
        }
    }
}

async fn read(way: Rc<Way>, mut output: ChildStdout) {
    let Way::Pipes(pipes) = &*way else { return };
    let mut buffer = BytesMut::new();
    let mut searched = 0;
    loop {
        buffer.reserve(64 * 1024);
        if !matches!(output.read_buf(&mut buffer).await, Ok(1..)) {
            return;
        }
        while let Some(at) = memchr::memchr(b'\n', &buffer[searched..]) {
            let mut line = buffer.split_to(searched + at + 1);
            line.truncate(line.len() - 1);
            pipes.take(line.freeze());
            searched = 0;
        }
        searched = buffer.len();
    }
}

// === impl Pool ===

impl Pool {
    async fn forward(&self, request: &Request, asked: &Received) -> Option<Bytes> {
        const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
            accept: application/json, text/event-stream\r\n";
        let id = self.next.get();
        self.next.set(id + 1);
        let text = request.rewrite(&Id::number(id), &[]).unwrap();
        let idle = self.idle.borrow_mut().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Http::connect(self.address).await.ok()?,
        };
        let mut head = HEAD.to_owned();
        for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
            if let Some(value) = asked.header(name) {
                head.extend([name, ": ", value, "\r\n"]);
            }
        }
        connection.send(&head, text.as_bytes()).await.ok()?;
        let answer = connection.receive().await.ok()??;
        self.idle.borrow_mut().push(connection);
        let text = ByteString::try_from(answer.body).ok()?;
        let Ok(MessageOrBatch::One(RpcMessage::Response(response))) = parse(text) else {
            return None;
        };
        Some(response.rewrite(&request.id(), &[]).unwrap().into_bytes())
    }
}
