//! What has to be known of the messages that pass, should the hub be lost.
//!
//! Requests in flight each way, and the client's [`Handshake`]. A message is read once, for its id and its method;
//! it is passed on as it came, except that questions of a hub after the first get ids of their own: their hub counts
//! from one again, and the client may still be at work on a question of the one that is gone.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytestring::ByteString;
use switchboard_wire::{
    envelope::{
        Id, IdKey, Looks, Malformed, Message, Notification, Parsed, Request, Response, parse,
    },
    json::{Edit, Raw},
    meta::method,
};
use tokio::sync::Notify;

use super::handshake::{Handshake, under};
use crate::socket::{GOODBYE, Why, try_again};

/// What a call that was in flight is told. It may have been carried out, so nobody but the caller can repeat it.
const LOST: &str =
    "the hub was lost before it answered; whether the call was carried out is not known";
/// What a call is told for which there was no hub.
const NO_HUB: &str = "there is no hub at the moment; the call was not made";

/// A book that both directions write in.
#[derive(Debug, Default)]
pub(super) struct SharedBook {
    book: Mutex<Book>,
    /// The last request in flight was answered.
    settled: Notify,
}

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// How many hubs were lost.
    lost: u64,
    /// Requests of the client that are not answered.
    in_flight: HashSet<IdKey>,
    /// Questions of the hub that are not answered: the client's id for each, and the hub's.
    asked: HashMap<IdKey, Id>,
    /// Requests of our own, whose answers are nobody's business.
    ours: HashSet<IdKey>,
    handshake: Handshake,
    goodbye: Option<Comeback>,
}

/// When to look for a hub again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Comeback {
    /// At once: this one was not to end, or makes room for another.
    #[default]
    AtOnce,
    /// When the client wants something: somebody stopped this one.
    WhenNeeded,
}

/// What is left to do when a hub is lost.
#[derive(Debug)]
pub(super) struct Leaving {
    /// What the client is to be told.
    pub(super) messages: Vec<ByteString>,
    pub(super) comeback: Comeback,
}

// === impl SharedBook ===

