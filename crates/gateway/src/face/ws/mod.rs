//! The WebSocket face: a session for each connection, one message in each text frame.
//!
//! Used by `routes`. The session runs in `wire::server::serve`; the client side is in `wire::ws`.

mod metered;

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use bytestring::ByteString;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use switchboard_wire::{
    envelope::{MalformedMessage, MessageOrBatch, RpcMessage as EnvelopeMessage, parse},
    link::{LinkFrame, LinkReader, LinkWriter, pair::link_pair},
    server::{ServeOptions, serve},
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    Face,
    access_control::{RateLimiter, TokenInUse},
    media::over_budget,
    metrics::{GaugeLease, Metrics, Transport},
    refusal::{HttpRefusal, RefusalReason, empty_response},
    sessions::{SessionOwner, SessionSlot, random_session_id},
};
use crate::view_provider::{OpenView, ViewProvider};
use metered::{MessageMeter, MeteredStream};

const SUBPROTOCOL: &str = "mcp";
/// Enough for messages of some kilobytes; each idle session would hold the library's default of 128 KiB.
const BUFFER_BYTES: usize = 16 << 10;
/// How long a client may take for the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

type MeteredWebSocket = WebSocketStream<MeteredStream>;

/// The state of one connection.
struct WsConnection {
    metrics: Arc<Metrics>,
    rates: Arc<RateLimiter>,
    principal: Arc<str>,
    bounds: ServeOptions,
    meter: MessageMeter,
    closing: CancellationToken,
    alive: Duration,
    stalled: Duration,
    /// The token of the connection, which must stay valid.
    held: Option<TokenInUse>,
    _slot: SessionSlot,
    _counted: (GaugeLease, GaugeLease),
}

/// Answers the upgrade request.
pub(super) async fn upgrade<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: SessionOwner,
    mut request: Parts,
) -> Result<Response, HttpRefusal> {
    if request.method != Method::GET {
        return Err(HttpRefusal::method("GET"));
    }
    let accept = check_upgrade(&request.headers)?;
    let subprotocol = subprotocol(&request.headers)?;
    let upgrade = request.extensions.remove::<OnUpgrade>().ok_or_else(not_an_upgrade)?;
    let held = request.extensions.remove::<TokenInUse>();
    face.check_replicas(&owner)?;
    let slot = face.slot(&owner)?;
    let opened = face.open_view(&owner, random_session_id()?, Transport::WebSocket).await?;
    let counted = (
        face.metrics.count_session(Transport::WebSocket),
        face.metrics.count_stream(Transport::WebSocket),
    );
    let bounds = face.serve_options(&owner);
    let charge = bounds.budget.charge(0).ok_or_else(over_budget)?;
    let meter = MessageMeter(Arc::new(Mutex::new(charge)));
    let bridge = WsConnection {
        metrics: Arc::clone(&face.metrics),
        rates: Arc::clone(&face.rates),
        principal: Arc::clone(owner.principal.id()),
        bounds,
        meter: meter.clone(),
        closing: face.closing.clone(),
        alive: face.options.times.keep_alive,
        stalled: face.options.times.stalled,
        held,
        _slot: slot,
        _counted: counted,
    };
    let limit = face.options.limits.body;
    face.tasks.spawn(async move {
        match upgrade.await {
            Ok(upgraded) => {
                let metered = MeteredStream { stream: TokioIo::new(upgraded), meter };
                bridge.run(accept_socket(metered, limit).await, opened).await;
            }
            Err(error) => tracing::debug!(%error, "a connection did not become a WebSocket"),
        }
    });
    let mut response = empty_response(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    headers.extend(subprotocol.map(|name| (header::SEC_WEBSOCKET_PROTOCOL, name)));
    Ok(response)
}

async fn accept_socket(stream: MeteredStream, limit: usize) -> MeteredWebSocket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit))
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES);
    WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await
}

/// Checks the upgrade headers, and returns the `Sec-WebSocket-Accept` value.
fn check_upgrade(headers: &HeaderMap) -> Result<HeaderValue, HttpRefusal> {
    let upgrades = header_lists(headers, header::CONNECTION, "upgrade")
        && header_lists(headers, header::UPGRADE, "websocket")
        && headers.get(header::SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| upgrades);
    let key = key.ok_or_else(not_an_upgrade)?;
    HeaderValue::try_from(derive_accept_key(key.as_bytes())).map_err(|_| not_an_upgrade())
}

fn not_an_upgrade() -> HttpRefusal {
    let text = "this address takes WebSocket connections, version 13";
    HttpRefusal::new(RefusalReason::Method, StatusCode::UPGRADE_REQUIRED, text)
        .with_header((header::UPGRADE, HeaderValue::from_static("websocket")))
}

/// Chooses the subprotocol. A client that offers none is accepted, since some do not.
fn subprotocol(headers: &HeaderMap) -> Result<Option<HeaderValue>, HttpRefusal> {
    if !headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
        return Ok(None);
    }
    if header_lists(headers, header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
        return Ok(Some(HeaderValue::from_static(SUBPROTOCOL)));
    }
    let text = "the only subprotocol here is `mcp`";
    Err(HttpRefusal::new(RefusalReason::Headers, StatusCode::BAD_REQUEST, text))
}

fn header_lists(headers: &HeaderMap, name: http::HeaderName, wanted: &str) -> bool {
    let mut values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(|word| word.trim().eq_ignore_ascii_case(wanted)))
}

