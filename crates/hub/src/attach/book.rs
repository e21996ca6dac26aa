//! What has to be known of the messages that pass, should the hub be lost.
//!
//! Requests in flight, [`Questions`] of the hub, and the client's [`Handshake`]. A message is read once, for its id and
//! its method, and passed on as it came wherever that will do.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytestring::ByteString;
use switchboard_core::dispatch::Repeat;
use switchboard_wire::envelope::{
    Id, IdKey, Looks, Malformed, Message, Notification, Parsed, Response, parse,
};
use tokio::sync::Notify;

use super::{
    handshake::{Handshake, under},
    questions::{Questions, cancelled, id_of},
};
use crate::socket::{GOODBYE, Why, try_again, unknown_outcome};

/// What a call that was in flight is told. It may have been carried out, so nobody but the caller can repeat it.
const LOST: &str = "the hub was lost before it answered; whether the call was carried out is not known: check before you make it again";
/// The same for a request that only reads.
const LOST_READ: &str = "the hub was lost before it answered; try again";
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
    /// Requests of the client that are not answered.
    in_flight: HashMap<IdKey, Repeat>,
    questions: Questions,
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
                self.in_flight.insert(request.id().key(), Repeat::of(&request.method()));
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
            Message::Response(response) => self.questions.answer(&response),
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
            Ok(Parsed::One(Message::Request(request))) => self.questions.ask(&request),
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

    fn notice(&mut self, notification: &Notification) -> Option<ByteString> {
        if notification.method() == GOODBYE {
            self.goodbye = Some(comeback(notification));
            return None;
        }
        match cancelled(notification) {
            Some(id) => self.questions.withdraw(&id, notification),
            None => Some(notification.text().clone()),
        }
    }

    fn broken(&mut self, malformed: &Malformed) -> Option<ByteString> {
        let id = malformed.id.as_ref().filter(|_| malformed.looks != Looks::LikeACall)?;
        self.in_flight.remove(&id.key());
        Some(Response::error(Some(id), &malformed.to_rpc_error()).text().clone())
    }

    /// The hub is gone. What it owed is answered in its place, except for a handshake: that can be repeated.
    pub(super) fn lost(&mut self) -> Leaving {
        let greeting = self.handshake.key().and_then(|key| self.in_flight.remove_entry(key));
        let failed = self.in_flight.drain().filter_map(|(key, repeat)| {
            let error = match repeat {
                Repeat::Harmless => try_again(LOST_READ),
                Repeat::MayActTwice => unknown_outcome(LOST),
            };
            Some(Response::error(Some(&id_of(&key)?), &error).text().clone())
        });
        let mut messages: Vec<_> = failed.collect();
        messages.extend(self.questions.lose());
        self.in_flight.extend(greeting);
        self.ours.clear();
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
        self.handshake.key().is_some_and(|key| self.in_flight.contains_key(key))
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
        Id::text(&format!("switchboard-again-{}-{number}", self.questions.lost()))
    }
}

