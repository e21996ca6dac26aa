//! Property tests of `json` and `envelope`, for any input.

use bytestring::ByteString;
use proptest::{collection::vec, prelude::*};
use serde_json::value::RawValue;
use switchboard_wire::{
    envelope::{EnvelopeSalvager, MessageOrBatch, ResponseOutcome, RpcMessage, parse},
    json::{JsonElements, JsonMembers, Raw, Rope, splice},
    link::{LinkFrame, lines::LineReader},
};

use super::model::{self, Change};

// --- inputs

fn space() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"]
}

fn key() -> impl Strategy<Value = String> {
    // Few names, so that edits find members; some are spelled with escapes.
    prop_oneof![
        Just("name"),
        Just("uri"),
        Just("_meta"),
        Just("progressToken"),
        Just("k"),
        Just("n\\u0061me"),
        Just("\\u005fmeta"),
        Just(""),
        Just("é☃"),
        Just("quo\\\"te"),
    ]
    .prop_map(|inner| format!("\"{inner}\""))
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-0".to_owned()),
        Just("1.0".to_owned()),
        Just("1e400".to_owned()),
        Just("-12.50E-7".to_owned()),
        "[1-9][0-9]{0,40}",
        "[a-z{}\\[\\],: é☃]{0,80}".prop_map(|text| format!("\"{text}\"")),
        Just(r#""\"\\\/\b\u00e9\ud83d\ude00\ud800""#.to_owned()),
    ]
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (vec(inner.clone(), 0..4), space()).prop_map(|(items, space)| format!(
                "[{space}{}]",
                items.join(&format!(",{space}"))
            )),
            members(inner),
        ]
    })
}

/// An object with `value`s as members and random white space.
fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (space(), key(), space(), space(), value, space())
        .prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
    (vec(member, 0..6), space()).prop_map(|(members, space)| {
        if members.is_empty() {
            format!("{{{space}}}")
        } else {
            format!("{{{}}}", members.join(","))
        }
    })
}

fn change() -> impl Strategy<Value = Change> {
    let name = prop_oneof![
        Just("name"),
        Just("uri"),
        Just("_meta"),
        Just("progressToken"),
        Just("k"),
        Just("new"),
        Just("quo\"te"),
    ];
    let path = vec(name.prop_map(str::to_owned), 1..=2);
    (path, proptest::option::of(value())).prop_map(|(path, value)| Change { path, value })
}

