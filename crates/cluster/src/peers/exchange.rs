//! One exchange between two replicas: pieces in both directions, a window, signs of life, an end.
//!
//! Used by `peers`. Each side notices within eight seconds that the other one is gone. It does not choose the replica.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::frame::{ExchangeId, Frame, FrameKind};
use super::{FRAME_QUEUE, MAX_EXCHANGES, PeerError, PeerEvent, PeerLink};
use crate::heartbeat::ReplicaId;

/// The largest piece: NATS takes 1 MiB.
const MAX_PIECE_BYTES: usize = 512 * 1024;
/// The pieces that may be under way unread.
const WINDOW: u64 = 8;
/// After so many pieces the reader says so.
const ACK_EVERY: u64 = 4;
/// The largest request.
const MAX_REQUEST_BYTES: usize = 64 << 20;
/// How often a side that has nothing to send says that it is alive.
const ALIVE_INTERVAL: Duration = Duration::from_secs(3);
/// A side that has said nothing for this time is gone: two signs of life are missing. A client is told within ten
/// seconds.
const SILENT_AFTER: Duration = Duration::from_secs(8);

/// One side of an exchange.
pub(super) struct PeerExchange {
    link: PeerLink,
    peer: ReplicaId,
    id: ExchangeId,
    frames: mpsc::Receiver<Frame>,
    /// Pieces that were sent, and how many of them the other side has read.
    sent: u64,
    acked: u64,
    /// Pieces that arrived in order.
    received: u64,
    waiting: VecDeque<Bytes>,
    /// Signs of life that were sent, and the number of the last one that arrived.
    alive_sent: u64,
    alive_received: u64,
    /// When the other side last said something that it had not said before.
    heard: Instant,
    peer_ended: bool,
    /// Whether the other side needs no word when this one is dropped.
    is_over: bool,
}

/// A request of another replica. Dropping it ends the exchange.
pub struct PeerRequest {
    /// The replica that asks.
    pub from: ReplicaId,
    /// What it asks.
    pub body: Vec<u8>,
    exchange: PeerExchange,
}

/// The answer of another replica, in pieces. Dropping it ends the exchange, and so the work for it.
pub struct PeerReply {
    pieces: mpsc::Receiver<Result<Bytes, PeerError>>,
    _reader: AbortOnDropHandle<()>,
}

// === impl PeerExchange ===

impl PeerExchange {
    /// This side of an exchange.
    pub(super) fn open(link: PeerLink, peer: ReplicaId, id: ExchangeId) -> Result<Self, PeerError> {
        let (sender, frames) = mpsc::channel(FRAME_QUEUE);
        {
            let mut table = link.0.exchanges.lock();
            if table.open.len() >= MAX_EXCHANGES {
                return Err(PeerError::Stopped);
            }
            table.open.insert(id, sender);
        }
        Ok(Self {
            link,
            peer,
            id,
            frames,
            sent: 0,
            acked: 0,
            received: 0,
            waiting: VecDeque::new(),
            alive_sent: 0,
            alive_received: 0,
            heard: Instant::now(),
            peer_ended: false,
            is_over: false,
        })
    }

    /// Sends the request of this side.
    pub(super) async fn send_request(&mut self, body: &[u8]) -> Result<(), PeerError> {
        let own = Bytes::from(self.link.id().as_str().to_owned());
        self.send_frame(FrameKind::Open, 0, own).await?;
        for piece in body.chunks(MAX_PIECE_BYTES) {
            self.send_piece(Bytes::copy_from_slice(piece)).await?;
        }
        self.send_frame(FrameKind::End, self.sent, Bytes::new()).await
    }