impl SharedBook {
    pub(super) fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Book::hub_says`].
    pub(super) fn hub_says(&self, text: ByteString) -> Option<ByteString> {
        let mut book = self.lock();
        let text = book.hub_says(text);
        self.tell_if_settled(&book);
        text
    }

    /// A message of the hub that could not be read: whoever waits for it is told.
    pub(super) fn broken(&self, malformed: &Malformed) -> Option<ByteString> {
        let mut book = self.lock();
        let text = book.broken(malformed);
        self.tell_if_settled(&book);
        text
    }

    /// Waits until no request is in flight.
    pub(super) async fn settled(&self) {
        while !self.lock().in_flight.is_empty() {
            self.settled.notified().await;
        }
    }

    fn tell_if_settled(&self, book: &Book) {
        if book.in_flight.is_empty() {
            self.settled.notify_one();
        }
    }
}

// === impl Book ===

impl Book {
    /// A message of the client; what is to be sent in its place, if anything.
    pub(super) fn client_says(&mut self, text: ByteString) -> Option<ByteString> {
        match parse(text.clone()) {
            Ok(Parsed::One(message)) => self.one_from_client(message),
            Ok(Parsed::Batch(messages)) => {
                for message in messages.into_iter().flatten() {
                    self.one_from_client(message);
                }
                Some(text)
            }
            // The hub says what is wrong with it.
            Err(_) => Some(text),
        }
    }

    fn one_from_client(&mut self, message: Message) -> Option<ByteString> {
        match message {
            Message::Request(request) => {
                self.in_flight.insert(request.id().key());
                self.handshake.request(&request);
                Some(request.text().clone())
            }
            Message::Notification(notification) => {
                self.handshake.notification(&notification);
                if let Some(id) = cancelled(&notification) {
                    // It will not be answered.
                    self.in_flight.remove(&id.key());
                }
                Some(notification.text().clone())
            }
            Message::Response(response) => self.answer_from_client(&response),
        }
    }

    /// An answer to a hub that is gone goes nowhere.
    fn answer_from_client(&mut self, response: &Response) -> Option<ByteString> {
        match response.id().and_then(|id| self.asked.remove(&id.key())) {
            Some(original) if self.lost > 0 => response.edited(&original, &[]).ok(),
            Some(_) => Some(response.text().clone()),
            None => (self.lost == 0).then(|| response.text().clone()),
        }
    }

    /// A message of the hub; what the client is to get in its place, if anything.
    pub(super) fn hub_says(&mut self, text: ByteString) -> Option<ByteString> {
        match parse(text.clone()) {
            Ok(Parsed::One(Message::Response(response))) => {
                let key = response.id().map(|id| id.key());
                if let Some(key) = &key {
                    if self.ours.remove(key) {
                        return None;
                    }
                    self.in_flight.remove(key);
                }
                Some(text)
            }
            Ok(Parsed::One(Message::Request(request))) => self.question(&request),
            Ok(Parsed::One(Message::Notification(notification))) => self.notice(&notification),
            Ok(Parsed::Batch(messages)) => {
                for message in messages.iter().flatten() {
                    if let Message::Response(response) = message
                        && let Some(id) = response.id()
                    {
                        self.in_flight.remove(&id.key());
                    }
                }
                Some(text)
            }
            // The client will say what it thinks of it.
            Err(_) => Some(text),
        }
    }

    fn question(&mut self, request: &Request) -> Option<ByteString> {
        let original = copied(&request.id())?;
        let shown = self.shown(&original);
        self.asked.insert(shown.key(), original);
        if self.lost == 0 { Some(request.text().clone()) } else { request.edited(&shown, &[]).ok() }
    }

    /// The id under which the client knows a question of the hub.
    fn shown(&self, original: &Id) -> Id {
        match self.lost {
            0 => original.clone(),
            lost => Id::text(&format!("hub-{lost}-{original}")),
        }
    }

    fn notice(&mut self, notification: &Notification) -> Option<ByteString> {
        if notification.method() == GOODBYE {
            self.goodbye = Some(comeback(notification));
            return None;
        }
        let Some(id) = cancelled(notification) else {
            return Some(notification.text().clone());
        };
        let shown = self.shown(&id);
        self.asked.remove(&shown.key());
        notification.edited(&[Edit::set(&["requestId"], shown.as_str())]).ok()
    }

    fn broken(&mut self, malformed: &Malformed) -> Option<ByteString> {
        let id = malformed.id.as_ref().filter(|_| malformed.looks != Looks::LikeACall)?;
        self.in_flight.remove(&id.key());
        Some(Response::error(Some(id), &malformed.to_rpc_error()).text().clone())
    }

    /// The hub is gone. What it owed is answered in its place, except for a handshake: that can be repeated.
    pub(super) fn lost(&mut self) -> Leaving {
        let greeting = self.handshake.key().and_then(|key| self.in_flight.take(key));
        let failed = self.in_flight.drain().filter_map(|key| id_of(&key));
        let failed = failed.map(|id| Response::error(Some(&id), &try_again(LOST)).text().clone());
        let taken_back = self.asked.drain().filter_map(|(key, _)| take_back(&id_of(&key)?));
        let messages = failed.chain(taken_back).collect();
        self.in_flight.extend(greeting);
        self.ours.clear();
        self.lost += 1;
        Leaving { messages, comeback: self.goodbye.take().unwrap_or_default() }
    }

    /// A message of the client for which there is no hub; the answer to it, if it wants one.
    pub(super) fn refuse(&mut self, text: ByteString) -> Option<ByteString> {
        match parse(text) {
            Ok(Parsed::One(message)) => self.refuse_one(&message),
            Ok(Parsed::Batch(messages)) => {
                let answers = messages.iter().flatten();
                let answers: Vec<_> = answers.filter_map(|one| self.refuse_one(one)).collect();
                (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")).into())
            }
            Err(malformed) => {
                let error = malformed.to_rpc_error();
                Some(Response::error(malformed.id.as_ref(), &error).text().clone())
            }
        }
    }

    fn refuse_one(&mut self, message: &Message) -> Option<ByteString> {
        match message {
            Message::Request(request) => {
                let error = try_again(NO_HUB);
                Some(Response::error(Some(&request.id()), &error).text().clone())
            }
            Message::Notification(notification) => {
                self.handshake.notification(notification);
                None
            }
            Message::Response(_) => None,
        }
    }

    // --- the handshake again

    /// `initialize`, to be sent to another hub. Under the client's own id if the client still waits for the answer.
    pub(super) fn greet_again(&mut self) -> Option<ByteString> {
        let text = self.handshake.initialize()?;
        if self.is_client_greeting() {
            return Some(text.to_owned().into());
        }
        let id = self.own_id(0);
        let again = under(&id, text)?;
        self.ours.insert(id.key());
        Some(again)
    }

    /// Whether the client has no answer to its `initialize`.
    pub(super) fn is_client_greeting(&self) -> bool {
        self.handshake.key().is_some_and(|key| self.in_flight.contains(key))
    }

    /// Whether the hub has yet to answer the `initialize` that was sent again.
    pub(super) fn is_greeting(&self) -> bool {
        self.is_client_greeting() || self.ours.contains(&self.own_id(0).key())
    }

    /// What follows `initialize`.
    pub(super) fn settle_again(&mut self) -> Vec<ByteString> {
        let mut texts: Vec<_> = self.handshake.initialized().into_iter().collect();
        for (number, text) in (1..).zip(self.handshake.requests()) {
            let id = self.own_id(number);
            if let Some(again) = under(&id, text) {
                self.ours.insert(id.key());
                texts.push(again);
            }
        }
        texts
    }

    /// Another hub will not answer what this one was asked.
    pub(super) fn forget_ours(&mut self) {
        self.ours.clear();
    }

    /// An id that no client uses, of the hub after the `lost`th.
    fn own_id(&self, number: u64) -> Id {
        Id::text(&format!("switchboard-again-{}-{number}", self.lost))
    }
}

/// An id that holds on to nothing else.
fn copied(id: &Id) -> Option<Id> {
    Id::from_raw(Raw::parse(id.as_str().to_owned()).ok()?)
}

fn id_of(key: &IdKey) -> Option<Id> {
    match key {
        IdKey::Number(number) => Id::from_raw(Raw::parse(number.clone()).ok()?),
        IdKey::Text(text) => Some(Id::text(text)),
    }
}

/// The request that a notification cancels.
fn cancelled(notification: &Notification) -> Option<Id> {
    if notification.method() != method::CANCELLED {
        return None;
    }
    Id::from_raw(notification.params()?.get("requestId").ok()??)
}

fn take_back(id: &Id) -> Option<ByteString> {
    let params = Raw::parse(format!(r#"{{"requestId":{id},"reason":"the hub was lost"}}"#)).ok()?;
    Some(Notification::new(method::CANCELLED, Some(&params)).text().clone())
}

fn comeback(goodbye: &Notification) -> Comeback {
    let why = goodbye.params().and_then(|params| params.get("why").ok()??.to_text());
    match why {
        Some(why) if why == Why::Stopped.word() => Comeback::WhenNeeded,
        _ => Comeback::AtOnce,
    }
}
