//! Tests of the SSE parser: a table of inputs, and the property that chunk boundaries do not
//! matter.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use switchboard_wire::http::sse::{SseEvent, SseEventError, SseParser};

const LIMIT: usize = 40;

/// One line per outcome, `name|data|id`, with `-` for an absent part.
fn shown(outcome: &Result<SseEvent, SseEventError>) -> String {
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    match outcome {
        Ok(event) => [
            or_dash(event.event.as_deref()),
            event.data.replace('\n', "\\n"),
            or_dash(event.id.as_deref()),
        ]
        .join("|"),
        Err(SseEventError::TooLarge { .. }) => "too large".to_owned(),
        Err(SseEventError::NotUtf8) => "not UTF-8".to_owned(),
    }
}

fn parse(chunks: &[&[u8]]) -> (Vec<String>, SseParser) {
    let mut parser = SseParser::new(LIMIT);
    let mut outcomes = Vec::new();
    for chunk in chunks {
        parser.feed(Bytes::copy_from_slice(chunk));
        while let Some(outcome) = parser.next_event() {
            outcomes.push(shown(&outcome));
        }
    }
    (outcomes, parser)
}

/// The public state of a parser at the end of the input.
fn state(parser: &SseParser) -> (Option<&str>, Option<Duration>, bool) {
    (parser.last_event_id(), parser.retry(), parser.is_mid_event())
}

#[track_caller]
fn check(input: impl AsRef<[u8]>, expected: &[&str]) {
    let input = input.as_ref();
    let (whole, _) = parse(&[input]);
    assert_eq!(whole, expected, "in one chunk: {:?}", String::from_utf8_lossy(input));
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    let (single, _) = parse(&bytes);
    assert_eq!(single, expected, "byte by byte: {:?}", String::from_utf8_lossy(input));
}

#[test]
fn fields() {
    check("data: a\n\n", &["-|a|-"]);
    check("data:a\n\n", &["-|a|-"]);
    check("data:  a\n\n", &["-| a|-"]);
    check("data\n\n", &["-||-"]);
    check("data:\ndata:\n\n", &["-|\\n|-"]);
    check("data: a\ndata: b\ndata: c\n\n", &["-|a\\nb\\nc|-"]);
    check("event: x\ndata: a\nid: 7\n\n", &["x|a|7"]);
    check("event: x\nevent: y\ndata: a\n\n", &["y|a|-"]);
    check("event:\ndata: a\n\n", &["-|a|-"]);
    check("data: a:b: c\n\n", &["-|a:b: c|-"]);
    check("unknown: x\nData: y\ndata: a\n\n", &["-|a|-"]);
}

#[test]
fn line_ends() {
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["-|a|-", "-|b|-"]);
    check("data: a\r\rdata: b\r\r", &["-|a|-", "-|b|-"]);
    check("data: a\n\r\ndata: b\r\n\ndata: c\r\n\r", &["-|a|-", "-|b|-", "-|c|-"]);
    check("\n\n\r\n\rdata: a\n\n\n\n", &["-|a|-"]);
}

#[test]
fn comments_and_byte_order_marks() {
    check(": hello\n\n:\n\ndata: a\n: more\ndata: b\n\n", &["-|a\\nb|-"]);
    check(format!(":{}\ndata: a\n\n", "x".repeat(LIMIT * 3)), &["-|a|-"]);
    check("\u{feff}data: a\n\n", &["-|a|-"]);
    check("\u{feff}\u{feff}data: a\n\n", &[]);
    check("data: a\n\n\u{feff}data: b\n\n", &["-|a|-"]);
    check(b"\xEF\xBBdata: a\n\n", &[]);
    check("\u{feff}: comment\ndata: a\n\n", &["-|a|-"]);
}

