//! The player of reply scripts on a connection.
//!
//! Used by `http`. The scripts are built in `reply`.

use std::fmt::Write as _;
use std::future::Future;
use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::UnboundedReceiver;

use super::Shared;
use super::io::Io;
use super::reply::{Framing, Reply, Step};
use super::request::Request;

/// The state of the connection after a reply.
#[derive(PartialEq, Eq)]
enum After {
    GoOn,
    Over,
    /// The client disconnected during the reply.
    HungUp,
}

/// Serves one request after the other, until either side closes.
pub(super) async fn serve(stream: &mut Box<dyn Io>, shared: &Shared, connection: usize) {
    let mut buffer = BytesMut::new();
    while let Some(request) = Request::read(stream, &mut buffer, connection).await {
        shared.record(&request);
        let reply = (shared.handler)(request).await;
        match play(stream, &mut buffer, reply).await {
            Ok(After::GoOn) => {}
            Ok(After::Over) => return,
            Ok(After::HungUp) | Err(_) => return shared.hang_up(),
        }
    }
}

async fn play(stream: &mut Box<dyn Io>, buffer: &mut BytesMut, reply: Reply) -> io::Result<After> {
    if reply.framing != Framing::Raw {
        stream.write_all(head(&reply).as_bytes()).await?;
        stream.flush().await?;
    }
    let framing = reply.framing;
    for step in reply.steps {
        let after = perform(stream, buffer, framing, step).await?;
        if after != After::GoOn {
            return Ok(after);
        }
    }
    match framing {
        Framing::Chunked => stream.write_all(b"0\r\n\r\n").await?,
        Framing::Length => {}
        Framing::Raw => return Ok(After::Over),
    }
    stream.flush().await?;
    Ok(After::GoOn)
}

async fn perform(
    stream: &mut Box<dyn Io>,
    buffer: &mut BytesMut,
    framing: Framing,
    step: Step,
) -> io::Result<After> {
    match step {
        Step::Bytes(bytes) => write(stream, framing, &bytes).await?,
        Step::Wait(signal) => return Ok(unless_gone(stream, buffer, signal.wait()).await),
        Step::Delay(time) => {
            return Ok(unless_gone(stream, buffer, tokio::time::sleep(time)).await);
        }
        Step::Hang => return Ok(unless_gone(stream, buffer, std::future::pending()).await),
        Step::Feed(fed) => return pass_on(stream, buffer, framing, fed.take()).await,
        Step::HalfClose => stream.shutdown().await?,
        Step::Close => {
            stream.shutdown().await?;
            return Ok(After::Over);
        }
        Step::Reset => {
            stream.reset_on_drop();
            return Ok(After::Over);
        }
    }
    Ok(After::GoOn)
}

/// Writes the pieces of a feed until it ends.
async fn pass_on(
    stream: &mut Box<dyn Io>,
    buffer: &mut BytesMut,
    framing: Framing,
    fed: Option<UnboundedReceiver<Vec<u8>>>,
) -> io::Result<After> {
    let Some(mut fed) = fed else {
        return Ok(After::GoOn);
    };
    loop {
        let mut piece = None;
        let waiting = async { piece = fed.recv().await };
        if unless_gone(stream, buffer, waiting).await == After::HungUp {
            return Ok(After::HungUp);
        }
        match piece {
            Some(bytes) => write(stream, framing, &bytes).await?,
            None => return Ok(After::GoOn),
        }
    }
}

async fn write(stream: &mut Box<dyn Io>, framing: Framing, bytes: &[u8]) -> io::Result<()> {
    if framing == Framing::Chunked {
        stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    }
    stream.write_all(bytes).await?;
    if framing == Framing::Chunked {
        stream.write_all(b"\r\n").await?;
    }
    stream.flush().await
}

/// Waits, but notices when the client disconnects. Bytes that it sends meanwhile are kept.
async fn unless_gone(
    stream: &mut Box<dyn Io>,
    buffer: &mut BytesMut,
    wait: impl Future<Output = ()>,
) -> After {
    let gone = async { while matches!(stream.read_buf(buffer).await, Ok(read) if read > 0) {} };
    tokio::select! {
        () = wait => After::GoOn,
        () = gone => After::HungUp,
    }
}

fn head(reply: &Reply) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let named = reply.headers.iter().any(|(name, _)| name == "content-length");
    match reply.framing {
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::Length if !named => {
            let _ = write!(head, "content-length: {}\r\n", length(reply));
        }
        Framing::Length | Framing::Raw => {}
    }
    head + "\r\n"
}

fn length(reply: &Reply) -> usize {
    let sizes = reply.steps.iter().map(|step| match step {
        Step::Bytes(bytes) => bytes.len(),
        _ => 0,
    });
    sizes.sum()
}
