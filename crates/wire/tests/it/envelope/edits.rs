//! Tests of `rewrite`: a message under another id and with changed members keeps every other byte.

use bytestring::ByteString;
use switchboard_wire::{
    envelope::{Id, MessageOrBatch, RpcMessage, parse},
    json::{JsonEdit, SpliceError},
};

fn edited(text: &str, edits: &[JsonEdit<'_>]) -> Result<ByteString, SpliceError> {
    match parse(ByteString::from(text)) {
        Ok(MessageOrBatch::One(RpcMessage::Request(request))) => {
            request.rewrite(&Id::number(977), edits)
        }
        Ok(MessageOrBatch::One(RpcMessage::Notification(note))) => note.rewrite(edits),
        Ok(MessageOrBatch::One(RpcMessage::Response(response))) => {
            response.rewrite(&Id::number(977), edits)
        }
        other => panic!("not one message: {other:?}"),
    }
}

fn check(text: &str, edits: &[JsonEdit<'_>], expected: &str) {
    assert_eq!(edited(text, edits).as_deref(), Ok(expected), "{text}");
}

const NAME: JsonEdit<'_> = JsonEdit::set(&["name"], "\"n\"");
const TOKEN: JsonEdit<'_> = JsonEdit::set(&["_meta", "progressToken"], "5");

#[test]
fn the_id_is_found_wherever_it_stands() {
    check(
        r#"{"jsonrpc":"2.0", "id" : "a" ,"method":"m"}"#,
        &[],
        r#"{"jsonrpc":"2.0", "id" : 977 ,"method":"m"}"#,
    );
    check(
        r#"{"params":{"name":"x"},"method":"m","id":1e400,"jsonrpc":"2.0"}"#,
        &[NAME],
        r#"{"params":{"name":"n"},"method":"m","id":977,"jsonrpc":"2.0"}"#,
    );
    check(
        r#"{"result":{"id":1},"id":1,"jsonrpc":"2.0"}"#,
        &[TOKEN],
        r#"{"result":{"id":1,"_meta":{"progressToken":5}},"id":977,"jsonrpc":"2.0"}"#,
    );
    check(
        r#"{"id":1,"result":{"_meta":{"progressToken":1e400}},"jsonrpc":"2.0"}"#,
        &[TOKEN],
        r#"{"id":977,"result":{"_meta":{"progressToken":5}},"jsonrpc":"2.0"}"#,
    );
}

#[test]
fn params_that_are_missing_are_added() {
    check(
        r#"{"jsonrpc":"2.0","method":"m" }"#,
        &[TOKEN, NAME],
        r#"{"jsonrpc":"2.0","method":"m" ,"params":{"_meta":{"progressToken":5},"name":"n"}}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
        &[JsonEdit::remove(&["name"])],
        r#"{"jsonrpc":"2.0","id":977,"method":"m"}"#,
    );
}

#[test]
fn an_error_takes_no_edits_and_a_null_id_stays() {
    check(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#,
        &[TOKEN],
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","error":{"code":1},"id":4}"#,
        &[TOKEN],
        r#"{"jsonrpc":"2.0","error":{"code":1},"id":977}"#,
    );
}

#[test]
fn what_would_be_a_guess_is_refused() {
    let call =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
    for (params, edit, expected) in [
        (r#"{"name":1,"name":2}"#, NAME, "name"),
        (r#"{"name":1,"n\u0061me":2}"#, NAME, "name"),
        (r#"{"_meta":{},"_meta":{}}"#, TOKEN, "_meta"),
        (r#"{"_meta":{"progressToken":1,"progress\u0054oken":1}}"#, TOKEN, "progressToken"),
    ] {
        assert_eq!(
            edited(&call(params), &[edit]),
            Err(SpliceError::Duplicate(expected.into())),
            "{params}"
        );
    }
    for (params, edit, expected) in [("[1]", NAME, "params"), (r#"{"_meta":"x"}"#, TOKEN, "_meta")]
    {
        assert_eq!(
            edited(&call(params), &[edit]),
            Err(SpliceError::NotAnObject(expected.into())),
            "{params}"
        );
    }
}
