//! The contender `ours`: finds spans, splices members and copies the rest.

use bytes::Bytes;
use bytestring::ByteString;
use switchboard_wire::{
    envelope::{Id, MessageOrBatch, RpcMessage, parse},
    json::JsonEdit,
};

use crate::inputs::Input;

fn parsed(input: &Input) -> RpcMessage {
    // The UTF-8 check is part of the cost.
    let text = ByteString::try_from(input.bytes.clone()).expect("the input is UTF-8");
    match parse(text) {
        Ok(MessageOrBatch::One(message)) => message,
        other => panic!("not one message: {other:?}"),
    }
}

pub(crate) fn read(input: &Input) -> Bytes {
    let message = parsed(input);
    let _ = std::hint::black_box(message.id());
    match &message {
        RpcMessage::Request(request) if request.method() == "tools/call" => "1".into(),
        _ => "0".into(),
    }
}

pub(crate) fn forward(input: &Input) -> Bytes {
    emit(&parsed(input), &[], &[])
}

pub(crate) fn splice(input: &Input) -> Bytes {
    let call = [
        JsonEdit::set(&["name"], "\"forecast\""),
        JsonEdit::set(&["_meta", "progressToken"], "99"),
    ];
    let result = [JsonEdit::set(&["_meta", "traceparent"], "\"00-ab-01\"")];
    emit(&parsed(input), &call, &result)
}

fn emit(message: &RpcMessage, call: &[JsonEdit<'_>], result: &[JsonEdit<'_>]) -> Bytes {
    let id = Id::number(977);
    let edited = match message {
        RpcMessage::Request(request) => request.rewrite(&id, call),
        RpcMessage::Response(response) => response.rewrite(&id, result),
        RpcMessage::Notification(note) => note.rewrite(&[]),
    };
    edited.expect("the members can be set").into_bytes()
}
