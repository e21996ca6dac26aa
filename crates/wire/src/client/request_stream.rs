//! The stream of one request: messages that belong to it, until its answer.
//!
//! Used by `exchange_driver`, `tasks`, `handshake` and `listen`. It reads the mailbox of the call and, over HTTP, the
//! response to its POST. It does not interpret the answer.

use std::{borrow::Cow, sync::Arc};

use bytestring::ByteString;
use http::HeaderMap;

use super::{
    channel::ServerChannel,
    http_channel::{HttpChannel, HttpStream, PostOutcome},
    mailbox::MailboxItem,
    session::{CallArrival, CallRegistration, ClientSession},
};
use crate::{
    Era, Error,
    envelope::{
        MalformedMessage, MalformedShape, Notification, Response, RpcMessage, parse_own_id,
    },
    link::sse,
    meta::{self, method},
};

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: u64,
    pub(crate) method: Cow<'static, str>,
    pub(crate) text: ByteString,
    /// Headers for HTTP.
    pub(crate) headers: HeaderMap,
    /// Whether a server may ask questions before it answers.
    pub(crate) can_ask: bool,
    /// Whether the server is told when the caller drops the request.
    pub(crate) cancellable: bool,
}

/// The outcome of opening a stream.
pub(crate) enum OpenOutcome {
    Stream(RequestStream),
    /// The legacy session has expired; the server did not run the request.
    Expired,
}

/// A running request. Dropping it cancels it.
#[derive(Debug)]
pub(crate) struct RequestStream {
    method: Cow<'static, str>,
    place: CallRegistration,
    /// Boxed, so that a call over a link stays small.
    http: Option<Box<HttpStream>>,
}

/// An item of a stream: mail, or the answer as the last.
pub(crate) type StreamItem = MailboxItem<CallArrival, Response>;

impl ClientSession {
    /// Sends a request.
    pub(crate) async fn open(self: &Arc<Self>, out: OutgoingRequest) -> Result<OpenOutcome, Error> {
        let OutgoingRequest { id, method, text, headers, can_ask, cancellable } = out;
        let mut place = self.register(id, can_ask)?;
        let http = match &self.channel {
            ServerChannel::Link(link) => {
                // Only a POST can reach the server before its sender learns so. A message that waits for room in a
                // queue was not sent.
                if let Some(posting) = link.writer.post(&text) {
                    place.cancel = cancellable;
                    let answer = place.post(posting).await;
                    let answer =
                        answer.map_err(Error::from).and_then(|answer| sse::check_response(&answer));
                    place.cancel &= answer.is_ok();
                    answer?;
                } else {
                    link.writer.send(text).await?;
                    place.cancel = cancellable;
                }
                None
            }
            ServerChannel::Http(http) => {
                place.cancel = cancellable && self.era() == Era::Legacy;
                let in_session = HttpChannel::is_in_session(&headers);
                let answer = place.post(http.post(text, headers)).await?;
                match http.classify_response(answer, in_session, &method)? {
                    PostOutcome::Stream(answer) => Some(Box::new(answer)),
                    // 202: the answer comes on the server's GET stream. That stream exists only after the greeting,
                    // and not at every server.
                    PostOutcome::Accepted
                        if self.is_greeted_legacy()
                            && self.awaits_own_stream(http, id, &method) =>
                    {
                        None
                    }
                    PostOutcome::Accepted => {
                        return Err(Error::StreamLost { method: method.into_owned() });
                    }
                    PostOutcome::Expired => {
                        place.cancel = false;
                        return Ok(OpenOutcome::Expired);
                    }
                }
            }
        };
        Ok(OpenOutcome::Stream(RequestStream { method, place, http }))
    }

    /// Whether the answer to a call can still come on the server's GET stream.
    fn awaits_own_stream(&self, http: &HttpChannel, id: u64, asked: &str) -> bool {
        // Marked before the check: a stream that closes in this moment fails the marked calls.
        self.mark_accepted(id, asked);
        !http.is_silent()
    }
}

// === impl RequestStream ===

impl RequestStream {
    pub(crate) fn id(&self) -> u64 {
        self.place.id()
    }

    /// Continues with the later messages of a request that was answered with a task.
    pub(crate) fn into_task_stream(self) -> Result<Self, Error> {
        let id = self.id();
        let Self { method, place, .. } = self;
        let session = place.session.clone();
        drop(place);
        let place = session.register(id, true)?;
        Ok(Self { method, place, http: None })
    }