fn comeback(goodbye: &Notification) -> Comeback {
    let why = goodbye.params().and_then(|params| params.get("why").ok()??.to_text());
    match why {
        Some(why) if why == Why::Stopped.word() => Comeback::WhenNeeded,
        _ => Comeback::AtOnce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;

    fn call(id: &str) -> ByteString {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#).into()
    }

    fn answer(id: &str) -> ByteString {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into()
    }

    fn book(said: &[&str]) -> Book {
        let mut book = Book::default();
        for text in said {
            assert_eq!(book.client_says((*text).into()).as_deref(), Some(*text));
        }
        book
    }

    /// Which requests are told of a loss.
    fn told(mut book: Book) -> Vec<String> {
        let told = book.lost().messages;
        let mut ids: Vec<_> = told
            .into_iter()
            .map(|text| match parse(text) {
                Ok(Parsed::One(Message::Response(response))) => response.id().unwrap().to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        ids.sort();
        ids
    }

    /// A tool may have been called, a resource may be read again.
    #[test]
    fn what_may_have_been_carried_out_is_not_to_be_repeated_blindly() {
        for (asked, remedy) in [
            ("tools/call", "unknown"),
            ("acme/unheard-of", "unknown"),
            ("tasks/cancel", "unknown"),
            ("resources/read", "retry"),
            ("tools/list", "retry"),
            ("prompts/get", "retry"),
        ] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{asked}","params":{{}}}}"#);
            let told = book(&[&request]).lost().messages;
            let expected = format!(r#""data":{{"remedy":"{remedy}"}}"#);
            assert!(matches!(&told[..], [one] if one.contains(&expected)), "{asked}: {told:?}");
        }
    }

    #[test]
    fn whoever_waits_is_told_of_a_loss() {
        let mut busy = book(&[&call("1"), &call(r#""one""#), &call("2"), "not JSON", "[]"]);
        assert_eq!(busy.hub_says(answer("2")), Some(answer("2")));
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        busy.client_says(cancel.into());
        assert_eq!(told(busy), [r#""one""#]);

        let batch = format!("[{},{}]", call("3"), call("4"));
        let mut batched = book(&[&batch]);
        batched.hub_says(format!("[{}]", answer("4")).into());
        assert_eq!(told(batched), ["3"]);

        let mut large = book(&[&call("5"), &call("6")]);
        let malformed = parse(r#"{"jsonrpc":"1","result":1,"id":5}"#.into()).unwrap_err();
        assert!(large.broken(&malformed).unwrap().contains(r#""id":5,"error""#));
        assert_eq!(told(large), ["6"]);
    }

    #[test]
    fn a_handshake_that_was_answered_is_repeated_in_silence() {
        let mut book = book(&[INITIALIZE]);
        book.hub_says(answer("0"));
        assert!(book.lost().messages.is_empty());
        let again = book.greet_again().unwrap();
        assert_eq!(again, INITIALIZE.replace(r#""id":0"#, r#""id":"switchboard-again-1-0""#));
        assert!(book.is_greeting());
        assert_eq!(book.hub_says(answer(r#""switchboard-again-1-0""#)), None);
        assert!(!book.is_greeting());
    }

    #[test]
    fn a_handshake_that_was_not_answered_is_the_clients_own() {
        let mut book = book(&[INITIALIZE]);
        assert!(book.lost().messages.is_empty());
        assert_eq!(book.greet_again().as_deref(), Some(INITIALIZE));
        assert_eq!(book.hub_says(answer("0")), Some(answer("0")));
        assert!(!book.is_greeting());
    }

    #[test]
    fn a_client_without_a_handshake_has_none_to_repeat() {
        let mut book = book(&[&call("1")]);
        book.lost();
        assert_eq!(book.greet_again(), None);
    }

    #[test]
    fn a_new_handshake_forgets_what_followed_the_last() {
        let level =
            r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#;
        let mut book = book(&[INITIALIZE, level]);
        book.lost();
        assert_eq!(book.settle_again().len(), 1);
        book.client_says(INITIALIZE.into());
        assert_eq!(book.settle_again().len(), 0);
    }

    #[test]
    fn a_goodbye_is_for_us_and_says_when_to_return() {
        for (why, expected) in [
            ("stopped", Comeback::WhenNeeded),
            ("handed-over", Comeback::AtOnce),
            ("something new", Comeback::AtOnce),
        ] {
            let mut book = Book::default();
            let goodbye =
                format!(r#"{{"jsonrpc":"2.0","method":"{GOODBYE}","params":{{"why":"{why}"}}}}"#);
            assert_eq!(book.hub_says(goodbye.into()), None);
            assert_eq!(book.lost().comeback, expected, "{why}");
            assert_eq!(book.lost().comeback, Comeback::AtOnce);
        }
    }

    #[test]
    fn what_no_hub_can_take_is_refused() {
        let mut book = Book::default();
        let refused = |text: &str, book: &mut Book| book.refuse(text.to_owned().into());
        let one = refused(&call("1"), &mut book).unwrap();
        assert!(one.contains(r#""id":1,"error":{"code":-32603"#) && one.contains("retry"), "{one}");
        let batch = format!("[{},{}]", call("2"), call("3"));
        let both = refused(&batch, &mut book).unwrap();
        assert_eq!(both.matches("error").count(), 2, "{both}");
        assert!(refused("{", &mut book).unwrap().contains("-32700"));
        let silent = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(refused(silent, &mut book), None);
        assert_eq!(book.settle_again(), [silent], "but it is remembered");
    }
}
