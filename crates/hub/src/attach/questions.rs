//! Ids of the questions that hubs ask the client.
//!
//! Used by `journal`. Questions of the first hub pass unchanged. Those of later hubs get new ids: each hub counts from
//! one again, and the client may still be working on a question of a lost hub. It does not keep the questions
//! themselves.

use std::collections::HashMap;

use bytestring::ByteString;
use switchboard_wire::{
    envelope::{Id, IdKey, Notification, Request, Response},
    json::{JsonEdit, Raw},
    meta::method,
};

/// Questions that the client has received and not answered.
#[derive(Debug, Default)]
pub(super) struct PendingQuestions {
    /// How many hubs were lost.
    lost: u64,
    /// The id that the client knows, and the hub's id for that question.
    asked: HashMap<IdKey, Id>,
}

// === impl PendingQuestions ===

impl PendingQuestions {
    /// How many hubs were lost.
    pub(super) fn hubs_lost(&self) -> u64 {
        self.lost
    }

    /// Notes a question; returns the text for the client.
    pub(super) fn question_for_client(&mut self, request: &Request) -> Option<ByteString> {
        let original = copy_id(&request.id())?;
        let shown = self.client_id(&original);
        self.asked.insert(shown.key(), original);
        if self.lost == 0 {
            Some(request.text().clone())
        } else {
            request.rewrite(&shown, &[]).ok()
        }
    }

    /// Notes an answer; returns the text for the hub. An answer to a lost hub is dropped.
    pub(super) fn answer_for_hub(&mut self, response: &Response) -> Option<ByteString> {
        match response.id().and_then(|id| self.asked.remove(&id.key())) {
            Some(original) if self.lost > 0 => response.rewrite(&original, &[]).ok(),
            Some(_) => Some(response.text().clone()),
            None => (self.lost == 0).then(|| response.text().clone()),
        }
    }

    /// Notes that the hub cancelled question `id`; returns the notification for the client.
    pub(super) fn withdrawal_for_client(
        &mut self,
        id: &Id,
        word: &Notification,
    ) -> Option<ByteString> {
        let shown = self.client_id(id);
        self.asked.remove(&shown.key());
        word.rewrite(&[JsonEdit::set(&["requestId"], shown.as_str())]).ok()
    }

    /// Notes that the hub is lost; returns a cancellation for each of its questions.
    pub(super) fn take_back_all(&mut self) -> Vec<ByteString> {
        self.lost += 1;
        self.asked.drain().filter_map(|(key, _)| cancellation(&id_from_key(&key)?)).collect()
    }

    /// The id under which the client knows a question of the current hub.
    fn client_id(&self, original: &Id) -> Id {
        match self.lost {
            0 => original.clone(),
            lost => Id::text(&format!("hub-{lost}-{original}")),
        }
    }
}

/// The id that a key stands for.
pub(super) fn id_from_key(key: &IdKey) -> Option<Id> {
    match key {
        IdKey::Number(number) => Id::from_raw(Raw::parse(number.clone()).ok()?),
        IdKey::Text(text) => Some(Id::text(text)),
    }
}

/// The request that a notification cancels.
pub(super) fn cancelled_id(notification: &Notification) -> Option<Id> {
    if notification.method() != method::CANCELLED {
        return None;
    }
    Id::from_raw(notification.params()?.get("requestId").ok()??)
}

/// Copies an id, so that it does not keep the buffer of its message alive.
fn copy_id(id: &Id) -> Option<Id> {
    Id::from_raw(Raw::parse(id.as_str().to_owned()).ok()?)
}

fn cancellation(id: &Id) -> Option<ByteString> {
    let params = Raw::parse(format!(r#"{{"requestId":{id},"reason":"the hub was lost"}}"#)).ok()?;
    Some(Notification::new(method::CANCELLED, Some(&params)).text().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_wire::envelope::{MessageOrBatch, RpcMessage, parse};

    fn message(text: &str) -> RpcMessage {
        match parse(text.to_owned().into()) {
            Ok(MessageOrBatch::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn ask(questions: &mut PendingQuestions, id: &str) -> String {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
        let RpcMessage::Request(request) = message(&text) else { panic!() };
        questions.question_for_client(&request).unwrap().to_string()
    }

    fn answer(questions: &mut PendingQuestions, id: &str) -> Option<String> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        let RpcMessage::Response(response) = message(&text) else { panic!() };
        questions.answer_for_hub(&response).map(String::from)
    }

    #[test]
    fn ids_of_two_hubs_stay_apart() {
        let mut questions = PendingQuestions::default();
        assert!(ask(&mut questions, "1").contains(r#""id":1,"#));
        assert!(ask(&mut questions, "2").contains(r#""id":2,"#));
        assert!(answer(&mut questions, "2").unwrap().contains(r#""id":2,"#));
        let taken_back = questions.take_back_all();
        assert!(matches!(&taken_back[..], [one] if one.contains(r#""requestId":1,"#)));

        assert!(ask(&mut questions, "1").contains(r#""id":"hub-1-1","#));
        assert_eq!(answer(&mut questions, "1"), None, "its hub is gone");
        assert!(answer(&mut questions, r#""hub-1-1""#).unwrap().contains(r#""id":1,"#));
        assert_eq!(answer(&mut questions, r#""hub-1-1""#), None, "it was answered");
    }

    #[test]
    fn a_question_is_withdrawn_under_the_id_it_was_asked() {
        let mut questions = PendingQuestions::default();
        questions.take_back_all();
        ask(&mut questions, "7");
        let word =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let RpcMessage::Notification(word) = message(word) else { panic!() };
        let told = questions.withdrawal_for_client(&cancelled_id(&word).unwrap(), &word).unwrap();
        assert!(told.contains(r#""requestId":"hub-1-7""#), "{told}");
        assert!(questions.take_back_all().is_empty());
    }
}