    /// Reads the request of the other side, and hands it over.
    pub(super) async fn receive_request(
        mut self,
        from: ReplicaId,
        events: mpsc::Sender<PeerEvent>,
    ) {
        let mut body = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(piece)) if body.len() + piece.len() <= MAX_REQUEST_BYTES => {
                    body.extend_from_slice(&piece);
                }
                Ok(None) => break,
                Ok(Some(_)) => return,
                Err(error) => {
                    return tracing::debug!(%error, replica = %from, "a request broke off");
                }
            }
        }
        let request = PeerRequest { from, body, exchange: self };
        if events.try_send(PeerEvent::Request(request)).is_err() {
            tracing::warn!("a request of another replica was refused: too many wait");
        }
    }

    /// The next piece of the other side; `None` after its last one. Cancel-safe.
    async fn next(&mut self) -> Result<Option<Bytes>, PeerError> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                if self.received.is_multiple_of(ACK_EVERY) {
                    self.send_frame(FrameKind::Ack, self.received, Bytes::new()).await?;
                }
                return Ok(Some(piece));
            }
            if self.peer_ended {
                return Ok(None);
            }
            self.read_frame().await?;
        }
    }

    /// Sends a piece, once the other side has room for it.
    async fn send_piece(&mut self, piece: Bytes) -> Result<(), PeerError> {
        while self.sent - self.acked >= WINDOW {
            self.read_frame().await?;
        }
        self.send_frame(FrameKind::Data, self.sent, piece).await?;
        self.sent += 1;
        Ok(())
    }

    /// Hands the answer of the other side over, until its end.
    async fn read_answer(mut self, pieces: mpsc::Sender<Result<Bytes, PeerError>>) {
        loop {
            let Some(piece) = self.next().await.transpose() else {
                self.is_over = true;
                return;
            };
            let is_last = piece.is_err();
            let room = loop {
                match timeout(ALIVE_INTERVAL, pieces.reserve()).await {
                    Ok(room) => break room,
                    Err(_) if self.send_alive().await.is_err() => return,
                    Err(_) => {}
                }
            };
            let Ok(room) = room else { return };
            room.send(piece);
            if is_last {
                return;
            }
        }
    }

    async fn send_alive(&mut self) -> Result<(), PeerError> {
        self.alive_sent += 1;
        self.send_frame(FrameKind::Alive, self.alive_sent, Bytes::new()).await
    }

    async fn send_frame(
        &mut self,
        kind: FrameKind,
        number: u64,
        payload: Bytes,
    ) -> Result<(), PeerError> {
        self.link.send(&self.peer, self.id, &Frame::new(kind, number, payload)).await
    }

    /// Waits for a frame, and says every few seconds that this side waits. Cancel-safe.
    async fn read_frame(&mut self) -> Result<(), PeerError> {
        loop {
            // A frame may have waited for longer than its sender may be silent.
            if let Ok(frame) = self.frames.try_recv() {
                return self.take_frame(frame);
            }
            let now = Instant::now();
            if now.duration_since(self.heard) >= SILENT_AFTER {
                return Err(PeerError::Silent);
            }
            let until = (now + ALIVE_INTERVAL).min(self.heard + SILENT_AFTER);
            match timeout_at(until, self.frames.recv()).await {
                Ok(Some(frame)) => return self.take_frame(frame),
                Ok(None) => return Err(PeerError::Broken),
                Err(_) => self.send_alive().await?,
            }
        }
    }

    /// Takes a frame. One that NATS has shown before is no sign of life.
    fn take_frame(&mut self, frame: Frame) -> Result<(), PeerError> {
        let is_new = match frame.kind {
            FrameKind::Data | FrameKind::End if frame.number > self.received => {
                return Err(PeerError::Broken);
            }
            FrameKind::Data if frame.number == self.received => {
                self.received += 1;
                self.waiting.push_back(frame.payload);
                true
            }
            FrameKind::End if frame.number == self.received => {
                !std::mem::replace(&mut self.peer_ended, true)
            }
            FrameKind::Ack => advance(&mut self.acked, frame.number.min(self.sent)),
            FrameKind::Alive => advance(&mut self.alive_received, frame.number),
            FrameKind::Stop => {
                self.is_over = true;
                return Err(PeerError::Stopped);
            }
            FrameKind::Gone => {
                self.is_over = true;
                return Err(PeerError::Gone);
            }
            FrameKind::Data | FrameKind::End | FrameKind::Open | FrameKind::Notice => false,
        };
        if is_new {
            self.heard = Instant::now();
        }
        Ok(())
    }
}

/// Raises a count to `new`. Whether it was lower.
fn advance(count: &mut u64, new: u64) -> bool {
    let is_higher = new > *count;
    *count = new.max(*count);
    is_higher
}

impl Drop for PeerExchange {
    fn drop(&mut self) {
        self.link.0.exchanges.lock().open.remove(&self.id);
        // Without a runtime the program is ending, and silence says the same.
        if let (false, Ok(runtime)) = (self.is_over, tokio::runtime::Handle::try_current()) {
            let (link, peer, id) = (self.link.clone(), self.peer.clone(), self.id);
            runtime.spawn(async move {
                let stop = Frame::new(FrameKind::Stop, 0, Bytes::new());
                if let Err(error) = link.send(&peer, id, &stop).await {
                    tracing::debug!(%error, "an exchange ends without a word");
                }
            });
        }
    }
}

// === impl PeerRequest ===

impl PeerRequest {
    /// Answers with a head and then pieces. Ends early when the other side no longer wants the answer, or is gone.
    pub async fn answer<S>(self, answer: impl Future<Output = (Vec<u8>, S)>)
    where
        S: Stream<Item = Bytes> + Unpin,
    {
        let from = self.from.clone();
        if let Err(error) = self.try_answer(answer).await {
            tracing::debug!(%error, replica = %from, "an answer to another replica broke off");
        }
    }

    async fn try_answer<S>(
        mut self,
        answer: impl Future<Output = (Vec<u8>, S)>,
    ) -> Result<(), PeerError>
    where
        S: Stream<Item = Bytes> + Unpin,
    {
        let exchange = &mut self.exchange;
        let mut answer = pin!(answer);
        let (head, mut pieces) = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                read = exchange.read_frame() => read?,
            }
        };
        exchange.send_piece(head.into()).await?;
        loop {
            let piece = tokio::select! {
                piece = pieces.next() => piece,
                read = exchange.read_frame() => {
                    read?;
                    continue;
                }
            };
            let Some(mut piece) = piece else { break };
            while !piece.is_empty() {
                let part = piece.split_to(piece.len().min(MAX_PIECE_BYTES));
                exchange.send_piece(part).await?;
            }
        }
        exchange.send_frame(FrameKind::End, exchange.sent, Bytes::new()).await?;
        exchange.is_over = true;
        Ok(())
    }
}

// === impl PeerReply ===

impl PeerReply {
    /// The answer to a request that was sent. A task reads it, so that the other side hears of this one also while
    /// nobody takes a piece.
    pub(super) fn new(exchange: PeerExchange) -> Self {
        let (sender, pieces) = mpsc::channel(1);
        Self { pieces, _reader: AbortOnDropHandle::new(tokio::spawn(exchange.read_answer(sender))) }
    }

    /// The next piece; `None` after the last one. The first one is the head. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Bytes>, PeerError> {
        self.pieces.recv().await.transpose()
    }
}