/// Text that is nearly JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let broken =
        (value(), any::<prop::sample::Index>(), r#"[\[\]{}",:\\ 0-9eE.+\-a-z\x00-\x20é]{0,2}"#)
            .prop_map(|(mut text, at, with)| {
                let mut at = at.index(text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
                text.replace_range(at..end, &with);
                text
            });
    prop_oneof![2 => broken, 1 => value(), 1 => any::<String>()]
}

/// A response that is large for another reason than its result.
fn padded(result: &str) -> String {
    let padding = "x".repeat(5000);
    format!(r#"{{"jsonrpc":"2.0","id":1,"padding":"{padding}","result":{result}}}"#)
}

// --- the laws

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn splicing_changes_what_it_should_and_nothing_else(
        object in members(value()),
        changes in vec(change(), 0..5),
    ) {
        prop_assume!(model::can_tell(&object) && model::are_apart(&changes));
        let paths: Vec<_> = changes.iter().map(Change::path).collect();
        let spliced = splice(&object, &model::edits(&changes, &paths));
        prop_assert_eq!(spliced.is_err(), model::refuses(&object, &changes));
        if let Ok(new) = spliced {
            prop_assert!(serde_json::from_str::<&RawValue>(&new).is_ok(), "{}", new);
            model::check(&object, &new, &changes);
        }
    }

    #[test]
    fn setting_what_is_there_changes_nothing(object in members(value())) {
        let raw = Raw::parse(object).unwrap();
        for member in raw.members() {
            let Some(key) = switchboard_wire::json::decode_string(member.key) else { continue };
            let path = [key.as_ref()];
            let edit = switchboard_wire::json::JsonEdit::set(&path, member.value);
            if let Ok(same) = raw.with_edits(&[edit]) {
                prop_assert_eq!(&same, &raw);
            }
        }
        prop_assert_eq!(&raw.with_edits(&[]).unwrap(), &raw);
    }

    #[test]
    fn reading_several_is_reading_each(object in members(value())) {
        let raw = Raw::parse(object).unwrap();
        let keys = ["name", "_meta", "absent", "é☃", "quo\"te"];
        let each = keys.map(|key| raw.get(key));
        for (key, value) in keys.iter().zip(&each) {
            let named = |member: &switchboard_wire::json::JsonMember<'_>| {
                switchboard_wire::json::decode_string(member.key).is_some_and(|name| name == *key)
            };
            let there: Vec<_> = raw.members().filter(named).map(|member| member.value).collect();
            match value {
                Ok(value) => prop_assert_eq!(value.iter().map(Raw::as_str).collect::<Vec<_>>(), there),
                Err(_) => prop_assert!(there.len() > 1),
            }
        }
        match raw.get_each(keys) {
            Ok(found) => prop_assert_eq!(found.map(Ok), each),
            Err(_) => prop_assert!(each.iter().any(Result::is_err)),
        }
    }

    #[test]
    fn a_path_is_a_step_after_the_other(object in members(value())) {
        let raw = Raw::parse(object).unwrap();
        for path in [["_meta", "progressToken"], ["_meta", "name"], ["k", "_meta"]] {
            let inner = raw.get(path[0]).and_then(|inner| match inner {
                Some(inner) => inner.get(path[1]),
                None => Ok(None),
            });
            prop_assert_eq!(raw.peek_path(&path).map(|text| text.map(str::to_owned)),
                inner.clone().map(|inner| inner.map(|inner| inner.to_string())));
            prop_assert_eq!(raw.get_path(&path), inner);
        }
    }

    #[test]
    fn what_is_known_of_a_large_result_is_so(
        object in members(value()),
        changes in vec(change(), 0..5),
    ) {
        let Ok(MessageOrBatch::One(RpcMessage::Response(response))) = parse(padded(&object).into()) else {
            panic!("not read: {object}")
        };
        let ResponseOutcome::Result(large) = response.outcome() else { panic!("no result: {object}") };
        let small = Raw::parse(object).unwrap();
        prop_assert_eq!(&large, &small);
        for key in ["name", "_meta", "k", "absent", "é☃", "quo\"te"] {
            prop_assert_eq!(large.get(key), small.get(key));
            prop_assert_eq!(large.peek_path(&[key, "name"]), small.peek_path(&[key, "name"]));
        }
        prop_assume!(model::are_apart(&changes));
        let paths: Vec<_> = changes.iter().map(Change::path).collect();
        let edits = model::edits(&changes, &paths);
        let changed = small.with_edits(&edits);
        prop_assert_eq!(&large.with_edits(&edits), &changed);
        let pieces = large.with_edits_as_rope(&edits);
        prop_assert_eq!(pieces.map(Rope::into_text), changed.map(Raw::into_text));
    }

    #[test]
    fn a_large_message_is_as_sound_as_a_small_one(result in nearly_json()) {
        let small = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        prop_assert_eq!(parse(padded(&result).into()).is_ok(), parse(small.into()).is_ok());
    }

    #[test]
    fn the_scanner_agrees_with_serde_json(text in nearly_json()) {
        let theirs = serde_json::from_str::<&RawValue>(&text);
        match Raw::parse(text.clone()) {
            Ok(ours) => prop_assert_eq!(Some(ours.as_str()), theirs.ok().map(RawValue::get)),
            Err(error) => prop_assert!(theirs.is_err(), "{}: {}", error, text),
        }
    }

    #[test]
    fn walking_what_is_not_json_ends(text in nearly_json()) {
        prop_assert!(JsonMembers::of(&text).count() <= text.len());
        prop_assert!(JsonElements::of(&text).count() <= text.len());
        let _ = parse(ByteString::from(text));
    }

    #[test]
    fn raw_comes_back_as_it_was(text in value()) {
        let raw = Raw::parse(text.clone()).unwrap();
        prop_assert_eq!(raw.as_str(), &text);
        let there = serde_json::to_string(&raw).unwrap();
        prop_assert_eq!(&there, &text);
        prop_assert_eq!(serde_json::from_str::<Raw>(&there).unwrap(), raw.clone());
        if raw.as_str().starts_with('[') {
            let elements: Vec<&RawValue> = serde_json::from_str(&text).unwrap();
            let ours: Vec<_> = raw.elements().collect();
            prop_assert_eq!(
                ours.iter().map(Raw::as_str).collect::<Vec<_>>(),
                elements.iter().map(|element| element.get()).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_salvager_minds_no_cuts(text in envelope(), sizes in vec(1..40usize, 1..20)) {
        let mut whole = EnvelopeSalvager::default();
        whole.feed(text.as_bytes());
        let mut pieces = EnvelopeSalvager::default();
        cut(text.as_bytes(), &sizes).for_each(|piece| pieces.feed(piece));
        let found = whole.finish();
        prop_assert_eq!(&found, &pieces.finish());
        // A message that parses has the id that the salvager finds.
        if let Ok(switchboard_wire::envelope::MessageOrBatch::One(message)) = parse(text.into()) {
            let id = message.id().map(|id| id.to_string());
            prop_assert_eq!(found.id.map(|id| id.to_string()), id);
        }
    }

    #[test]
    fn a_reader_of_lines_minds_no_cuts(
        lines in vec(line(), 0..8),
        sizes in vec(1..40usize, 1..20),
    ) {
        let input = lines.concat();
        let whole = frames(std::slice::from_ref(&input));
        let pieces: Vec<_> = cut(&input, &sizes).map(<[u8]>::to_vec).collect();
        prop_assert_eq!(whole, frames(&pieces));
    }
}

/// A message, valid or nearly so, with its members in any order.
fn envelope() -> impl Strategy<Value = String> {
    let id = prop_oneof![scalar(), Just("7".to_owned()), Just(r#""a\"b""#.to_owned())];
    let members = (id, value(), space()).prop_map(|(id, result, space)| {
        vec![
            format!(r#""jsonrpc":{space}"2.0""#),
            format!(r#""id"{space}:{id}{space}"#),
            format!(r#""result":{result}"#),
        ]
    });
    (members.prop_shuffle(), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(members, at, truncated)| {
            let mut text = format!("{{{}}}", members.join(","));
            let mut at = at.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            if truncated {
                text.truncate(at);
            }
            text
        },
    )
}

const LIMIT: usize = 100;

fn line() -> impl Strategy<Value = Vec<u8>> {
    let long = envelope().prop_map(|text| text.replace(['\n', '\r'], " ") + &" ".repeat(LIMIT));
    let text = prop_oneof![envelope(), long, Just(String::new()), Just("\u{feff}".into())];
    let broken = vec(any::<u8>(), 0..150);
    let content = prop_oneof![3 => text.prop_map(String::into_bytes), 1 => broken];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n"), Just("")];
    (content, end).prop_map(|(content, end)| [&content, end.as_bytes()].concat())
}

/// Cuts `input` into pieces of these sizes, in turn.
fn cut<'a>(mut input: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        let size = sizes.next().copied().unwrap_or(1).min(input.len());
        let (piece, rest) = input.split_at(size);
        input = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fn frames(pieces: &[Vec<u8>]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut reader = LineReader::new(Pieces(pieces.to_vec().into()), LIMIT);
        let mut seen = Vec::new();
        while let Some(frame) = reader.next().await.unwrap() {
            seen.push(match frame {
                LinkFrame::Text(text) => text.to_string(),
                LinkFrame::Broken(malformed) => format!("{malformed:?}"),
            });
        }
        seen
    })
}

/// A reader that returns one piece per read.
struct Pieces(std::collections::VecDeque<Vec<u8>>);

impl tokio::io::AsyncRead for Pieces {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        std::task::Poll::Ready(Ok(()))
    }
}
