//! The journal of a session: running requests, open [`PendingQuestions`] of the hub, and the client's [`Handshake`].
//!
//! Used by `relay` (every message goes through it) and by `reconnect`, which answers running requests and replays the
//! handshake when the hub is lost. A message is parsed once, for its id and method, and passed on unchanged wherever
//! possible. It does not store calls and never repeats one.

use std::collections::{HashMap, HashSet};

use bytestring::ByteString;
use parking_lot::{Mutex, MutexGuard};
use switchboard_core::dispatch::RepeatSafety;
use switchboard_wire::envelope::{
    Id, IdKey, MalformedMessage, MalformedShape, MessageOrBatch, Notification, Response,
    RpcMessage, parse,
};
use tokio::sync::Notify;

use super::{
    handshake::{Handshake, with_id},
    questions::{PendingQuestions, cancelled_id, id_from_key},
};
use crate::socket::{GOODBYE_METHOD, HubEndReason, retry_error, unknown_outcome_error};

/// The error text for a call that was running. The call may have been carried out, so only the caller may repeat it.
const LOST_CALL_TEXT: &str = "the hub was lost before it answered; the server may have carried out the call: check before you repeat it";
/// The error text for a request that only reads.
const LOST_READ_TEXT: &str = "the hub was lost before it answered; try again";
/// The error text for a call that came while no hub was connected.
const NO_HUB_TEXT: &str = "there is no hub at the moment; the call was not made";

/// A journal that both directions of the relay write to.
#[derive(Debug, Default)]
pub(super) struct SharedJournal {
    journal: Mutex<SessionJournal>,
    /// Notified when the last running request was answered.
    settled: Notify,
}

/// The journal of one session.
#[derive(Debug, Default)]
pub(super) struct SessionJournal {
    /// Requests of the client without an answer.
    in_flight: HashMap<IdKey, RepeatSafety>,
    questions: PendingQuestions,
    /// Requests that `connect` sent for itself; their answers do not reach the client.
    ours: HashSet<IdKey>,
    handshake: Handshake,
    goodbye: Option<ReconnectTrigger>,
}

/// When to look for a hub again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ReconnectTrigger {
    /// At once: the hub crashed, or makes room for a newer one.
    #[default]
    AtOnce,
    /// With the client's next request: a person stopped the hub.
    WhenNeeded,
}

/// The follow-up of a lost hub.
#[derive(Debug)]
pub(super) struct LostHub {
    /// Messages for the client: errors for its running requests, cancellations of the hub's questions.
    pub(super) messages: Vec<ByteString>,
    pub(super) comeback: ReconnectTrigger,
}

// === impl SharedJournal ===

impl SharedJournal {
    pub(super) fn lock(&self) -> MutexGuard<'_, SessionJournal> {
        self.journal.lock()
    }

    /// [`SessionJournal::take_from_hub`], and wakes waiters if no request is left.
    pub(super) fn take_from_hub(&self, text: ByteString) -> Option<ByteString> {
        let mut journal = self.lock();
        let text = journal.take_from_hub(text);
        self.notify_if_settled(&journal);
        text
    }

    /// Handles a message of the hub that could not be read; returns an error for the request that waits for it.
    pub(super) fn broken_from_hub(&self, malformed: &MalformedMessage) -> Option<ByteString> {
        let mut journal = self.lock();
        let text = journal.broken_from_hub(malformed);
        self.notify_if_settled(&journal);
        text
    }

    /// Waits until no request is running.
    pub(super) async fn wait_until_settled(&self) {
        while !self.lock().in_flight.is_empty() {
            self.settled.notified().await;
        }
    }

    fn notify_if_settled(&self, journal: &SessionJournal) {
        if journal.in_flight.is_empty() {
            self.settled.notify_one();
        }
    }
}

// === impl SessionJournal ===

