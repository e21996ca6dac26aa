//! Tests of `parse` alone: the kind of message for each text.

use bytestring::ByteString;
use switchboard_wire::envelope::{
    MAX_BATCH_MESSAGES, MalformedMessage, MalformedShape, MessageOrBatch, ResponseOutcome,
    RpcMessage, parse,
};

/// Describes a text in one line: the kind and payload of the message, or the fault.
fn told(text: &str) -> String {
    match parse(ByteString::from(text)) {
        Ok(MessageOrBatch::One(message)) => message_told(&message),
        Ok(MessageOrBatch::Batch(messages)) => {
            let told = messages.iter().map(|message| match message {
                Ok(message) => message_told(message),
                Err(malformed) => malformed_told(malformed),
            });
            format!("[{}]", told.collect::<Vec<_>>().join(" | "))
        }
        Err(malformed) => malformed_told(&malformed),
    }
}

fn message_told(message: &RpcMessage) -> String {
    let id = message.id().map_or("none".to_owned(), |id| id.to_string());
    match message {
        RpcMessage::Request(request) => format!("request {id} {}", request.method()),
        RpcMessage::Notification(note) => format!("notification {}", note.method()),
        RpcMessage::Response(response) => match response.outcome() {
            ResponseOutcome::Result(result) => format!("result {id} {result}"),
            ResponseOutcome::Error(error) => format!("error {id} {}", error.code),
        },
    }
}

fn malformed_told(malformed: &MalformedMessage) -> String {
    let id = malformed.id.as_ref();
    let id = id.map_or("none".to_owned(), ToString::to_string);
    let kind = format!("{:?}", malformed.kind);
    let kind = kind.split(['(', ' ']).next().unwrap_or_default();
    let wants = if malformed.looks == MalformedShape::LikeAnAnswer { ", quietly" } else { "" };
    format!("{kind} {id}{wants}")
}

fn check(text: &str, expected: &str) {
    assert_eq!(told(text), expected, "{text}");
}

#[test]
fn the_kinds_of_message() {
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{}}"#, "request 1 a/b");
    check(r#"{"method":"a","params":[1],"id":"x","jsonrpc":"2.0"}"#, "request \"x\" a");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, "request 1 a");
    check(r#"{"jsonrpc":"2.0","method":"a"}"#, "notification a");
    check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "result 1 null");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{ "x":1.0 }}"#, r#"result 1 { "x":1.0 }"#);
    check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m"}}"#, "error 1 -5");
    check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-5}}"#, "error none -5");
    check(r#"{"jsonrpc":"2.0","error":{}}"#, "error none 0");
    check(r#"{"jsonrpc":"2.0","method":"a\/\u0062","x":{"id":3},"":0}"#, "notification a/b");
    check("\u{feff} \r\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\n", "notification a");
}

#[test]
fn ids_come_out_as_they_went_in() {
    for id in [
        "0",
        "-1",
        "-0",
        "1.0",
        "1.50",
        "1e400",
        "-1E-400",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        r#""""#,
        r#""abc""#,
        r#""a\u0062\n\"""#,
        r#""\ud83d\ude00 \ud800""#,
        r#""☃""#,
        r#""null""#,
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"m"}}"#);
        check(&text, &format!("request {id} m"));
        let text = format!(r#"{{"result":1,"id":{id},"jsonrpc":"2.0"}}"#);
        check(&text, &format!("result {id} 1"));
    }
    for id in ["null", "true", "false", "{}", "[]", "[1]", r#"{"id":1}"#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        check(&text, "BadId none");
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#);
        check(&text, "BadId none, quietly");
    }
    check(r#"{"jsonrpc":"2.0","result":1}"#, "BadId none, quietly");
}

#[test]
fn what_is_no_message() {
    check("", "Syntax none");
    check("  ", "Syntax none");
    check("log: started", "Syntax none");
    check("\0", "Syntax none");
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\0b\"}", "Syntax 1");
    check("\u{feff}\u{feff}{}", "Syntax none");
    for scalar in ["7", "null", "\"text\"", "true"] {
        check(scalar, "NotAnObject none");
    }
    check("{}", "Version none");
    check(r#"{"id":1,"method":"m"}"#, "Version 1");
    for version in ["\"1.0\"", "2.0", "2", "null", "\"2.0 \""] {
        let text = format!(r#"{{"jsonrpc":{version},"id":1,"method":"m"}}"#);
        check(&text, "Version 1");
    }
    check(r#"{"jsonrpc":"\u0032.0","method":"m"}"#, "notification m");
    check(r#"{"jsonrpc":"2.0","id":1}"#, "Nothing 1");
    check(r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "BadMethod 1");
    for params in ["1", "\"x\"", "true"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        check(&text, "BadParams 1");
    }
    check(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "BadError 1, quietly");
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":1}{"jsonrpc":"2.0","id":2,"result":1}"#,
        "Syntax none, quietly",
    );
}

#[test]
fn members_that_contradict_each_other() {
    let start = r#"{"jsonrpc":"2.0","id":1,"#;
    for (members, expected) in [
        (r#""result":1,"error":{}"#, "Conflicting 1, quietly"),
        (r#""method":"m","result":1"#, "Conflicting 1"),
        (r#""method":"m","error":{}"#, "Conflicting 1"),
        (r#""method":"m","id":1"#, "Duplicate none"),
        (r#""method":"m","\u0069d":2"#, "Duplicate none"),
        (r#""method":"m","meth\u006fd":"n""#, "Duplicate 1"),
        (r#""method":"m","params":{},"params":{}"#, "Duplicate 1"),
        (r#""result":1,"result":1"#, "Duplicate 1, quietly"),
        (r#""error":{},"err\u006Fr":{}"#, "Duplicate 1, quietly"),
        (r#""jsonrpc":"2.0","method":"m""#, "Duplicate 1"),
        // Unknown members are not checked.
        (r#""method":"m","x":1,"x":2"#, "request 1 m"),
        (r#""method":"m","params":{"a":1,"a":2}"#, "request 1 m"),
    ] {
        check(&format!("{start}{members}}}"), expected);
    }
}

#[test]
fn batches_fall_apart_into_messages() {
    check("[]", "EmptyBatch none");
    check(" [ ] ", "EmptyBatch none");
    let of_length = |length: usize| format!("[{}]", vec!["1"; length].join(","));
    check(&of_length(MAX_BATCH_MESSAGES + 1), "LongBatch none");
    let most = vec!["NotAnObject none"; MAX_BATCH_MESSAGES].join(" | ");
    check(&of_length(MAX_BATCH_MESSAGES), &format!("[{most}]"));
    check("[1", "Syntax none");
    check("[[]]", "[NotAnObject none]");
    check("[1,null]", "[NotAnObject none | NotAnObject none]");
    check(
        concat!(
            r#"[{"jsonrpc":"2.0","id":1,"method":"a"} , {"id":2,"method":"b"},"#,
            r#"[{"jsonrpc":"2.0","id":3,"method":"c"}],{"jsonrpc":"2.0","id":4,"result":5}]"#
        ),
        "[request 1 a | Version 2 | NotAnObject none | result 4 5]",
    );
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"jsonrpc":"2.0","result":{open}{close},"id":1}}"#)
    };
    // The message itself is one level.
    assert!(told(&nested(511)).starts_with("result 1 [[["));
    check(&nested(512), "Syntax 1, quietly");
    check(&nested(1_000_000), "Syntax 1, quietly");
    let objects = format!("{}1{}", r#"{"a":"#.repeat(600), "}".repeat(600));
    check(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{objects}}}"#), "Syntax 1");
}
