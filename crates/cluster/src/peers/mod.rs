//! Exchanges between replicas: one asks another, which answers in pieces; and notices to all.
//!
//! Used by the program for what only one replica can do. All frames to a replica arrive on its own subject, so an
//! exchange needs no subscription. Each frame is sealed for its subject; an exchange is opened once, and its frames
//! count. It does not know what replicas ask one another.

mod exchange;
mod frame;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

pub use exchange::{PeerReply, PeerRequest};

use crate::heartbeat::{ReplicaId, now_millis};
use crate::nats::NatsConnection;
use crate::{ClusterError, ClusterKeys, ClusterName, KeyPurpose};
use exchange::PeerExchange;
use frame::{ExchangeId, Frame, FrameKind};

/// How old the first frame of an exchange may be. Clocks of replicas differ by less.
const MAX_FRAME_AGE: Duration = Duration::from_secs(30);
/// The most exchanges of one replica at once.
const MAX_EXCHANGES: usize = 4096;
/// The frames of an exchange that wait to be read: more than its window allows.
const FRAME_QUEUE: usize = 64;
/// The requests and notices that wait to be handled.
const EVENT_QUEUE: usize = 1024;

/// The link to the other replicas. Clones share it.
#[derive(Clone)]
pub struct PeerLink(Arc<SharedLink>);

struct SharedLink {
    nats: async_nats::Client,
    keys: ClusterKeys,
    cluster: ClusterName,
    id: ReplicaId,
    exchanges: Mutex<ExchangeTable>,
    /// The events, until the program takes them.
    events: Mutex<Option<mpsc::Receiver<PeerEvent>>>,
    reader: Mutex<Option<AbortOnDropHandle<()>>>,
}

#[derive(Default)]
struct ExchangeTable {
    open: HashMap<ExchangeId, mpsc::Sender<Frame>>,
    /// Exchanges and notices that were seen, each with its time: a second one is a replay.
    seen: HashMap<ExchangeId, u64>,
}

/// What another replica sends unasked.
pub enum PeerEvent {
    /// A request, to be answered.
    Request(PeerRequest),
    /// A notice to all replicas.
    Notice(Vec<u8>),
}

/// Why another replica did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// No replica of this id is connected.
    #[error("the replica is gone")]
    Gone,
    /// It has said nothing for eight seconds.
    #[error("the replica has not answered for eight seconds")]
    Silent,
    /// It ended the exchange.
    #[error("the replica ended the exchange")]
    Stopped,
    /// A frame is missing or was changed.
    #[error("a message of the replica is missing")]
    Broken,
    /// NATS takes no message.
    #[error(transparent)]
    Nats(#[from] ClusterError),
}

// === impl PeerLink ===

impl PeerLink {
    /// Listens for the other replicas.
    pub(crate) async fn open(
        nats: &NatsConnection,
        cluster: &ClusterName,
        keys: ClusterKeys,
        id: ReplicaId,
    ) -> Result<Self, ClusterError> {
        let (sender, events) = mpsc::channel(EVENT_QUEUE);
        let link = Self(Arc::new(SharedLink {
            nats: nats.client.clone(),
            keys,
            cluster: cluster.clone(),
            id,
            exchanges: Mutex::default(),
            events: Mutex::new(Some(events)),
            reader: Mutex::default(),
        }));
        let (own, all) = (format!("{}.*", link.subject(link.id())), link.notice_subject());
        let action = "listen for other replicas";
        let own = NatsConnection::within(action, link.0.nats.subscribe(own)).await?;
        let all = NatsConnection::within(action, link.0.nats.subscribe(all)).await?;
        // NATS knows of the subscriptions once it has answered.
        NatsConnection::within(action, link.0.nats.flush()).await?;
        let reader = tokio::spawn(read(Arc::downgrade(&link.0), own, all, sender));
        *link.0.reader.lock() = Some(AbortOnDropHandle::new(reader));
        Ok(link)
    }

    /// The name of this replica.
    pub fn id(&self) -> &ReplicaId {
        &self.0.id
    }

    /// What other replicas send unasked; `None` if it was taken before.
    pub fn take_events(&self) -> Option<mpsc::Receiver<PeerEvent>> {
        self.0.events.lock().take()
    }

    /// Asks a replica. The reply ends the exchange when it is dropped.
    pub async fn request(&self, to: &ReplicaId, body: &[u8]) -> Result<PeerReply, PeerError> {
        let mut exchange = PeerExchange::open(self.clone(), to.clone(), ExchangeId::random()?)?;
        exchange.send_request(body).await?;
        Ok(PeerReply::new(exchange))
    }

    /// Sends a notice to all other replicas. One that is not connected now misses it.
    pub async fn notify_all(&self, body: &[u8]) -> Result<(), PeerError> {
        let subject = self.notice_subject();
        let from = ExchangeId::random()?;
        let payload = [&from.0[..], self.0.id.as_str().as_bytes(), b" ", body].concat();
        self.publish(subject, None, &Frame::new(FrameKind::Notice, 0, payload.into())).await
    }

    fn subject(&self, replica: &ReplicaId) -> String {
        format!("switchboard.{}.to.{replica}", self.0.cluster)
    }