impl SessionJournal {
    /// Notes a message of the client; returns the text to send to the hub in its place, if any.
    pub(super) fn take_from_client(&mut self, text: ByteString) -> Option<ByteString> {
        match parse(text.clone()) {
            Ok(MessageOrBatch::One(message)) => self.message_from_client(message),
            Ok(MessageOrBatch::Batch(messages)) => {
                for message in messages.into_iter().flatten() {
                    self.message_from_client(message);
                }
                Some(text)
            }
            // The hub answers with the parse error.
            Err(_) => Some(text),
        }
    }

    fn message_from_client(&mut self, message: RpcMessage) -> Option<ByteString> {
        match message {
            RpcMessage::Request(request) => {
                self.in_flight
                    .insert(request.id().key(), RepeatSafety::from_method(&request.method()));
                self.handshake.note_request(&request);
                Some(request.text().clone())
            }
            RpcMessage::Notification(notification) => {
                self.handshake.note_notification(&notification);
                if let Some(id) = cancelled_id(&notification) {
                    // A cancelled request is not answered.
                    self.in_flight.remove(&id.key());
                }
                Some(notification.text().clone())
            }
            RpcMessage::Response(response) => self.questions.answer_for_hub(&response),
        }
    }

    /// Notes a message of the hub; returns the text to send to the client in its place, if any.
    pub(super) fn take_from_hub(&mut self, text: ByteString) -> Option<ByteString> {
        match parse(text.clone()) {
            Ok(MessageOrBatch::One(RpcMessage::Response(response))) => {
                let key = response.id().map(|id| id.key());
                if let Some(key) = &key {
                    if self.ours.remove(key) {
                        return None;
                    }
                    self.in_flight.remove(key);
                }
                Some(text)
            }
            Ok(MessageOrBatch::One(RpcMessage::Request(request))) => {
                self.questions.question_for_client(&request)
            }
            Ok(MessageOrBatch::One(RpcMessage::Notification(notification))) => {
                self.notification_from_hub(&notification)
            }
            Ok(MessageOrBatch::Batch(messages)) => {
                for message in messages.iter().flatten() {
                    if let RpcMessage::Response(response) = message
                        && let Some(id) = response.id()
                    {
                        self.in_flight.remove(&id.key());
                    }
                }
                Some(text)
            }
            // The client handles the malformed message.
            Err(_) => Some(text),
        }
    }

    fn notification_from_hub(&mut self, notification: &Notification) -> Option<ByteString> {
        if notification.method() == GOODBYE_METHOD {
            self.goodbye = Some(reconnect_trigger(notification));
            return None;
        }
        match cancelled_id(notification) {
            Some(id) => self.questions.withdrawal_for_client(&id, notification),
            None => Some(notification.text().clone()),
        }
    }

    fn broken_from_hub(&mut self, malformed: &MalformedMessage) -> Option<ByteString> {
        let id = malformed.id.as_ref().filter(|_| malformed.looks != MalformedShape::LikeACall)?;
        self.in_flight.remove(&id.key());
        Some(Response::error(Some(id), &malformed.to_rpc_error()).text().clone())
    }

    /// Handles the loss of the hub. Running requests are answered with errors, except `initialize`, which can be
    /// repeated.
    pub(super) fn hub_lost(&mut self) -> LostHub {
        let greeting =
            self.handshake.initialize_id().and_then(|key| self.in_flight.remove_entry(key));
        let failed = self.in_flight.drain().filter_map(|(key, repeat)| {
            let error = match repeat {
                RepeatSafety::Harmless => retry_error(LOST_READ_TEXT),
                RepeatSafety::MayActTwice => unknown_outcome_error(LOST_CALL_TEXT),
            };
            Some(Response::error(Some(&id_from_key(&key)?), &error).text().clone())
        });
        let mut messages: Vec<_> = failed.collect();
        messages.extend(self.questions.take_back_all());
        self.in_flight.extend(greeting);
        self.ours.clear();
        LostHub { messages, comeback: self.goodbye.take().unwrap_or_default() }
    }

