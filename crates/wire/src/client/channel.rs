//! How a session's messages leave and where answers come in: a link, or HTTP requests.

use bytestring::ByteString;
use http::HeaderMap;

use super::{http_channel::HttpChannel, server_facts::ServerFacts};
use crate::{Error, link::LinkWriter};
use switchboard_process::Process;

/// The way to the server.
#[derive(Debug)]
pub(crate) enum ServerChannel {
    /// One stream of messages each way.
    Link(LinkChannel),
    /// A request for each message.
    Http(HttpChannel),
}

/// A link, and the process behind it where there is one.
#[derive(Debug)]
pub(crate) struct LinkChannel {
    pub(crate) writer: LinkWriter,
    pub(crate) process: Option<Process>,
}

// === impl Channel ===

impl ServerChannel {
    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Sends a message that has no answer.
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

    /// The same, from where nothing can be waited for.
    pub(crate) fn try_send(&self, text: ByteString) -> Result<(), Error> {
        match self {
            Self::Link(link) => link.writer.try_send(text),
            Self::Http(http) => http.try_send(text, None),
        }
    }

    /// The same for a request whose answer nobody waits for, with the headers it needs.
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
