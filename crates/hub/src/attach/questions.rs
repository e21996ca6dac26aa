//! Questions that hubs ask the client.
//!
//! The first hub's pass as they are. Those of the hubs after it get ids of their own: each hub counts from one again,
//! and the client may still be at work on a question of one that is gone.

use std::collections::HashMap;

use bytestring::ByteString;
use switchboard_wire::{
    envelope::{Id, IdKey, Notification, Request, Response},
    json::{Edit, Raw},
    meta::method,
};

/// What the client has been asked and has not answered.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// How many hubs were lost.
    lost: u64,
    /// The id the client knows each under, and the hub's.
    asked: HashMap<IdKey, Id>,
}

// === impl Questions ===

impl Questions {
    /// How many hubs were lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// A question, as the client is to get it.
    pub(super) fn ask(&mut self, request: &Request) -> Option<ByteString> {
        let original = copied(&request.id())?;
        let shown = self.shown(&original);
        self.asked.insert(shown.key(), original);
        if self.lost == 0 { Some(request.text().clone()) } else { request.edited(&shown, &[]).ok() }
    }

    /// An answer, as the hub is to get it. One to a hub that is gone goes nowhere.
    pub(super) fn answer(&mut self, response: &Response) -> Option<ByteString> {
        match response.id().and_then(|id| self.asked.remove(&id.key())) {
            Some(original) if self.lost > 0 => response.edited(&original, &[]).ok(),
            Some(_) => Some(response.text().clone()),
            None => (self.lost == 0).then(|| response.text().clone()),
        }
    }

    /// Word of the hub that question `id` needs no answer, as the client is to get it.
    pub(super) fn withdraw(&mut self, id: &Id, word: &Notification) -> Option<ByteString> {
        let shown = self.shown(id);
        self.asked.remove(&shown.key());
        word.edited(&[Edit::set(&["requestId"], shown.as_str())]).ok()
    }

    /// The hub is gone: its questions are taken back.
    pub(super) fn lose(&mut self) -> Vec<ByteString> {
        self.lost += 1;
        self.asked.drain().filter_map(|(key, _)| take_back(&id_of(&key)?)).collect()
    }

    /// The id under which the client knows a question of the hub.
    fn shown(&self, original: &Id) -> Id {
        match self.lost {
            0 => original.clone(),
            lost => Id::text(&format!("hub-{lost}-{original}")),
        }
    }
}

/// The id that a key stands for.
pub(super) fn id_of(key: &IdKey) -> Option<Id> {
    match key {
        IdKey::Number(number) => Id::from_raw(Raw::parse(number.clone()).ok()?),
        IdKey::Text(text) => Some(Id::text(text)),
    }
}

/// The request that a notification cancels.
pub(super) fn cancelled(notification: &Notification) -> Option<Id> {
    if notification.method() != method::CANCELLED {
        return None;
    }
    Id::from_raw(notification.params()?.get("requestId").ok()??)
}

/// An id that holds on to nothing else.
fn copied(id: &Id) -> Option<Id> {
    Id::from_raw(Raw::parse(id.as_str().to_owned()).ok()?)
}

fn take_back(id: &Id) -> Option<ByteString> {
    let params = Raw::parse(format!(r#"{{"requestId":{id},"reason":"the hub was lost"}}"#)).ok()?;
    Some(Notification::new(method::CANCELLED, Some(&params)).text().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_wire::envelope::{Message, Parsed, parse};

    fn message(text: &str) -> Message {
        match parse(text.to_owned().into()) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn ask(questions: &mut Questions, id: &str) -> String {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
        let Message::Request(request) = message(&text) else { panic!() };
        questions.ask(&request).unwrap().to_string()
    }

    fn answer(questions: &mut Questions, id: &str) -> Option<String> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        let Message::Response(response) = message(&text) else { panic!() };
        questions.answer(&response).map(String::from)
    }

    #[test]
    fn ids_of_two_hubs_stay_apart() {
        let mut questions = Questions::default();
        assert!(ask(&mut questions, "1").contains(r#""id":1,"#));
        assert!(ask(&mut questions, "2").contains(r#""id":2,"#));
        assert!(answer(&mut questions, "2").unwrap().contains(r#""id":2,"#));
        let taken_back = questions.lose();
        assert!(matches!(&taken_back[..], [one] if one.contains(r#""requestId":1,"#)));

        assert!(ask(&mut questions, "1").contains(r#""id":"hub-1-1","#));
        assert_eq!(answer(&mut questions, "1"), None, "its hub is gone");
        assert!(answer(&mut questions, r#""hub-1-1""#).unwrap().contains(r#""id":1,"#));
        assert_eq!(answer(&mut questions, r#""hub-1-1""#), None, "it was answered");
    }

    #[test]
    fn a_question_is_withdrawn_under_the_id_it_was_asked() {
        let mut questions = Questions::default();
        questions.lose();
        ask(&mut questions, "7");
        let word =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let Message::Notification(word) = message(word) else { panic!() };
        let told = questions.withdraw(&cancelled(&word).unwrap(), &word).unwrap();
        assert!(told.contains(r#""requestId":"hub-1-7""#), "{told}");
        assert!(questions.lose().is_empty());
    }
}
