//! A TCP proxy that injects faults between any client and any server.
//!
//! Used by tests of `wire` and `cli`. It does not know the protocol.

#![allow(clippy::expect_used, clippy::missing_panics_doc)] // a proxy that cannot start fails its test

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::{AbortHandle, JoinSet};

/// The fault in one direction. Byte counts start with the connection.
#[derive(Clone, Copy, Debug, Default)]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// Each piece waits before it passes.
    Delay(Duration),
    /// After this many bytes, both directions are closed.
    CutAfter(usize),
    /// After this many bytes, both ends are reset.
    ResetAfter(usize),
    /// After this many bytes, this direction ends; the other continues.
    HalfCloseAfter(usize),
    /// Bytes pass in pieces of this size, so that every boundary occurs.
    Trickle(usize),
    /// The byte at this position is inverted.
    CorruptAt(usize),
}

/// The faults in both directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// From the client to the server.
    pub up: Fault,
    /// From the server to the client.
    pub down: Fault,
}

/// A running proxy. Dropping it closes every connection.
pub struct FaultProxy {
    addr: SocketAddr,
    accepting: AbortHandle,
}

/// Why a direction stopped.
enum Stop {
    Ended,
    Cut,
    Reset,
}

impl FaultProxy {
    /// Starts a proxy in front of `target`.
    pub async fn start(target: SocketAddr, plan: Plan) -> Self {
        Self::start_at("127.0.0.1:0", target, plan).await
    }

    /// Starts a proxy at an address: that of one that was dropped, for what comes back.
    pub async fn start_at(address: impl ToSocketAddrs, target: SocketAddr, plan: Plan) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let addr = listener.local_addr().expect("a bound address");
        let accepting = tokio::spawn(accept(listener, target, plan)).abort_handle();
        Self { addr, accepting }
    }

    /// The address that it listens at.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, plan: Plan) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(relay(client, target, plan));
    }
}

async fn relay(client: TcpStream, target: SocketAddr, plan: Plan) -> io::Result<()> {
    let server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let stop = {
        let up = pump(&mut from_client, &mut to_server, plan.up);
        let down = pump(&mut from_server, &mut to_client, plan.down);
        tokio::pin!(up, down);
        match select(up, down).await {
            Either::Left((Ok(Stop::Ended), down)) => down.await,
            Either::Right((Ok(Stop::Ended), up)) => up.await,
            other => other.factor_first().0,
        }
    };
    if matches!(stop, Ok(Stop::Reset)) {
        to_client.as_ref().set_zero_linger()?;
        to_server.as_ref().set_zero_linger()?;
    }
    Ok(())
}

async fn pump(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, fault: Fault) -> io::Result<Stop> {
    let mut passed = 0;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            to.shutdown().await?;
            return Ok(Stop::Ended);
        }
        if let Some(stop) = pass(&mut buffer[..read], to, fault, &mut passed).await? {
            return Ok(stop);
        }
    }
}

/// Passes one piece on, with its fault. Returns `Some` when the fault ends the direction.
async fn pass(
    piece: &mut [u8],
    to: &mut OwnedWriteHalf,
    fault: Fault,
    passed: &mut usize,
) -> io::Result<Option<Stop>> {
    let start = *passed;
    *passed += piece.len();
    match fault {
        Fault::None => to.write_all(piece).await?,
        Fault::Delay(time) => {
            tokio::time::sleep(time).await;
            to.write_all(piece).await?;
        }
        Fault::Trickle(size) => {
            for part in piece.chunks(size.max(1)) {
                to.write_all(part).await?;
                tokio::task::yield_now().await;
            }
        }
        Fault::CorruptAt(at) => {
            if let Some(byte) = at.checked_sub(start).and_then(|at| piece.get_mut(at)) {
                *byte = !*byte;
            }
            to.write_all(piece).await?;
        }
        Fault::CutAfter(end) => return until(piece, to, end, start, Stop::Cut).await,
        Fault::ResetAfter(end) => return until(piece, to, end, start, Stop::Reset).await,
        Fault::HalfCloseAfter(end) => {
            let stop = until(piece, to, end, start, Stop::Ended).await?;
            if stop.is_some() {
                to.shutdown().await?;
            }
            return Ok(stop);
        }
    }
    Ok(None)
}

async fn until(
    piece: &[u8],
    to: &mut OwnedWriteHalf,
    end: usize,
    start: usize,
    stop: Stop,
) -> io::Result<Option<Stop>> {
    let allowed = end.saturating_sub(start).min(piece.len());
    to.write_all(&piece[..allowed]).await?;
    Ok((start + piece.len() >= end).then_some(stop))
}
