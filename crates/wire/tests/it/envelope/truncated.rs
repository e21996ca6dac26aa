//! Tests of truncated messages: an error at every byte, with the id once it was complete.

use bytestring::ByteString;
use switchboard_wire::envelope::{MalformedKind, parse};

/// Truncates `text` at every byte. The id is known from `known` bytes on.
fn check(text: &str, id: &str, known: usize) {
    for length in 0..text.len() {
        let Some(cut) = text.get(..length) else {
            continue; // Inside a character; the reader of lines answers for that.
        };
        let malformed = parse(ByteString::from(cut)).expect_err(cut);
        assert!(matches!(malformed.kind, MalformedKind::Syntax(_)), "{cut}");
        let found = malformed.id.map(|id| id.to_string());
        let expected = (length >= known).then(|| id.to_owned());
        assert_eq!(found, expected, "{cut}");
    }
    assert!(parse(ByteString::from(text)).is_ok());
}

/// The length of `text` up to and with `part`.
fn through(text: &str, part: &str) -> usize {
    text.find(part).expect("it is in there") + part.len()
}

#[test]
fn every_cut_is_an_error() {
    let request = r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"é\u00e9","n":[1.5e9,true,null]}}"#;
    check(request, "12", through(request, "12,"));
    let result =
        r#"{"result":{"content":[{"type":"text","text":"a\"b\\"}]},"id":"x\"y","jsonrpc":"2.0"}"#;
    check(result, r#""x\"y""#, through(result, r#"y","#));
    let error = r#"{"jsonrpc":"2.0","error":{"code":-1,"message":""},"id":7}"#;
    check(error, "7", usize::MAX);
}
