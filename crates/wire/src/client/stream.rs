//! One request under way: what arrives for it, until its answer.

use std::{borrow::Cow, sync::Arc};

use bytestring::ByteString;
use http::HeaderMap;

use super::{
    channel::Channel,
    http_channel::{HttpChannel, HttpStream, Posted},
    mailbox::Taken,
    session::{Arrival, Registered, Session},
};
use crate::{
    Era, Error,
    envelope::{Looks, Malformed, Message, Notification, Response, own_number},
    meta::{self, method},
};

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) id: u64,
    pub(crate) method: Cow<'static, str>,
    pub(crate) text: ByteString,
    /// For HTTP.
    pub(crate) headers: HeaderMap,
    /// Whether a server may ask something back before it answers.
    pub(crate) can_ask: bool,
    /// Whether the server should be told when the caller goes away.
    pub(crate) cancellable: bool,
}

/// What opening a stream came to.
pub(crate) enum Opened {
    Stream(Stream),
    /// The legacy session is over; the request was not executed.
    Expired,
}

/// A request under way. Dropping it cancels it.
#[derive(Debug)]
pub(crate) struct Stream {
    method: Cow<'static, str>,
    place: Registered,
    /// Boxed, so that a call over a link carries no room for it.
    http: Option<Box<HttpStream>>,
}

/// What a stream gives.
#[derive(Debug)]
pub(crate) enum Arrived {
    Mail(Arrival),
    Done(Response),
}

impl Session {
    /// Sends a request.
    pub(crate) async fn open(self: &Arc<Self>, out: Outgoing) -> Result<Opened, Error> {
        let Outgoing { id, method, text, headers, can_ask, cancellable } = out;
        let mut place = self.register(id, can_ask)?;
        let http = match &self.channel {
            Channel::Link(link) => {
                // It may be taken before we hear so: whoever gives up meanwhile gives up a call that runs.
                place.cancel = cancellable;
                if let Err(error) = link.writer.send(text).await {
                    place.cancel = false;
                    return Err(error);
                }
                None
            }
            Channel::Http(http) => {
                place.cancel = cancellable && self.era() == Era::Legacy;
                let in_session = HttpChannel::is_in_session(&headers);
                let answer = place.post(http.post(text, headers)).await?;
                match http.posted(answer, in_session, &method)? {
                    Posted::Stream(answer) => Some(Box::new(answer)),
                    // Answered on the server's own stream, which there is only after a greeting, and not everywhere.
                    Posted::Accepted
                        if self.is_greeted_legacy()
                            && self.awaits_own_stream(http, id, &method) =>
                    {
                        None
                    }
                    Posted::Accepted => {
                        return Err(Error::StreamLost { method: method.into_owned() });
                    }
                    Posted::Expired => {
                        place.cancel = false;
                        return Ok(Opened::Expired);
                    }
                }
            }
        };
        Ok(Opened::Stream(Stream { method, place, http }))
    }

    /// Whether the answer to a call can still come on the server's own stream.
    fn awaits_own_stream(&self, http: &HttpChannel, id: u64, asked: &str) -> bool {
        // Noted first: a stream that turns out to be gone in this moment fails the calls that are noted.
        self.accept(id, asked);
        !http.is_silent()
    }
}

// === impl Stream ===

impl Stream {
    pub(crate) fn id(&self) -> u64 {
        self.place.id()
    }

    /// What still arrives for a request after its answer, which was that it goes on as a task.
    pub(crate) fn after_answer(self) -> Result<Self, Error> {
        let id = self.id();
        let Self { method, place, .. } = self;
        let session = place.session.clone();
        drop(place);
        let place = session.register(id, true)?;
        Ok(Self { method, place, http: None })
    }

    /// Stops keeping progress until the next [`Stream::next`].
    pub(crate) fn park(&self) {
        self.place.mail.park();
    }

    /// What arrives next. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Result<Arrived, Error> {
        loop {
            let message = match (&mut self.http, &self.place.session.channel) {
                (Some(http), Channel::Http(channel)) => {
                    tokio::select! {
                        biased;
                        taken = self.place.mail.take() => return taken_to_arrived(taken),
                        message = next_http(&self.place.session, channel, http) => message?,
                    }
                }
                _ => return taken_to_arrived(self.place.mail.take().await),
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

    /// What came on the request's own stream is the request's own, unless it says otherwise.
    async fn sort(
        &mut self,
        message: Result<Message, Malformed>,
    ) -> Result<Option<Arrived>, Error> {
        match message {
            Ok(Message::Response(response)) => Ok(self.sort_response(response).await),
            Ok(Message::Notification(note)) if self.owns(&note) => {
                Ok(Some(Arrived::Mail(Arrival::Notification(note))))
            }
            Ok(Message::Request(request)) => match self.place.session.own_answer(&request) {
                Some(answer) => {
                    self.place.session.later(answer.text().clone());
                    Ok(None)
                }
                None if self.place.session.own_request(&request, self.id()) => {
                    Ok(Some(Arrived::Mail(Arrival::Request(request))))
                }
                None => Ok(None),
            },
            Ok(other) => {
                Box::pin(self.place.session.route(other)).await;
                Ok(None)
            }
            Err(malformed) if is_about(&malformed, self.id()) => {
                self.place.cancel = false;
                Err(Error::Malformed(malformed))
            }
            Err(malformed) => {
                Box::pin(self.place.session.route_malformed(malformed)).await;
                Ok(None)
            }
        }
    }

    async fn sort_response(&mut self, response: Response) -> Option<Arrived> {
        match response.id() {
            Some(id) if id.as_u64() != Some(self.id()) => {
                Box::pin(self.place.session.route(Message::Response(response))).await;
                None
            }
            // Ours, or an error without an id in answer to our POST.
            _ => {
                self.place.cancel = false;
                Some(Arrived::Done(response))
            }
        }
    }

    fn owns(&self, note: &Notification) -> bool {
        match note.method().as_ref() {
            method::PROGRESS => note
                .params()
                .and_then(|params| params.get(meta::PROGRESS_TOKEN).ok().flatten())
                .is_some_and(|token| own_number(token.as_str()) == Some(self.id())),
            method::LOG | method::ACKNOWLEDGED => true,
            _ => false,
        }
    }
}

/// The next message of an HTTP answer; a legacy stream that was cut is taken up again.
async fn next_http(
    session: &Session,
    channel: &HttpChannel,
    http: &mut HttpStream,
) -> Result<Option<Result<Message, Malformed>>, Error> {
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

fn taken_to_arrived(
    taken: Option<Taken<Arrival, Result<Response, Error>>>,
) -> Result<Arrived, Error> {
    match taken {
        Some(Taken::Mail(arrival)) => Ok(Arrived::Mail(arrival)),
        Some(Taken::Last(verdict)) => verdict.map(Arrived::Done),
        None => Err(Error::Closed),
    }
}

/// Whether something unreadable on a request's own stream was its answer.
fn is_about(malformed: &Malformed, id: u64) -> bool {
    match &malformed.id {
        Some(named) => named.as_u64() == Some(id) && malformed.looks != Looks::LikeACall,
        None => true,
    }
}
