//! A raw peer on one end of a linked pair: it reads and sends texts.

#![allow(clippy::unwrap_used, reason = "tests")]

use switchboard_wire::{
    Error,
    client::{Client, ClientOptions, ServerInbox, ServerTarget},
    envelope::{MessageOrBatch, Request, RpcMessage, parse},
    json::Raw,
    link::{
        LinkFrame, LinkReader, LinkWriter,
        pair::{LinkEnd, link_pair},
    },
};

/// One end of a pair, played by a test.
pub(crate) struct Peer {
    writer: LinkWriter,
    reader: LinkReader,
    near: Option<LinkEnd>,
}

impl Peer {
    /// A peer, and the target that reaches it.
    pub(crate) fn new() -> (Self, ServerTarget) {
        let (near, (writer, reader)) = link_pair();
        let peer = Self { writer, reader, near: None };
        (peer, ServerTarget::InProcess(near))
    }

    /// Returns the next text; `None` when the client has closed.
    pub(crate) async fn text(&mut self) -> Option<String> {
        match self.reader.next().await.unwrap() {
            Some(LinkFrame::Text(text)) => Some(text.to_string()),
            Some(LinkFrame::Broken(broken)) => panic!("{broken}"),
            None => None,
        }
    }

    /// Returns the next request, skipping notifications.
    pub(crate) async fn request(&mut self) -> Request {
        loop {
            let text = self.text().await.unwrap();
            if let Ok(MessageOrBatch::One(RpcMessage::Request(request))) = parse(text.into()) {
                return request;
            }
        }
    }

    /// Returns the next request, which must have this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Request {
        let request = self.request().await;
        assert_eq!(request.method(), method);
        request
    }

    /// Returns the parameters of the next notification, which must have this method.
    pub(crate) async fn hear(&mut self, method: &str) -> Raw {
        let text = self.text().await.unwrap();
        match parse(text.clone().into()) {
            Ok(MessageOrBatch::One(RpcMessage::Notification(note))) if note.method() == method => {
                note.params().unwrap_or_else(Raw::empty_object)
            }
            _ => panic!("not {method}: {text}"),
        }
    }

    /// Sends a text unchanged.
    pub(crate) async fn say(&self, text: impl Into<String>) {
        self.writer.send(text.into().into()).await.unwrap();
    }

    /// Answers a request with a result.
    pub(crate) async fn answer(&self, request: &Request, result: &str) {
        let id = request.id();
        self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    /// Answers a request with an error.
    pub(crate) async fn refuse(&self, request: &Request, error: &str) {
        let id = request.id();
        self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)).await;
    }

    /// Performs the handshake of a 2025-11-25 server with these capabilities, after refusing the
    /// probe.
    pub(crate) async fn shake_hands(&mut self, capabilities: &str) {
        let mut request = self.request().await;
        if request.method() == "server/discover" {
            self.refuse(&request, r#"{"code":-32601,"message":"what?"}"#).await;
            request = self.expect("initialize").await;
        }
        let result = initialized("2025-11-25")
            .replace(r#""capabilities":{}"#, &format!(r#""capabilities":{capabilities}"#));
        self.answer(&request, &result).await;
        self.hear("notifications/initialized").await;
    }

    /// Answers the probe as a modern server with these capabilities.
    pub(crate) async fn discovered(&mut self, capabilities: &str) {
        let request = self.expect("server/discover").await;
        self.answer(
            &request,
            &format!(r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}"#),
        )
        .await;
    }

    /// Connects to this peer while the test plays it.
    pub(crate) async fn connect(
        mut self,
        options: ClientOptions,
    ) -> Result<(Client, ServerInbox), Error> {
        let near = self.near.take().unwrap();
        Client::connect(ServerTarget::InProcess(near), options).await
    }
}

/// A peer that answers each method with a result, or as unknown.
pub(crate) fn answering(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> Peer {
    let (near, (writer, reader)) = link_pair();
    let mut playing = Peer { writer, reader, near: None };
    tokio::spawn(async move {
        while let Some(text) = playing.text().await {
            if let Ok(MessageOrBatch::One(RpcMessage::Request(request))) = parse(text.into()) {
                match answer(request.method().as_ref()) {
                    Some(result) => playing.answer(&request, &result).await,
                    None => {
                        playing.refuse(&request, r#"{"code":-32601,"message":"what?"}"#).await;
                    }
                }
            }
        }
    });
    let (_, (writer, reader)) = link_pair();
    Peer { writer, reader, near: Some(near) }
}

/// The result of `initialize` in this version.
pub(crate) fn initialized(version: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"peer","version":"1"}}}}"#
    )
}
