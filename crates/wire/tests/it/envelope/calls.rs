//! Tests of a client session: the outcome of a call for each text of its server, and that the next
//! call works.

use switchboard_wire::{
    Error,
    client::{CallRequest, InboxEvent},
    envelope::MalformedKind,
    json::Raw,
};

use super::peer::{LIMIT, Over, Peer, id_of, rude_server};

/// The effect of a bad message.
#[derive(Debug, PartialEq)]
enum Seen {
    /// The answered call fails with this reason.
    Fails(&'static str),
    /// The message names no call: the inbox reports it, and the call still waits.
    Heard(&'static str),
    /// The message belongs to no call and is ignored.
    Ignored,
}
use Seen::{Fails, Heard, Ignored};

/// The server answers a call with `text`, in which `$ID` is the call's id, and then properly.
async fn check(over: Over, text: impl AsRef<[u8]>, expected: Seen) {
    let (mut server, client, mut inbox) = rude_server(over).await;
    let arguments = Raw::empty_object();
    let calling = client.call(CallRequest::call_tool("t", &arguments)).result();
    let serving = async {
        let id = id_of(&server.receive().await);
        server.send(fill(text.as_ref(), id)).await;
        answer(&mut server, id).await;
    };
    let shown =
        String::from_utf8_lossy(&text.as_ref()[..text.as_ref().len().min(200)]).into_owned();
    let (called, ()) = tokio::join!(calling, serving);
    let seen = match called {
        Err(Error::Malformed(malformed)) => Fails(name(&malformed.kind)),
        Err(other) => panic!("{other:?} for {shown}"),
        Ok(_) if matches!(expected, Ignored) => Ignored,
        Ok(_) => match inbox.next().await {
            Ok(InboxEvent::Problem(Error::Malformed(malformed))) => Heard(name(&malformed.kind)),
            other => panic!("{other:?} for {shown}"),
        },
    };
    assert_eq!(seen, expected, "{over:?}: {shown}");
    let again = client.call(CallRequest::call_tool("t", &arguments)).result();
    let serving = async {
        // The client's reaction to the bad message comes first, if there is one.
        let mut request = server.receive().await;
        while !request.contains("tools/call") {
            request = server.receive().await;
        }
        answer(&mut server, id_of(&request)).await;
    };
    let (again, ()) = tokio::join!(again, serving);
    again.unwrap_or_else(|error| panic!("{error:?} after {shown}"));
}

async fn answer(server: &mut Peer, id: u64) {
    let good = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
    server.send(good).await;
}

fn fill(text: &[u8], id: u64) -> Vec<u8> {
    match memchr_id(text) {
        None => text.to_vec(),
        Some(at) => [&text[..at], id.to_string().as_bytes(), &text[at + 3..]].concat(),
    }
}

fn memchr_id(text: &[u8]) -> Option<usize> {
    // The position is near one of the ends, even in a text of a hundred mebibytes.
    let near = |range: std::ops::Range<usize>| {
        let found = text[range.clone()].windows(3).position(|word| word == b"$ID");
        found.map(|at| range.start + at)
    };
    let end = text.len();
    near(0..end.min(4096)).or_else(|| near(end.saturating_sub(4096)..end))
}

fn name(kind: &MalformedKind) -> &'static str {
    match kind {
        MalformedKind::Syntax(_) => "syntax",
        MalformedKind::NotUtf8 => "utf-8",
        MalformedKind::TooLarge { .. } => "too large",
        MalformedKind::NotAnObject => "not an object",
        MalformedKind::EmptyBatch => "empty batch",
        MalformedKind::LongBatch { .. } => "long batch",
        MalformedKind::Duplicate(_) => "duplicate",
        MalformedKind::Version => "version",
        MalformedKind::BadId => "id",
        MalformedKind::BadMethod => "method",
        MalformedKind::BadParams => "params",
        MalformedKind::BadError => "error",
        MalformedKind::Conflicting => "conflicting",
        MalformedKind::Nothing => "nothing",
    }
}

async fn check_both(members: &str, expected: fn(&'static str) -> Seen, why: &'static str) {
    let text = format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
    check(Over::Pair, &text, expected(why)).await;
    check(Over::Lines, &text, expected(why)).await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_call() {
    for (members, why) in [
        (r#""id":$ID,"result":{},"error":{"code":1}"#, "conflicting"),
        (r#""id":$ID,"result":{},"result":{}"#, "duplicate"),
        (r#""result":{},"id":$ID,"r\u0065sult":{}"#, "duplicate"),
        (r#""id":$ID,"error":"text""#, "error"),
        (r#""id":$ID,"result":{"a":}"#, "syntax"),
        (r#""id":$ID,"result":{"a":"b"#, "syntax"),
        (r#""id":$ID,"result":[1,]"#, "syntax"),
        (r#""id":$ID,"result":NaN"#, "syntax"),
        (r#""id":$ID,"jsonrpc":"2.0","result":{}"#, "duplicate"),
        (r#""id":$ID"#, "nothing"),
        (r#""id":$ID,"res"#, "syntax"),
    ] {
        check_both(members, Fails, why).await;
    }
    let wrong = r#"{"jsonrpc":"1.0","id":$ID,"result":{}}"#;
    check(Over::Pair, wrong, Fails("version")).await;
    check(Over::Lines, r#"{"id":$ID,"result":{}}"#, Fails("version")).await;
}

#[tokio::test]
async fn what_names_no_call_is_heard_of() {
    for (members, why) in [
        (r#""id":null,"result":{}"#, "id"),
        (r#""id":true,"result":{}"#, "id"),
        (r#""id":{},"result":{}"#, "id"),
        (r#""result":{}"#, "id"),
        (r#""id":$ID,"id":2,"result":{}"#, "duplicate"),
        (r#""id":$ID,"\u0069d":2,"result":{}"#, "duplicate"),
        (r#""method":7"#, "method"),
        (r#""method":"x","params":7"#, "params"),
        (r#""method":"x","result":{}"#, "conflicting"),
        (r#""id":$ID 0,"result":{}"#, "syntax"),
    ] {
        check_both(members, Heard, why).await;
    }
    for (text, why) in [
        ("Listening on port 8080", "syntax"),
        ("{}", "version"),
        ("[]", "empty batch"),
        ("[3]", "not an object"),
        ("17", "not an object"),
        ("[{}", "syntax"),
    ] {
        check(Over::Pair, text, Heard(why)).await;
        check(Over::Lines, text, Heard(why)).await;
    }
}

#[tokio::test]
async fn an_answer_to_somebody_else_is_nobodys() {
    for id in ["977", "-1", "1e400", r#""$ID""#, "1.0", "18446744073709551617"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        check(Over::Pair, &text, Ignored).await;
        check(Over::Lines, &text, Ignored).await;
    }
    check(Over::Lines, " \r\n\n\u{feff}\n\r", Ignored).await;
}

#[tokio::test]
async fn a_batch_stands_or_falls_message_by_message() {
    let bad = r#"[3,{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":$ID,"error":3}]"#;
    check(Over::Pair, bad, Fails("error")).await;
    check(Over::Lines, bad, Fails("error")).await;
    let good = r#"[3,{"jsonrpc":"2.0","id":$ID,"result":{}}]"#;
    check(Over::Lines, good, Heard("not an object")).await;
}

#[tokio::test]
async fn too_deep_too_large_and_no_text() {
    let deep = "[".repeat(1_000_000);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{deep}"#);
    check(Over::Pair, &deep, Fails("syntax")).await;
    let long = "x".repeat(LIMIT);
    let long = format!(r#"{{"jsonrpc":"2.0","result":"{long}","id":$ID}}"#);
    check(Over::Lines, &long, Fails("too large")).await;
    let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":\"\xff\"}";
    check(Over::Lines, bytes, Fails("utf-8")).await;
    check(Over::Lines, b"\xff\xfe", Heard("utf-8")).await;
    check(Over::Lines, b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":\"\0\"}", Fails("syntax"))
        .await;
}

#[tokio::test]
async fn a_line_of_a_hundred_mebibytes() {
    let long = "x".repeat(100 << 20);
    let text = format!(r#"{{"jsonrpc":"2.0","result":"{long}","id":$ID}}"#);
    check(Over::Lines, text, Fails("too large")).await;
}
