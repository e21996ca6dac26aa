//! The envelope against `serde_json`: both take the same texts, and agree on what stands in them.
#![no_main]

use std::collections::HashMap;

use bytestring::ByteString;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use switchboard_wire::{
    envelope::{
        MalformedKind, MalformedMessage, MessageOrBatch, ResponseOutcome, RpcMessage, parse,
    },
    json::{JsonSyntaxErrorKind, Raw},
};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let text = ByteString::from(text);
    let body = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let theirs: Result<&RawValue, _> = serde_json::from_str(body);
    match Raw::parse(body.to_owned()) {
        Ok(ours) => assert_eq!(theirs.as_ref().expect("only we take it").get(), ours.as_str()),
        Err(syntax) if syntax.kind == JsonSyntaxErrorKind::TooDeep => return,
        Err(_) => assert!(theirs.is_err(), "only they take it"),
    }
    match parse(text.clone()) {
        Ok(MessageOrBatch::One(message)) => check(&message, &text),
        Ok(MessageOrBatch::Batch(messages)) => {
            assert!(!messages.is_empty());
            for message in messages {
                match message {
                    Ok(message) => check(&message, &text),
                    Err(malformed) => assert!(!is_syntax(&malformed)),
                }
            }
        }
        Err(malformed) => assert_eq!(is_syntax(&malformed), theirs.is_err()),
    }
});

fn is_syntax(malformed: &MalformedMessage) -> bool {
    matches!(malformed.kind, MalformedKind::Syntax(_))
}

fn check(message: &RpcMessage, input: &str) {
    let whole = match message {
        RpcMessage::Request(request) => request.text(),
        RpcMessage::Notification(note) => note.text(),
        RpcMessage::Response(response) => response.text(),
    };
    within(whole, input);
    // A key that names half of a surrogate pair is a key to us and an error to them.
    let Ok(members) = serde_json::from_str::<HashMap<String, &RawValue>>(whole) else {
        return;
    };
    let member = |key: &str| members.get(key).map(|value| value.get());
    let id = message.id();
    if let Some(id) = &id {
        within(id.as_str(), input);
    }
    assert_eq!(id.as_ref().map(|id| id.as_str()), member("id").filter(|id| *id != "null"));
    match message {
        RpcMessage::Request(request) => {
            assert_eq!(request.params().as_ref().map(Raw::as_str), member("params"));
        }
        RpcMessage::Notification(note) => {
            assert_eq!(note.params().as_ref().map(Raw::as_str), member("params"));
        }
        RpcMessage::Response(response) => match response.outcome() {
            ResponseOutcome::Result(result) => assert_eq!(Some(result.as_str()), member("result")),
            ResponseOutcome::Error(_) => assert!(member("error").is_some()),
        },
    }
}

/// Nothing is copied: what is given out is part of what came in.
fn within(part: &str, whole: &str) {
    let (part, whole) = (part.as_bytes().as_ptr_range(), whole.as_bytes().as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end);
}