    /// Handles a message of the client while no hub is connected; returns the answer, if the message expects one.
    pub(super) fn refuse(&mut self, text: ByteString) -> Option<ByteString> {
        match parse(text) {
            Ok(MessageOrBatch::One(message)) => self.refuse_one(&message),
            Ok(MessageOrBatch::Batch(messages)) => {
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

    fn refuse_one(&mut self, message: &RpcMessage) -> Option<ByteString> {
        match message {
            RpcMessage::Request(request) => {
                let error = retry_error(NO_HUB_TEXT);
                Some(Response::error(Some(&request.id()), &error).text().clone())
            }
            RpcMessage::Notification(notification) => {
                self.handshake.note_notification(notification);
                None
            }
            RpcMessage::Response(_) => None,
        }
    }

    // --- the handshake again

    /// Returns `initialize` for another hub: under the client's own id if the client still waits for the answer.
    pub(super) fn repeat_initialize(&mut self) -> Option<ByteString> {
        let text = self.handshake.initialize()?;
        if self.is_client_greeting() {
            return Some(text.to_owned().into());
        }
        let id = self.own_id(0);
        let again = with_id(&id, text)?;
        self.ours.insert(id.key());
        Some(again)
    }

    /// Whether the client still waits for the answer to its `initialize`.
    pub(super) fn is_client_greeting(&self) -> bool {
        self.handshake.initialize_id().is_some_and(|key| self.in_flight.contains_key(key))
    }

    /// Whether the hub has yet to answer the repeated `initialize`.
    pub(super) fn is_greeting(&self) -> bool {
        self.is_client_greeting() || self.ours.contains(&self.own_id(0).key())
    }

    /// Returns the session messages that follow `initialize`.
    pub(super) fn replay_after_initialize(&mut self) -> Vec<ByteString> {
        let mut texts: Vec<_> = self.handshake.initialized().into_iter().collect();
        for (number, text) in (1..).zip(self.handshake.requests()) {
            let id = self.own_id(number);
            if let Some(again) = with_id(&id, text) {
                self.ours.insert(id.key());
                texts.push(again);
            }
        }
        texts
    }

    /// Forgets our own requests, because the next hub will not answer them.
    pub(super) fn forget_own_requests(&mut self) {
        self.ours.clear();
    }

    /// An id that no client uses; it contains the number of lost hubs.
    fn own_id(&self, number: u64) -> Id {
        Id::text(&format!("switchboard-again-{}-{number}", self.questions.hubs_lost()))
    }
}

fn reconnect_trigger(goodbye: &Notification) -> ReconnectTrigger {
    let why = goodbye.params().and_then(|params| params.get("why").ok()??.to_text());
    match why {
        Some(why) if why == HubEndReason::Stopped.as_str() => ReconnectTrigger::WhenNeeded,
        _ => ReconnectTrigger::AtOnce,
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

    fn journal(said: &[&str]) -> SessionJournal {
        let mut journal = SessionJournal::default();
        for text in said {
            assert_eq!(journal.take_from_client((*text).into()).as_deref(), Some(*text));
        }
        journal
    }

    /// The ids of the requests that are answered with an error when the hub is lost.
    fn told(mut journal: SessionJournal) -> Vec<String> {
        let told = journal.hub_lost().messages;
        let mut ids: Vec<_> = told
            .into_iter()
            .map(|text| match parse(text) {
                Ok(MessageOrBatch::One(RpcMessage::Response(response))) => {
                    response.id().unwrap().to_string()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        ids.sort();
        ids
    }

    /// A tool call may have been carried out; reading a resource may be repeated.
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
            let told = journal(&[&request]).hub_lost().messages;
            let expected = format!(r#""data":{{"remedy":"{remedy}"}}"#);
            assert!(matches!(&told[..], [one] if one.contains(&expected)), "{asked}: {told:?}");
        }
    }

    #[test]
    fn whoever_waits_is_told_of_a_loss() {
        let mut busy = journal(&[&call("1"), &call(r#""one""#), &call("2"), "not JSON", "[]"]);
        assert_eq!(busy.take_from_hub(answer("2")), Some(answer("2")));
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        busy.take_from_client(cancel.into());
        assert_eq!(told(busy), [r#""one""#]);

        let batch = format!("[{},{}]", call("3"), call("4"));
        let mut batched = journal(&[&batch]);
        batched.take_from_hub(format!("[{}]", answer("4")).into());
        assert_eq!(told(batched), ["3"]);

        let mut large = journal(&[&call("5"), &call("6")]);
        let malformed = parse(r#"{"jsonrpc":"1","result":1,"id":5}"#.into()).unwrap_err();
        assert!(large.broken_from_hub(&malformed).unwrap().contains(r#""id":5,"error""#));
        assert_eq!(told(large), ["6"]);
    }

    #[test]
    fn a_handshake_that_was_answered_is_repeated_in_silence() {
        let mut journal = journal(&[INITIALIZE]);
        journal.take_from_hub(answer("0"));
        assert!(journal.hub_lost().messages.is_empty());
        let again = journal.repeat_initialize().unwrap();
        assert_eq!(again, INITIALIZE.replace(r#""id":0"#, r#""id":"switchboard-again-1-0""#));
        assert!(journal.is_greeting());
        assert_eq!(journal.take_from_hub(answer(r#""switchboard-again-1-0""#)), None);
        assert!(!journal.is_greeting());
    }

    #[test]
    fn a_handshake_that_was_not_answered_is_the_clients_own() {
        let mut journal = journal(&[INITIALIZE]);
        assert!(journal.hub_lost().messages.is_empty());
        assert_eq!(journal.repeat_initialize().as_deref(), Some(INITIALIZE));
        assert_eq!(journal.take_from_hub(answer("0")), Some(answer("0")));
        assert!(!journal.is_greeting());
    }

    #[test]
    fn a_client_without_a_handshake_has_none_to_repeat() {
        let mut journal = journal(&[&call("1")]);
        journal.hub_lost();
        assert_eq!(journal.repeat_initialize(), None);
    }

    #[test]
    fn a_new_handshake_forgets_what_followed_the_last() {
        let level =
            r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#;
        let mut journal = journal(&[INITIALIZE, level]);
        journal.hub_lost();
        assert_eq!(journal.replay_after_initialize().len(), 1);
        journal.take_from_client(INITIALIZE.into());
        assert_eq!(journal.replay_after_initialize().len(), 0);
    }

    #[test]
    fn a_goodbye_is_for_us_and_says_when_to_return() {
        for (why, expected) in [
            ("stopped", ReconnectTrigger::WhenNeeded),
            ("handed-over", ReconnectTrigger::AtOnce),
            ("something new", ReconnectTrigger::AtOnce),
        ] {
            let mut journal = SessionJournal::default();
            let goodbye = format!(
                r#"{{"jsonrpc":"2.0","method":"{GOODBYE_METHOD}","params":{{"why":"{why}"}}}}"#
            );
            assert_eq!(journal.take_from_hub(goodbye.into()), None);
            assert_eq!(journal.hub_lost().comeback, expected, "{why}");
            assert_eq!(journal.hub_lost().comeback, ReconnectTrigger::AtOnce);
        }
    }

    #[test]
    fn what_no_hub_can_take_is_refused() {
        let mut journal = SessionJournal::default();
        let refused =
            |text: &str, journal: &mut SessionJournal| journal.refuse(text.to_owned().into());
        let one = refused(&call("1"), &mut journal).unwrap();
        assert!(one.contains(r#""id":1,"error":{"code":-32603"#) && one.contains("retry"), "{one}");
        let batch = format!("[{},{}]", call("2"), call("3"));
        let both = refused(&batch, &mut journal).unwrap();
        assert_eq!(both.matches("error").count(), 2, "{both}");
        assert!(refused("{", &mut journal).unwrap().contains("-32700"));
        let silent = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(refused(silent, &mut journal), None);
        assert_eq!(journal.replay_after_initialize(), [silent], "but it is remembered");
    }
}
