//! The listener of a client session: keeps the stream of a server's change notifications open.
//!
//! Used by `Client::connect`, one task for each connection. A legacy server over HTTP gets a GET that stays open, a
//! modern server a `subscriptions/listen` request that stays open. The listener reopens a broken stream, with growing
//! pauses, until the session ends. It does not read lists again after a change (`core::connection::listener`).

use std::{convert::Infallible, sync::Arc, time::Duration};

use tokio::sync::{Notify, oneshot};

use super::{
    channel::ServerChannel,
    http_channel::{HttpChannel, HttpStream, ListenOutcome},
    inbox::InboxEvent,
    request::RequestExtras,
    request_stream::{OpenOutcome, RequestStream, StreamItem},
    session::{CallArrival, ClientSession},
};
use crate::{
    Era, Error,
    envelope::ResponseOutcome,
    json::{Raw, quote},
    meta::method,
};

/// The longest pause before a stream is opened again.
const MAX_REOPEN_PAUSE: Duration = Duration::from_secs(30);

/// The most failed attempts in a row to open a stream before the answers expected on it fail.
const MAX_OPEN_FAILURES: u32 = 5;

/// Keeps the stream open until the session ends. `changed` announces new subscriptions; `ready` is dropped as soon as
/// no message of a legacy server can be missed any more.
pub(crate) async fn keep_listening(
    session: Arc<ClientSession>,
    changed: Arc<Notify>,
    ready: oneshot::Sender<Infallible>,
) {
    let closing = session.closing.clone();
    let listening = async {
        match (session.era(), &session.channel) {
            (Era::Legacy, ServerChannel::Http(http)) => keep_get(&session, http, ready).await,
            (Era::Legacy, ServerChannel::Link(_)) => {}
            (Era::Modern, _) => {
                drop(ready);
                keep_listen(&session, &changed).await;
            }
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = listening => {}
    }
}

/// A pause that doubles with each failure in a row.
struct ReopenBackoff {
    first: Duration,
    failures: u32,
}

impl ReopenBackoff {
    fn new(session: &ClientSession) -> Self {
        Self { first: session.options.reopen_after, failures: 0 }
    }

    async fn wait(&mut self, wanted: Option<Duration>) {
        let doubled = self.first.saturating_mul(1 << self.failures.min(10)).min(MAX_REOPEN_PAUSE);
        self.failures += 1;
        tokio::time::sleep(wanted.unwrap_or(doubled)).await;
    }
}

async fn keep_get(
    session: &Arc<ClientSession>,
    http: &HttpChannel,
    ready: oneshot::Sender<Infallible>,
) {
    let mut ready = Some(ready);
    let mut pauses = ReopenBackoff::new(session);
    let mut last_id: Option<String> = None;
    let mut generation = http.generation();
    let mut opened = false;
    loop {
        let facts = session.facts();
        if http.generation() != generation {
            generation = http.generation();
            // Calls accepted with 202 in the expired session get no answer in the new one.
            session.fail_accepted(|of| of < generation);
            last_id = None;
            opened = false;
        }
        let mut retry = None;
        let listening = http.listen(facts.as_deref(), last_id.as_deref()).await;
        drop(ready.take());
        match listening {
            // The server has no GET stream.
            Ok(ListenOutcome::Nothing) => return fall_silent(session, http),
            Ok(ListenOutcome::Stream(events)) => {
                pauses.failures = 0;
                opened = true;
                http.set_silent(false);
                let mut stream = HttpStream::from_events(events);
                tokio::select! {
                    () = read_get(session, &mut stream) => {}
                    // The messages of the expired session are of no use in the new one.
                    () = http.wait_generation_end(generation) => continue,
                }
                last_id = stream.last_id().map(str::to_owned).or(last_id);
                retry = stream.retry();
            }
            // Some servers answer 404 when they have no GET stream; a new session would not have one either.
            Ok(ListenOutcome::Expired) if !opened => {
                fall_silent(session, http);
                http.wait_generation_end(generation).await;
                continue;
            }
            Ok(ListenOutcome::Expired) => match session.renew(generation).await {
                Ok(()) => continue,
                Err(error) => tracing::debug!(%error, "no new session can be begun"),
            },
            Err(error) => tracing::debug!(%error, "the server's own stream cannot be opened"),
        }
        if pauses.failures >= MAX_OPEN_FAILURES {
            // The stream may come back, but the answers expected on it are lost.
            session.fail_accepted(|_| true);
        }
        pauses.wait(retry).await;
    }
}

/// Marks the server as one without a stream, and fails the calls that wait for answers on it.
fn fall_silent(session: &ClientSession, http: &HttpChannel) {
    http.set_silent(true);
    session.fail_accepted(|_| true);
}

async fn read_get(session: &Arc<ClientSession>, stream: &mut HttpStream) {
    loop {
        match stream.next().await {
            Ok(Some(Ok(message))) => session.route(message).await,
            Ok(Some(Err(malformed))) => session.route_malformed(malformed).await,
            Ok(None) => return,
            Err(error) => match stream.salvage_lost_event(&error).await {
                Ok(Some(malformed)) => session.route_malformed(malformed).await,
                Ok(None) => return session.deliver(InboxEvent::Problem(error)).await,
                Err(broken) => return session.deliver(InboxEvent::Problem(broken)).await,
            },
        }
    }
}

async fn keep_listen(session: &Arc<ClientSession>, changed: &Notify) {
    let mut pauses = ReopenBackoff::new(session);
    let mut current: Option<RequestStream> = None;
    loop {
        let changing = changed.notified();
        let Some(filter) = filter(session) else {
            current = None;
            changing.await;
            continue;
        };
        match listen(session, &filter).await {
            // The old stream ends after the new one has opened, so that no notification is missed.
            Ok(stream) => current = Some(stream),
            Err(error) => tracing::debug!(%error, "change notifications cannot be had"),
        }
        let Some(stream) = &mut current else {
            pauses.wait(None).await;
            continue;
        };
        tokio::select! {
            () = changing => {}
            heard = wait_listen_end(session, stream) => {
                current = None;
                match heard {
                    // Without notifications, the lists are read when they expire.
                    ChangeStreamEnd::Refusal => return,
                    ChangeStreamEnd::Something => pauses.failures = 0,
                    ChangeStreamEnd::Nothing => {}
                }
                pauses.wait(None).await;
            }
        }
    }
}

/// The notifications to subscribe to; `None` if there are none.
fn filter(session: &ClientSession) -> Option<Raw> {
    let facts = session.facts()?;
    let mut wanted = Vec::new();
    for (capability, member) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if session.options.listen && facts.has_capability(&[capability, "listChanged"]) {
            wanted.push(format!(r#""{member}":true"#));
        }
    }
    let uris: Vec<String> = session.settings().subscriptions.iter().map(|uri| quote(uri)).collect();
    if !uris.is_empty() {
        wanted.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
    }
    if wanted.is_empty() {
        return None;
    }
    Some(Raw::from_trusted(format!(r#"{{"notifications":{{{}}}}}"#, wanted.join(",")).into()))
}

async fn listen(session: &Arc<ClientSession>, filter: &Raw) -> Result<RequestStream, Error> {
    let out = session.prepare(method::LISTEN, Some(filter), &RequestExtras::default())?;
    match session.open(out).await? {
        OpenOutcome::Stream(stream) => Ok(stream),
        OpenOutcome::Expired => Err(Error::Closed),
    }
}

/// How a `subscriptions/listen` stream ended.
enum ChangeStreamEnd {
    /// The server refused the subscription.
    Refusal,
    /// The stream broke before the acknowledgement.
    Nothing,
    /// The stream ended after the acknowledgement.
    Something,
}

/// Waits for the end of a stream. On a link, notifications arrive outside the stream.
async fn wait_listen_end(
    session: &Arc<ClientSession>,
    stream: &mut RequestStream,
) -> ChangeStreamEnd {
    let mut heard = ChangeStreamEnd::Nothing;
    loop {
        match stream.next().await {
            Ok(StreamItem::Last(response)) => match response.outcome() {
                ResponseOutcome::Result(_) => return heard,
                ResponseOutcome::Error(error) => {
                    tracing::debug!(%error, "change notifications are refused");
                    return ChangeStreamEnd::Refusal;
                }
            },
            Ok(StreamItem::Mail(CallArrival::Notification(note))) => {
                heard = ChangeStreamEnd::Something;
                if note.method() != method::ACKNOWLEDGED {
                    session.deliver(InboxEvent::from_notification(note)).await;
                }
            }
            Ok(StreamItem::Mail(_)) => {}
            Err(error) => {
                tracing::debug!(%error, "change notifications broke off");
                return heard;
            }
        }
    }
}
