//! The peer of these tests: raw texts in and out, over both kinds of link.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use switchboard_wire::{
    Version,
    client::{Client, ClientOptions, ServerInbox, ServerTarget, VersionNegotiation},
    envelope::RpcError,
    json::Raw,
    link::{
        LinkFrame, LinkReader, LinkWriter, lines,
        pair::{LinkEnd, link_pair},
    },
    server::{
        ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
        ServerDescription, ServerHandler, serve,
    },
};
use tokio::io::{AsyncWriteExt, DuplexStream, WriteHalf};

/// The longest line in these tests.
pub(crate) const LIMIT: usize = 1 << 20;

/// The kind of link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Over {
    Pair,
    Lines,
}

/// Sends raw messages and receives texts.
pub(crate) struct Peer {
    sender: Sender,
    reader: LinkReader,
}

enum Sender {
    Pair(LinkWriter),
    Lines(WriteHalf<DuplexStream>),
}

// === impl Peer ===

impl Peer {
    /// A peer, and the other end of the link, for the session under test.
    pub(crate) fn new(over: Over) -> (Self, LinkEnd) {
        match over {
            Over::Pair => {
                let (near, (writer, reader)) = link_pair();
                let sender = Sender::Pair(writer);
                (Self { sender, reader }, near)
            }
            Over::Lines => {
                let (near, far) = tokio::io::duplex(64 * 1024);
                let (source, sink) = tokio::io::split(near);
                let (writer, reader, writing) = lines::line_link(source, sink, LIMIT);
                tokio::spawn(writing);
                let (source, sink) = tokio::io::split(far);
                let (_, raw, _) = lines::line_link(source, tokio::io::sink(), LIMIT);
                let peer = Self { sender: Sender::Lines(sink), reader: raw };
                (peer, (writer, reader))
            }
        }
    }

    /// Sends bytes as one message. A linked pair carries only texts.
    pub(crate) async fn send(&mut self, message: impl AsRef<[u8]>) {
        let message = message.as_ref();
        match &mut self.sender {
            Sender::Pair(writer) => {
                let text = String::from_utf8(message.to_vec()).expect("a pair carries texts");
                writer.send(text.into()).await.expect("the session listens");
            }
            Sender::Lines(sink) => {
                sink.write_all(message).await.expect("the session listens");
                sink.write_all(b"\n").await.expect("the session listens");
            }
        }
    }

    /// Returns the next text, or fails after a deadline.
    pub(crate) async fn receive(&mut self) -> String {
        let next = tokio::time::timeout(Duration::from_secs(20), self.reader.next());
        match next.await.expect("the session says something") {
            Ok(Some(LinkFrame::Text(text))) => text.to_string(),
            other => panic!("no text: {other:?}"),
        }
    }
}

/// A server that echoes its parameters.
struct Echo;

impl ServerHandler for Echo {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: Raw::parse(r#"{"name":"echo","version":"1"}"#).expect("JSON"),
            capabilities: Raw::empty_object(),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(std::future::ready(Ok(HandlerReply::Complete(asked.params))))
    }
}

/// A raw client, connected to a real server session.
pub(crate) fn rude_client(over: Over) -> Peer {
    let (peer, end) = Peer::new(over);
    tokio::spawn(async move {
        let changes = ChangeBroadcaster::default();
        serve(end, Arc::new(Echo), &changes, ServeOptions::default()).await
    });
    peer
}

/// A raw server, connected to a real client.
pub(crate) async fn rude_server(over: Over) -> (Peer, Client, ServerInbox) {
    let (mut peer, end) = Peer::new(over);
    let mut options = ClientOptions::new("test", "1");
    options.greeting = VersionNegotiation::Only(Version::LATEST_LEGACY);
    let connecting = Client::connect(ServerTarget::InProcess(end), options);
    let greeting = async {
        let id = id_of(&peer.receive().await);
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
        peer.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
        let initialized = peer.receive().await;
        assert!(initialized.contains("notifications/initialized"));
    };
    let (connected, ()) = tokio::join!(connecting, greeting);
    let (client, inbox) = connected.expect("the greeting was proper");
    (peer, client, inbox)
}

/// The id in a request of the client, which is a number.
pub(crate) fn id_of(request: &str) -> u64 {
    let request: serde_json::Value = serde_json::from_str(request).expect("a request");
    request["id"].as_u64().expect("a number")
}
