//! The session messages of a legacy client: `initialize`, `initialized`, log level and subscriptions.
//!
//! Used by `journal`, which replays them to the next hub. Texts are copied, because a received message is a slice of a
//! buffer that holds other messages too. It does not send messages.

use std::collections::BTreeMap;

use bytestring::ByteString;
use switchboard_wire::{
    envelope::{Id, IdKey, MessageOrBatch, Notification, Request, RpcMessage, parse},
    meta::method,
};

/// The most subscriptions that are kept; a client with more has to subscribe again to the others after a reconnect.
const MAX_SUBSCRIPTIONS: usize = 4_096;

/// The session messages of one client.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    initialize: Option<(IdKey, String)>,
    initialized: Option<String>,
    level: Option<String>,
    subscriptions: BTreeMap<String, String>,
}

// === impl Handshake ===

impl Handshake {
    /// Stores a request of the client if it belongs to the session.
    pub(super) fn note_request(&mut self, request: &Request) {
        let text = || request.text().to_string();
        match request.method().as_ref() {
            method::INITIALIZE => {
                *self = Self::default();
                self.initialize = Some((request.id().key(), text()));
            }
            method::SET_LEVEL => self.level = Some(text()),
            method::RESOURCES_SUBSCRIBE => {
                if let Some(uri) = uri(request)
                    && self.subscriptions.len() < MAX_SUBSCRIPTIONS
                {
                    self.subscriptions.insert(uri, text());
                }
            }
            method::RESOURCES_UNSUBSCRIBE => {
                uri(request).and_then(|uri| self.subscriptions.remove(&uri));
            }
            _ => {}
        }
    }

    /// Stores a notification of the client if it belongs to the session.
    pub(super) fn note_notification(&mut self, notification: &Notification) {
        if notification.method() == method::INITIALIZED {
            self.initialized = Some(notification.text().to_string());
        }
    }

    /// The id `initialize` was sent under.
    pub(super) fn initialize_id(&self) -> Option<&IdKey> {
        self.initialize.as_ref().map(|(key, _)| key)
    }

    /// `initialize` as it was sent.
    pub(super) fn initialize(&self) -> Option<&str> {
        self.initialize.as_ref().map(|(_, text)| text.as_str())
    }

    /// The `initialized` notification, if the client sent one.
    pub(super) fn initialized(&self) -> Option<ByteString> {
        self.initialized.as_deref().map(ByteString::from)
    }

    /// The log level and subscription requests.
    pub(super) fn requests(&self) -> impl Iterator<Item = &str> {
        self.level.iter().chain(self.subscriptions.values()).map(String::as_str)
    }
}

/// Returns a stored request under another id.
pub(super) fn with_id(id: &Id, text: &str) -> Option<ByteString> {
    match parse(text.to_owned().into()) {
        Ok(MessageOrBatch::One(RpcMessage::Request(request))) => request.rewrite(id, &[]).ok(),
        _ => None,
    }
}

fn uri(request: &Request) -> Option<String> {
    // Modern clients subscribe with another request.
    request.params()?.get("uri").ok()??.to_text()
}
