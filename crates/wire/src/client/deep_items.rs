//! Removal of list items that are nested too deeply to be parsed, so that the rest of the page can be used.
//!
//! Used by `lists`. Any other answer that is nested too deeply fails as a whole.

use std::ops::Range;

use super::lists::ExcludedItem;
use crate::{
    envelope::{MalformedMessage, MessageOrBatch, ResponseOutcome, RpcMessage, parse},
    json::{MAX_JSON_DEPTH, Raw},
};

/// The depth at which items begin: inside a list, inside the result, inside the message.
const ITEM_DEPTH: usize = 4;

/// A page without the items that are nested too deeply. `null` stands in their place.
pub(super) struct ShallowPage {
    pub(super) result: Raw,
    pub(super) excluded: Vec<ExcludedItem>,
}

/// Replaces items that are nested too deeply with `null`. Returns `None` if the page is unreadable without them, too.
pub(super) fn remove_deep_items(malformed: &MalformedMessage) -> Option<ShallowPage> {
    let text: &str = malformed.too_deep.as_ref()?;
    let mut shallow = String::new();
    let mut excluded = Vec::new();
    let mut copied = 0;
    for span in deep_items(text) {
        shallow.push_str(text.get(copied..span.start)?);
        shallow.push_str("null");
        copied = span.end;
        let name = name_of(text.get(span)?).unwrap_or_default();
        excluded.push(ExcludedItem {
            name,
            reason: format!("it is nested deeper than {MAX_JSON_DEPTH} levels"),
        });
    }
    shallow.push_str(text.get(copied..)?);
    match parse(shallow.into()).ok()? {
        MessageOrBatch::One(RpcMessage::Response(response)) => match response.outcome() {
            ResponseOutcome::Result(result) => Some(ShallowPage { result, excluded }),
            ResponseOutcome::Error(_) => None,
        },
        _ => None,
    }
}

/// The items that are nested too deeply.
fn deep_items(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut deepest, mut start) = (0_usize, 0, 0);
    for (at, byte) in StructuralBytes::of(text) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth == ITEM_DEPTH {
                    (start, deepest) = (at, depth);
                }
                deepest = deepest.max(depth);
            }
            b'}' | b']' => {
                if depth == ITEM_DEPTH && deepest > MAX_JSON_DEPTH {
                    found.push(start..at + 1);
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    found
}

/// The `name` member of an item.
fn name_of(item: &str) -> Option<String> {
    let mut depth = 0_usize;
    let mut strings = Vec::new();
    for (at, byte) in StructuralBytes::of(item) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            // The opening quote of a string.
            _ if depth == 1 => strings.push(at),
            _ => {}
        }
    }
    let string = |at: usize| {
        let end = at + 2 + closing_quote(&item.as_bytes()[at + 1..])?;
        Some((Raw::parse(item.get(at..end)?.to_owned()).ok()?.to_text()?, end))
    };
    let value = |at: usize| {
        let (key, end) = string(at)?;
        let rest = item[end..].trim_start().strip_prefix(':')?.trim_start();
        (key == "name" && rest.starts_with('"')).then(|| string(item.len() - rest.len()))?
    };
    strings.into_iter().find_map(value).map(|(name, _)| name)
}

/// The index of the closing quote of the string that begins here.
fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}

/// The brackets and opening quotes of a text, with their positions. The contents of strings are skipped.
struct StructuralBytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> StructuralBytes<'a> {
    fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }
}

impl Iterator for StructuralBytes<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            let at = self.at;
            self.at += 1;
            match byte {
                b'{' | b'}' | b'[' | b']' => return Some((at, byte)),
                b'"' => {
                    self.at += closing_quote(&self.bytes[self.at..])? + 1;
                    return Some((at, byte));
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(items: &[String]) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}],"ttlMs":5}}}}"#,
            items.join(",")
        )
    }

    fn nested(name: &str, levels: usize) -> String {
        let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        format!(r#"{{"x":"\"[{{","name": "{name}","inputSchema":{open}1{close}}}"#)
    }

    #[test]
    fn only_the_items_that_are_too_deep_are_taken_out() {
        let items =
            [nested("a", 3), nested("b", 600), nested("c", MAX_JSON_DEPTH - 4), nested("d", 9999)];
        let malformed = parse(page(&items).into()).unwrap_err();
        let shallow = remove_deep_items(&malformed).unwrap();
        let excluded: Vec<_> = shallow.excluded.iter().map(|item| &*item.name).collect();
        assert_eq!(excluded, ["b", "d"]);
        let tools = shallow.result.get("tools").unwrap().unwrap();
        let tools: Vec<_> = tools.elements().map(|tool| tool.as_str().to_owned()).collect();
        assert_eq!(tools, [&*items[0], "null", &*items[2], "null"]);
    }

    #[test]
    fn what_is_no_answer_is_not_mended() {
        let check = |text: String| {
            let malformed = parse(text.into()).unwrap_err();
            assert!(remove_deep_items(&malformed).is_none(), "{malformed:?}");
        };
        let deep = "[".repeat(600) + &"]".repeat(600);
        check(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{deep}}}"#));
        check(page(&[nested("a", 600)]).replace("}]", "}"));
    }
}