    fn notice_subject(&self) -> String {
        format!("switchboard.{}.all", self.0.cluster)
    }

    /// Sends a frame of an exchange.
    async fn send(
        &self,
        to: &ReplicaId,
        exchange: ExchangeId,
        frame: &Frame,
    ) -> Result<(), PeerError> {
        let subject = format!("{}.{exchange}", self.subject(to));
        let reply = format!("{}.{exchange}", self.subject(&self.0.id));
        self.publish(subject, Some(reply), frame).await
    }

    async fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        frame: &Frame,
    ) -> Result<(), PeerError> {
        let sealed = self.0.keys.seal(KeyPurpose::PeerMessage, &subject, &frame.to_bytes())?;
        let (nats, sealed) = (&self.0.nats, Bytes::from(sealed));
        let action = "send to another replica";
        match reply {
            Some(reply) => {
                let sending = nats.publish_with_reply(subject, reply, sealed);
                NatsConnection::within(action, sending).await?;
            }
            None => NatsConnection::within(action, nats.publish(subject, sealed)).await?,
        }
        Ok(())
    }
}

// === impl SharedLink ===

impl SharedLink {
    /// Gives a message to its exchange, or returns the event that it is.
    fn sort(self: &Arc<Self>, message: &Message) -> Option<(PeerExchange, ReplicaId)> {
        let exchange = message.subject.rsplit('.').next().and_then(ExchangeId::parse)?;
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            self.give(exchange, Frame::new(FrameKind::Gone, 0, Bytes::new()));
            return None;
        }
        let frame = self.open(message)?;
        if frame.kind != FrameKind::Open {
            self.give(exchange, frame);
            return None;
        }
        let from = ReplicaId::of_text(std::str::from_utf8(&frame.payload).ok()?)?;
        if !self.is_first(exchange, frame.sent) {
            tracing::warn!(replica = %from, "a replica's request was refused: it is old, or a replay");
            return None;
        }
        let opened = PeerExchange::open(PeerLink(Arc::clone(self)), from.clone(), exchange);
        opened.ok().map(|exchange| (exchange, from))
    }

    /// The content of a notice of another replica.
    fn notice(&self, message: &Message) -> Option<Vec<u8>> {
        let frame = self.open(message).filter(|frame| frame.kind == FrameKind::Notice)?;
        let (number, rest) = frame.payload.split_first_chunk()?;
        let at = rest.iter().position(|byte| *byte == b' ')?;
        let (from, body) = (&rest[..at], &rest[at + 1..]);
        let is_own = from == self.id.as_str().as_bytes();
        (!is_own && self.is_first(ExchangeId(*number), frame.sent)).then(|| body.to_vec())
    }

    fn open(&self, message: &Message) -> Option<Frame> {
        let opened = self.keys.open(KeyPurpose::PeerMessage, &message.subject, &message.payload);
        let opened = opened.inspect_err(|error| {
            tracing::warn!(%error, "a message on a replica's subject was refused");
        });
        Frame::from_bytes(&opened.ok()?)
    }

    fn give(&self, exchange: ExchangeId, frame: Frame) {
        let mut table = self.exchanges.lock();
        let full = table.open.get(&exchange).is_some_and(|open| open.try_send(frame).is_err());
        if full {
            // Its sender exceeds the window; the exchange ends without its frames.
            table.open.remove(&exchange);
        }
    }

    /// Whether an exchange is young and was not seen before.
    fn is_first(&self, exchange: ExchangeId, sent: u64) -> bool {
        let now = now_millis();
        let is_near = |time: u64| Duration::from_millis(now.abs_diff(time)) <= MAX_FRAME_AGE;
        if !is_near(sent) {
            let seconds = Duration::from_millis(now.abs_diff(sent)).as_secs();
            tracing::warn!(
                "a message of a replica is {seconds} s away from this machine's time, and at most {} s are allowed: \
                 it was held back, or a clock is wrong",
                MAX_FRAME_AGE.as_secs()
            );
            return false;
        }
        let mut table = self.exchanges.lock();
        if table.seen.len() >= 2 * MAX_EXCHANGES {
            table.seen.retain(|_, time| is_near(*time));
        }
        table.seen.insert(exchange, sent).is_none()
    }
}

/// Reads what other replicas send, until the link is dropped.
async fn read(
    link: std::sync::Weak<SharedLink>,
    mut own: Subscriber,
    mut all: Subscriber,
    events: mpsc::Sender<PeerEvent>,
) {
    loop {
        tokio::select! {
            Some(message) = own.next() => {
                let Some(link) = link.upgrade() else { return };
                if let Some((exchange, from)) = link.sort(&message) {
                    tokio::spawn(exchange.receive_request(from, events.clone()));
                }
            }
            Some(message) = all.next() => {
                let Some(link) = link.upgrade() else { return };
                let notice = link.notice(&message).map(PeerEvent::Notice);
                if notice.is_some_and(|notice| events.try_send(notice).is_err()) {
                    tracing::warn!("a notice of another replica was dropped: too many wait");
                }
            }
            else => return,
        }
    }
}
