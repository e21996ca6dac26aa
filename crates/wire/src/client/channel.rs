//! The channel of a client session to its server: a link, or Streamable HTTP.
//!
//! Used by `session` and the modules that send its messages. It does not receive: a link's messages
//! come through `connect`, HTTP answers through `request_stream`.

use bytestring::ByteString;
use http::HeaderMap;

use super::{http_channel::HttpChannel, server_facts::ServerFacts};
use crate::{Error, link::LinkWriter};
use switchboard_process::Process;

/// The channel to the server.
#[derive(Debug)]
pub(crate) enum ServerChannel {
    /// One stream of messages in each direction.
    Link(LinkChannel),
    /// One HTTP request for each message.
    Http(HttpChannel),
}

/// A link, and the server's process if Switchboard started one.
#[derive(Debug)]
pub(crate) struct LinkChannel {
    pub(crate) writer: LinkWriter,
    pub(crate) process: Option<Process>,
}

// === impl ServerChannel ===

impl ServerChannel {
    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Sends a notification or an answer, and waits until it is sent.
    pub(crate) async fn send(
        &self,
        text: ByteString,
        facts: Option<&ServerFacts>,
    ) -> Result<(), Error> {
        match self {
            Self::Link(link) => link.writer.send(text).await,
            Self::Http(http) => http.send(text, facts).await,
        }
    }

    /// Queues a notification or an answer without waiting, for callers that are not async.
    pub(crate) fn try_send(&self, text: ByteString) -> Result<(), Error> {
        match self {
            Self::Link(link) => link.writer.try_send(text),
            Self::Http(http) => http.try_send(text, None),
        }
    }

    /// Queues a request with its headers. Its answer is ignored.
    pub(crate) fn try_send_with(&self, text: ByteString, headers: HeaderMap) {
        let sent = match self {
            Self::Link(link) => link.writer.try_send(text),
            Self::Http(http) => http.try_send(text, Some(headers)),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a request nobody waits for was not sent");
        }
    }
}
