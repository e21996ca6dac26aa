//! A cursor over the members or elements of one level of well-formed JSON, by positions alone.
//!
//! Used by `members` and `splice`. Most lookups only ask whether a member exists, so the cursor does not
//! slice, decode or check; the caller slices the member it wants. In malformed text the walk ends early.
#![allow(clippy::inline_always, reason = "every lookup is made of these few steps")]

use std::ops::Range;

use super::{
    decode_string,
    find::{key_end, value_end},
};

/// A position between two members, or two elements.
#[derive(Clone, Copy)]
pub(super) struct LevelCursor<'a> {
    text: &'a str,
    at: usize,
}

/// The positions of one member.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberSpan {
    /// The position of the key's opening quote.
    pub(super) start: usize,
    /// The position after the key's closing quote.
    pub(super) key_end: usize,
    pub(super) value_start: usize,
    pub(super) end: usize,
    /// Whether the key must be decoded before it is compared.
    pub(super) escaped: bool,
}

// === impl LevelCursor ===

impl<'a> LevelCursor<'a> {
    /// A cursor into `text` if it begins with `open`; else an empty cursor.
    #[inline(always)]
    pub(super) fn into(text: &'a str, open: u8) -> Self {
        let is_it = text.as_bytes().first() == Some(&open);
        Self { text, at: if is_it { 1 } else { text.len() } }
    }

    #[inline(always)]
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Steps over the next member.
    #[inline(always)]
    pub(super) fn member(&mut self) -> Option<MemberSpan> {
        let text = self.text.as_bytes();
        let start = self.next_start();
        if text.get(start) != Some(&b'"') {
            return None;
        }
        let (key_end, escaped) = key_end(text, start);
        let colon =
            if text.get(key_end) == Some(&b':') { key_end } else { space_end(text, key_end) };
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let value_start = space_end(text, colon + 1);
        let end = self.over_value(value_start)?;
        Some(MemberSpan { start, key_end, value_start, end, escaped })
    }

    /// Steps over the next element.
    #[inline(always)]
    pub(super) fn element(&mut self) -> Option<Range<usize>> {
        let start = self.next_start();
        let end = self.over_value(start)?;
        Some(start..end)
    }

    #[inline(always)]
    fn next_start(&self) -> usize {
        let text = self.text.as_bytes();
        let at = match text.get(self.at) {
            Some(b',') => return space_end(text, self.at + 1),
            Some(byte) if *byte > b' ' => return self.at,
            _ => space_end(text, self.at),
        };
        if text.get(at) == Some(&b',') { space_end(text, at + 1) } else { at }
    }

    #[inline(always)]
    fn over_value(&mut self, start: usize) -> Option<usize> {
        self.at = value_end(self.text.as_bytes(), start);
        (self.at > start).then_some(self.at)
    }
}

/// The end of the white space at `at`. Most texts have none.
#[inline(always)]
fn space_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(byte) if *byte > b' ' => at,
        _ => long_space_end(text, at),
    }
}

#[inline(never)]
fn long_space_end(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

// === impl MemberSpan ===

impl MemberSpan {
    /// The span of the key, with quotes.
    #[inline(always)]
    pub(super) fn key(&self) -> Range<usize> {
        self.start..self.key_end
    }

    /// The span of the value.
    #[inline(always)]
    pub(super) fn value(&self) -> Range<usize> {
        self.value_start..self.end
    }

    /// The span of the whole member.
    #[inline(always)]
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether the key of this member of `text` equals `name`.
    #[inline(always)]
    pub(super) fn is_named(&self, text: &str, name: &str) -> bool {
        if self.escaped {
            return self.means(&text[self.key()], name);
        }
        // Most keys differ in length; the length of `name` excludes the quotes.
        self.key_end - self.start == name.len() + 2
            && text.as_bytes().get(self.start + 1..self.key_end - 1) == Some(name.as_bytes())
    }

    /// Whether `key`, as written, equals `name` after decoding.
    #[inline(always)]
    pub(super) fn means(&self, key: &str, name: &str) -> bool {
        if self.escaped {
            return decode_string(key).is_some_and(|key| key == name);
        }
        key.as_bytes().get(1..key.len() - 1) == Some(name.as_bytes())
    }
}