/// Parses a text that holds a batch.
fn parse_if_batch(text: &ByteString) -> Option<Result<MessageOrBatch, MalformedMessage>> {
    let begins = text.trim_ascii_start().starts_with('[');
    begins.then(|| parse(text.clone()))
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy)]
enum WsEnd {
    Gone,
    Leaving,
    NotText,
    Revoked,
}

// === impl WsConnection ===

impl WsConnection {
    async fn run<V: switchboard_wire::server::ServerHandler>(
        self,
        socket: MeteredWebSocket,
        opened: OpenView<V>,
    ) {
        let ((writer, reader), far) = link_pair();
        let (mut sink, stream) = socket.split();
        let serving = async {
            let served = serve(far, opened.view, &opened.changes, self.bounds.clone()).await;
            if let Err(error) = served {
                tracing::debug!(%error, "a session ended");
            }
        };
        let (asides, aside) = mpsc::channel(1);
        let gone = CancellationToken::new();
        // The end of the input ends the session, which ends the output.
        let (end, (), ()) = tokio::join!(
            async {
                let taking = gone.run_until_cancelled(self.receive(stream, writer, asides));
                taking.await.unwrap_or(WsEnd::Gone)
            },
            serving,
            async {
                self.send_all(&mut sink, reader, aside).await;
                gone.cancel();
            }
        );
        let closing = async {
            let _ = sink.send(Message::Close(end.close_frame())).await;
            let _ = sink.close().await;
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    }

    /// Passes the client's messages on to the session.
    async fn receive(
        &self,
        mut stream: SplitStream<MeteredWebSocket>,
        writer: LinkWriter,
        asides: mpsc::Sender<Message>,
    ) -> WsEnd {
        let mut ticks = tokio::time::interval(self.alive);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let recheck = self.held.as_ref().map(|held| held.recheck_interval(self.alive));
        let mut checks = tokio::time::interval(recheck.unwrap_or(self.alive));
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            let message = tokio::select! {
                message = stream.next() => message,
                () = self.closing.cancelled() => return WsEnd::Leaving,
                _ = ticks.tick() => {
                    if heard.elapsed() > self.alive * 2 + self.stalled {
                        return WsEnd::Gone;
                    }
                    // If the queue is full, a ping is waiting already.
                    let _ = asides.try_send(Message::Ping(bytes::Bytes::new()));
                    continue;
                }
                _ = checks.tick() => {
                    if !self.is_let_in().await {
                        return WsEnd::Revoked;
                    }
                    continue;
                }
            };
            heard = Instant::now();
            let text = match message {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Binary(_))) => return WsEnd::NotText,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return WsEnd::Gone,
                Some(Ok(Message::Ping(payload) | Message::Pong(payload))) => {
                    self.meter.control_frame(&payload);
                    continue;
                }
                Some(Ok(Message::Frame(_))) => continue,
            };
            if !self.is_let_in().await {
                return WsEnd::Revoked;
            }
            self.meter.clear();
            self.metrics.count_request(Transport::WebSocket, text.len());
            let text = ByteString::from(text.as_str());
            let taken = match self.admit(&text).await {
                Ok(()) => writer.send(text).await.is_ok(),
                Err(refusal) => asides.send(Message::text(&*refusal.into_text())).await.is_ok(),
            };
            if !taken {
                return WsEnd::Gone;
            }
        }
    }

    /// Counts a message for the rate limit. A request over the limit is refused; any other message waits, and so do
    /// later ones: a notification has no answer, and a call may depend on it.
    async fn admit(&self, text: &ByteString) -> Result<(), HttpRefusal> {
        let batch = match parse_if_batch(text) {
            Some(Ok(MessageOrBatch::Batch(messages))) => Some(messages.len()),
            _ => None,
        };
        let Err(refusal) = self.rates.take(&self.principal, batch.unwrap_or(1)) else {
            return Ok(());
        };
        self.metrics.count_refusal(refusal.reason);
        match (batch, parse(text.clone())) {
            (Some(_), _) => Err(refusal),
            (None, Ok(MessageOrBatch::One(EnvelopeMessage::Request(request)))) => {
                Err(refusal.with_id(Some(&request.id())))
            }
            (None, _) => {
                self.rates.wait(&self.principal).await;
                Ok(())
            }
        }
    }

    /// Whether the token of the connection is still valid.
    async fn is_let_in(&self) -> bool {
        match &self.held {
            Some(held) => held.is_good().await,
            None => true,
        }
    }

    /// Passes the session's messages on to the client, and disconnects one that does not read.
    async fn send_all(
        &self,
        sink: &mut SplitSink<MeteredWebSocket, Message>,
        mut reader: LinkReader,
        mut aside: mpsc::Receiver<Message>,
    ) {
        loop {
            let message = tokio::select! {
                frame = reader.next() => match frame {
                    Ok(Some(LinkFrame::Text(text))) => {
                        self.metrics.count_sent(Transport::WebSocket, text.len());
                        Message::text(&*text)
                    }
                    Ok(Some(LinkFrame::Broken(_))) => continue,
                    Ok(None) | Err(_) => return,
                },
                Some(message) = aside.recv() => message,
            };
            match tokio::time::timeout(self.stalled, sink.send(message)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }
}

// === impl WsEnd ===

impl WsEnd {
    fn close_frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Gone => return None,
            Self::Leaving => (CloseCode::Away, "the server is leaving"),
            Self::NotText => (CloseCode::Unsupported, "messages are text"),
            Self::Revoked => (CloseCode::Policy, "the token is not good any more"),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}
