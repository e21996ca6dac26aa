//! Word of changes for a client whose requests are answered elsewhere.
//!
//! A server session of its own, with nothing to serve, hears of changes as any session does. What it
//! is told to follow it follows; what it says is passed on.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytestring::ByteString;
use futures_util::future::BoxFuture;
use switchboard_wire::{
    envelope::{Id, Message, Parsed, Request, RpcError, code, parse},
    json::Raw,
    link::{Frame, LinkReader, LinkWriter, pair::pair},
    meta::method,
    server::{Asked, Changes, Context, Description, Handler, Reply, ServeOptions, serve},
};
use tokio::sync::oneshot;

/// Tells the session behind it what to follow.
#[derive(Debug)]
pub(super) struct Herald {
    writer: LinkWriter,
    ids: AtomicU64,
    /// Who waits until it was understood.
    waiting: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

/// What the session says.
pub(super) struct Heralded {
    herald: Arc<Herald>,
    reader: LinkReader,
    serving: BoxFuture<'static, ()>,
}

/// A server of nothing.
struct Mute;

// === impl Herald ===

impl Herald {
    /// The second half must be polled for the first to get anywhere.
    pub(super) fn new(changes: Changes) -> (Arc<Self>, Heralded) {
        let ((writer, reader), far) = pair();
        let waiting = Mutex::default();
        let herald = Arc::new(Self { writer, ids: AtomicU64::new(1), waiting });
        let serving = Box::pin(async move {
            if let Err(error) = serve(far, Arc::new(Mute), &changes, ServeOptions::default()).await
            {
                tracing::debug!(%error, "changes are no longer followed");
            }
        });
        let heralded = Heralded { herald: Arc::clone(&herald), reader, serving };
        (herald, heralded)
    }

    /// Begins: from here on changes are heard.
    pub(super) async fn begin(&self) {
        let params = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
        if let Ok(params) = Raw::parse(params) {
            self.tell(method::INITIALIZE, Some(&params)).await;
        }
    }

    /// Passes a request on that decides what is heard, and waits until it was understood.
    pub(super) async fn tell(&self, asked: &str, params: Option<&Raw>) {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (understood, waiting) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, understood);
        let request = Request::new(&Id::number(id), asked, params);
        if self.writer.send(request.text().clone()).await.is_ok() {
            // An error means that the session has ended, and there is nothing to hear.
            let _ = waiting.await;
        }
    }

    fn understood(&self, id: &Id) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(understood) = id.as_u64().and_then(|id| waiting.remove(&id)) {
            let _ = understood.send(());
        }
    }
}

// === impl Heralded ===

impl Heralded {
    /// The next thing to tell the client; `None` when there is no more. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<ByteString> {
        loop {
            let frame = tokio::select! {
                frame = self.reader.next() => frame.ok()??,
                () = &mut self.serving => return None,
            };
            let Frame::Text(text) = frame else { continue };
            match parse(text) {
                Ok(Parsed::One(Message::Notification(note))) => return Some(note.text().clone()),
                Ok(Parsed::One(Message::Response(response))) => {
                    if let Some(id) = response.id() {
                        self.herald.understood(&id);
                    }
                }
                _ => {}
            }
        }
    }
}

// === impl Mute ===

impl Handler for Mute {
    fn describe(&self) -> Description {
        let nothing = Raw::empty_object;
        Description { info: nothing(), capabilities: nothing(), instructions: None }
    }

    fn call<'a>(&'a self, asked: Asked, _: &'a Context) -> BoxFuture<'a, Result<Reply, RpcError>> {
        let refused = Err(RpcError::new(code::METHOD_NOT_FOUND, asked.method));
        Box::pin(std::future::ready(refused))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_wire::{client::List, server::Change};

    use super::*;

    #[tokio::test]
    async fn what_is_followed_is_heard() {
        let changes = Changes::default();
        let (herald, mut heralded) = Herald::new(changes.clone());
        let telling = async {
            herald.begin().await;
            changes.announce(Change::Resource("a:b".into()));
            let uri = Raw::parse(r#"{"uri":"c:d"}"#).unwrap();
            herald.tell(method::RESOURCES_SUBSCRIBE, Some(&uri)).await;
            for uri in ["a:b", "c:d"] {
                changes.announce(Change::Resource(uri.into()));
            }
            changes.announce(Change::List(List::Tools));
        };
        let hearing = async {
            let resource = heralded.next().await.unwrap();
            assert!(resource.contains("c:d"), "{resource}");
            let list = heralded.next().await.unwrap();
            assert!(list.contains(method::TOOLS_CHANGED), "{list}");
        };
        tokio::join!(telling, hearing);
    }
}
