//! Tests of a server session: its answer to each text, and that it still serves afterwards.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::peer::{LIMIT, Over, Peer, rude_client};

/// Sends `text`, expects this answer (none, if it is empty), then expects that a valid call works.
async fn check(over: Over, text: impl AsRef<[u8]>, expected: &str) {
    let mut client = rude_client(over);
    client.send(&text).await;
    let shown =
        String::from_utf8_lossy(&text.as_ref()[..text.as_ref().len().min(200)]).into_owned();
    if !expected.is_empty() {
        let answer = client.receive().await;
        assert_eq!(told(&answer), expected, "{over:?}: {shown}");
    }
    ping(&mut client, &shown).await;
}

async fn ping(client: &mut Peer, after: &str) {
    client.send(r#"{"jsonrpc":"2.0","id":"after","method":"ping"}"#).await;
    let answer = client.receive().await;
    assert_eq!(told(&answer), "ok \"after\"", "after {after}");
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    error: Option<Code>,
}

#[derive(Deserialize)]
struct Code {
    code: i64,
}

/// `ok` or the error's code, and the id as written.
fn told(answer: &str) -> String {
    if answer.starts_with('[') {
        let answers: Vec<&RawValue> = serde_json::from_str(answer).expect("an array");
        let answers = answers.iter().map(|answer| told(answer.get()));
        return answers.collect::<Vec<_>>().join(", ");
    }
    let answer: Answer<'_> = serde_json::from_str(answer).expect("an answer");
    match answer.error {
        None => format!("ok {}", answer.id.get()),
        Some(error) => format!("{} {}", error.code, answer.id.get()),
    }
}

async fn check_both(text: &str, expected: &str) {
    check(Over::Pair, text, expected).await;
    check(Over::Lines, text, expected).await;
}

fn call(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{members}}}"#)
}

#[tokio::test]
async fn ids_come_back_byte_for_byte() {
    for id in [
        "0",
        "-7",
        "1.0",
        "-0.5e-3",
        "1e400",
        "18446744073709551615",
        "18446744073709551617",
        r#""""#,
        r#""a\u0062\"\\""#,
        r#""\ud800""#,
        r#""☃""#,
    ] {
        let ping = call(&format!(r#""id":{id},"method":"ping""#));
        check_both(&ping, &format!("ok {id}")).await;
    }
    for id in ["null", "true", "{}", "[1]"] {
        let ping = call(&format!(r#""id":{id},"method":"ping""#));
        check_both(&ping, "-32600 null").await;
    }
}

#[tokio::test]
async fn notifications_and_answers_get_none() {
    for text in [
        r#""method":"ping""#,
        r#""method":"x/y","params":{}"#,
        r#""id":3,"result":{}"#,
        r#""id":null,"error":{"code":1,"message":""}"#,
        r#""id":3,"result":{},"error":{}"#,
        r#""id":3,"result":{},"result":{}"#,
        r#""result":{}"#,
    ] {
        check_both(&call(text), "").await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_under_its_id() {
    for (members, expected) in [
        (r#""id":1"#, "-32600 1"),
        (r#""id":1,"method":7"#, "-32600 1"),
        (r#""id":1,"method":"ping","params":7"#, "-32602 1"),
        (r#""id":1,"method":"ping","params":[]"#, "-32602 1"),
        (r#""id":1,"method":"ping","params":null"#, "ok 1"),
        (r#""id":1,"method":"ping","result":{}"#, "-32600 1"),
        (r#""id":1,"method":"ping","method":"x""#, "-32600 1"),
        (r#""id":1,"method":"ping","id":1"#, "-32600 null"),
        (r#""id":1,"method":"ping","\u0069d":2"#, "-32600 null"),
        (r#""id":1,"method":"ping","params":{"_meta":{},"_m\u0065ta":{}}"#, "-32602 1"),
        (r#""id":1,"method":"ping","params":{"a":}"#, "-32700 1"),
        (r#""id":1,"method":"p"ing"#, "-32700 1"),
    ] {
        check_both(&call(members), expected).await;
    }
    check_both(r#"{"id":1,"method":"ping"}"#, "-32600 1").await;
    check_both(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "-32600 1").await;
    check_both("hello", "-32700 null").await;
    check_both("17", "-32600 null").await;
    let deep = "[".repeat(1_000_000);
    let deep = call(&format!(r#""id":1,"method":"ping","params":{deep}"#));
    check(Over::Pair, &deep, "-32700 1").await;
}

#[tokio::test]
async fn batches() {
    let good = call(r#""id":1,"method":"ping""#);
    let note = call(r#""method":"x""#);
    for (batch, expected) in [
        ("[]".to_owned(), "-32600 null"),
        (format!("[{good}]"), "ok 1"),
        (format!("[{note},{note}]"), ""),
        (
            format!(r#"[{good},{note},{{"id":2}},[{good}],3]"#),
            "ok 1, -32600 2, -32600 null, -32600 null",
        ),
        (format!("[{good},{good}"), "-32700 null"),
    ] {
        check_both(&batch, expected).await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text() {
    let lines = Over::Lines;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    check(lines, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "-32700 1").await;
    check(lines, b"\xc3", "-32700 null").await;
    check(lines, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\0\"}", "-32700 1").await;
    check(lines, b"\0\0\0", "-32700 null").await;
    check(lines, format!("\u{feff}{ping}"), "ok 1").await;
    check(lines, format!("{ping}\r"), "ok 1").await;
    check(lines, format!("\r\n\n \t\n\u{feff}\n{ping}"), "ok 1").await;
    check(lines, "", "").await;
    check(lines, "\r", "").await;
}

#[tokio::test]
async fn a_line_of_a_hundred_mebibytes() {
    let padding = "x".repeat(100 << 20);
    let text = call(&format!(r#""method":"ping","params":{{"a":"{padding}"}},"id":"big""#));
    assert!(text.len() > LIMIT);
    check(Over::Lines, &text, "-32600 \"big\"").await;
}

#[tokio::test]
async fn a_request_cut_short_anywhere() {
    let text = r#"{"jsonrpc":"2.0","id":12,"method":"ping","params":{"a":[1,"é"]}}"#;
    let mut client = rude_client(Over::Lines);
    for length in 1..text.len() {
        client.send(&text.as_bytes()[..length]).await;
        let expected = if text[..length.min(25)].ends_with("12,") || length > 25 {
            "-32700 12"
        } else {
            "-32700 null"
        };
        assert_eq!(told(&client.receive().await), expected, "{length}");
    }
    ping(&mut client, "every cut").await;
}
