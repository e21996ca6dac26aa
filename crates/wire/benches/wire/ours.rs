//! The envelope: spans found, members spliced, everything else copied.

use bytes::Bytes;
use bytestring::ByteString;
use switchboard_wire::{
    envelope::{Id, Message, Parsed, parse},
    json::Edit,
};

use crate::inputs::Input;

fn parsed(input: &Input) -> Message {
    // The check for UTF-8 is part of the price.
    let text = ByteString::try_from(input.bytes.clone()).expect("the input is UTF-8");
    match parse(text) {
        Ok(Parsed::One(message)) => message,
        other => panic!("not one message: {other:?}"),
    }
}

pub(crate) fn read(input: &Input) -> Bytes {
    let message = parsed(input);
    let _ = std::hint::black_box(message.id());
    match &message {
        Message::Request(request) if request.method() == "tools/call" => "1".into(),
        _ => "0".into(),
    }
}

pub(crate) fn forward(input: &Input) -> Bytes {
    emit(&parsed(input), &[], &[])
}

pub(crate) fn splice(input: &Input) -> Bytes {
    let call = [Edit::set(&["name"], "\"forecast\""), Edit::set(&["_meta", "progressToken"], "99")];
    let result = [Edit::set(&["_meta", "traceparent"], "\"00-ab-01\"")];
    emit(&parsed(input), &call, &result)
}

fn emit(message: &Message, call: &[Edit<'_>], result: &[Edit<'_>]) -> Bytes {
    let id = Id::number(977);
    let edited = match message {
        Message::Request(request) => request.edited(&id, call),
        Message::Response(response) => response.edited(&id, result),
        Message::Notification(note) => note.edited(&[]),
    };
    edited.expect("the members can be set").into_bytes()
}