#[test]
fn ids() {
    check("id: 1\n\n", &["-||1"]);
    check("id: 1\ndata:\n\n", &["-||1"]);
    check("id\ndata: a\n\n", &["-|a|"]);
    check("id: a\0b\ndata: x\n\n", &["-|x|-"]);
    check("event: only\n\n", &[]);
    let last = |input: &str| parse(&[input.as_bytes()]).1.last_event_id().map(str::to_owned);
    assert_eq!(last("id: 1\ndata: a\n\ndata: b\n\n").as_deref(), Some("1"));
    assert_eq!(last("id: 1\ndata: a\n\nid\ndata: b\n\n"), None);
    assert_eq!(last("id: 1\ndata: a\n\nid: 2\n").as_deref(), Some("1"));
    assert_eq!(last("id: 1\0\ndata: a\n\n"), None);
}

#[test]
fn retry() {
    let retry = |input: &str| parse(&[input.as_bytes()]).1.retry();
    assert_eq!(retry("retry: 1500\n"), Some(Duration::from_millis(1500)));
    assert_eq!(retry("retry: 10\nretry: x\nretry: -1\nretry:\n"), Some(Duration::from_millis(10)));
    assert_eq!(retry("retry: 99999999999999999999999\n"), None);
}

#[test]
fn limits() {
    let long = "x".repeat(LIMIT);
    check(format!("data: {long}\n\ndata: a\n\n"), &["too large", "-|a|-"]);
    check(
        format!("data: {}\n\n", "x".repeat(LIMIT - 6)),
        &[&format!("-|{}|-", "x".repeat(LIMIT - 6))],
    );
    check(format!("data: a\ndata: {long}\ndata: b\n\ndata: c\n\n"), &["too large", "-|c|-"]);
    check(format!("{}\ndata: c\n\n", "data: a\n".repeat(20)), &["too large", "-|c|-"]);
    check(format!("{long}{long}"), &["too large"]);
    let input = format!("id: 3\ndata: {long}\n\n");
    assert_eq!(parse(&[input.as_bytes()]).1.last_event_id(), Some("3"));
}

#[test]
fn what_is_not_utf8_spoils_its_event_only() {
    check(b"data: \xff\n\ndata: a\n\n", &["not UTF-8", "-|a|-"]);
    check(b"data: a\ndata: \xff\n\ndata: b\n\n", &["not UTF-8", "-|b|-"]);
    check(b"event: \xff\ndata: a\n\n", &["not UTF-8"]);
    check(b": \xff\nother: \xff\ndata: a\n\n", &["-|a|-"]);
}

#[test]
fn an_incomplete_event_is_known() {
    for (input, expected) in [
        ("", false),
        ("data: a\n\n", false),
        (": comment", false),
        ("d", true),
        ("data: a\n", true),
        ("data: a", true),
    ] {
        assert_eq!(parse(&[input.as_bytes()]).1.is_mid_event(), expected, "{input:?}");
    }
}

#[test]
fn one_line_in_one_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"event: message\ndata: {\"a\":1}\n\n");
    let mut parser = SseParser::new(LIMIT);
    parser.feed(chunk.clone());
    let event = parser.next_event().unwrap().unwrap();
    assert_eq!(event.data.as_ptr(), chunk[21..].as_ptr());
}

#[test]
fn chunks_fed_together_are_joined() {
    let mut parser = SseParser::new(LIMIT);
    parser.feed(Bytes::from_static(b"data: a\n"));
    parser.feed(Bytes::from_static(b"\ndata: b\n\n"));
    let events = std::iter::from_fn(|| parser.next_event());
    assert_eq!(events.map(|event| shown(&event)).collect::<Vec<_>>(), ["-|a|-", "-|b|-"]);
}

/// Pieces that cover most of the grammar, and bytes outside it.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data".to_vec()),
        Just(b"event: e".to_vec()),
        Just(b"id: ".to_vec()),
        Just(b"retry: 5".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b":".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just(b"\xEF\xBB".to_vec()),
        Just("\u{1F600}".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunking_does_not_matter(
        input in input(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        at.extend([0, input.len()]);
        at.sort_unstable();
        let chunks: Vec<&[u8]> = at.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
        let (whole, one) = parse(&[&input]);
        let (parts, many) = parse(&chunks);
        prop_assert_eq!(whole, parts);
        prop_assert_eq!(state(&one), state(&many));
    }
}