    /// Stops keeping progress until the next [`RequestStream::next`].
    pub(crate) fn park(&self) {
        self.place.mail.park();
    }

    /// Returns the next item. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<StreamItem, Error> {
        loop {
            let message = match (&mut self.http, &self.place.session.channel) {
                (Some(http), ServerChannel::Http(channel)) => {
                    tokio::select! {
                        biased;
                        taken = self.place.mail.take() => return to_stream_item(taken),
                        message = next_http(&self.place.session, channel, http) => message?,
                    }
                }
                _ => return to_stream_item(self.place.mail.take().await),
            };
            let Some(message) = message else {
                self.place.cancel = false;
                return Err(Error::StreamLost { method: self.method.to_string() });
            };
            if let Some(arrived) = self.sort(message).await? {
                return Ok(arrived);
            }
        }
    }

    /// Routes a message from the request's own stream. It belongs to this request unless it names another.
    async fn sort(
        &mut self,
        message: Result<RpcMessage, MalformedMessage>,
    ) -> Result<Option<StreamItem>, Error> {
        match message {
            Ok(RpcMessage::Response(response)) => Ok(self.sort_response(response).await),
            Ok(RpcMessage::Notification(note)) if self.owns(&note) => {
                Ok(Some(StreamItem::Mail(CallArrival::Notification(note))))
            }
            Ok(RpcMessage::Request(request)) => match self.place.session.builtin_answer(&request) {
                Some(answer) => {
                    self.place.session.send_later(answer.text().clone());
                    Ok(None)
                }
                None if self.place.session.claim_request(&request, self.id()) => {
                    Ok(Some(StreamItem::Mail(CallArrival::Request(request))))
                }
                None => Ok(None),
            },
            Ok(other) => {
                Box::pin(self.place.session.route(other)).await;
                Ok(None)
            }
            Err(malformed) if is_answer_to(&malformed, self.id()) => {
                self.place.cancel = false;
                Err(Error::Malformed(malformed))
            }
            Err(malformed) => {
                Box::pin(self.place.session.route_malformed(malformed)).await;
                Ok(None)
            }
        }
    }

    async fn sort_response(&mut self, response: Response) -> Option<StreamItem> {
        match response.id() {
            Some(id) if id.as_u64() != Some(self.id()) => {
                Box::pin(self.place.session.route(RpcMessage::Response(response))).await;
                None
            }
            // The answer to this request, or an error without an id in response to its POST.
            _ => {
                self.place.cancel = false;
                Some(StreamItem::Last(response))
            }
        }
    }

    fn owns(&self, note: &Notification) -> bool {
        match note.method().as_ref() {
            method::PROGRESS => note
                .params()
                .and_then(|params| params.get(meta::PROGRESS_TOKEN).ok().flatten())
                .is_some_and(|token| parse_own_id(token.as_str()) == Some(self.id())),
            method::LOG | method::ACKNOWLEDGED => true,
            _ => false,
        }
    }
}

/// Returns the next message of an HTTP response; resumes a legacy stream that broke.
async fn next_http(
    session: &ClientSession,
    channel: &HttpChannel,
    http: &mut HttpStream,
) -> Result<Option<Result<RpcMessage, MalformedMessage>>, Error> {
    loop {
        if let Some(message) = http.next().await? {
            return Ok(Some(message));
        }
        let facts = session.facts();
        if session.era() != Era::Legacy
            || !http.reopen(channel, facts.as_deref(), session.options.reopen_after).await?
        {
            return Ok(None);
        }
    }
}

fn to_stream_item(
    taken: Option<MailboxItem<CallArrival, Result<Response, Error>>>,
) -> Result<StreamItem, Error> {
    match taken {
        Some(MailboxItem::Mail(arrival)) => Ok(StreamItem::Mail(arrival)),
        Some(MailboxItem::Last(verdict)) => verdict.map(StreamItem::Last),
        None => Err(Error::Closed),
    }
}

/// Whether an unparsable message on a request's own stream was its answer.
fn is_answer_to(malformed: &MalformedMessage, id: u64) -> bool {
    match &malformed.id {
        Some(named) => named.as_u64() == Some(id) && malformed.looks != MalformedShape::LikeACall,
        None => true,
    }
}
