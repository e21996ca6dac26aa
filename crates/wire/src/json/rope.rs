//! A rope: text in pieces, in which large parts are shared instead of copied.
//!
//! Used by `splice`, `server` answers and the HTTP face, which sends the pieces. It does not know
//! JSON.

use bytestring::ByteString;

use super::Raw;

/// The smallest part that is shared; below it, a copy is cheaper than one more piece to send.
pub(super) const MIN_SHARED_BYTES: usize = 64 * 1024;

/// A text in pieces. Most ropes have one.
#[derive(Debug, Clone, Default)]
pub struct Rope {
    first: ByteString,
    rest: Vec<ByteString>,
}

/// A rope under construction.
#[derive(Default)]
pub(crate) struct RopeBuilder {
    done: Vec<ByteString>,
    /// Written text that is not a piece yet.
    pub(super) open: String,
}

// === impl Rope ===

impl Rope {
    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.pieces().map(|piece| piece.len()).sum()
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the text is in one piece.
    pub fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &ByteString> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Takes the pieces out, in order.
    pub fn into_pieces(self) -> impl Iterator<Item = ByteString> {
        std::iter::once(self.first).chain(self.rest)
    }

    /// The first piece and the others.
    pub(crate) fn first_and_rest(&self) -> (&str, &[ByteString]) {
        (&self.first, &self.rest)
    }

    /// The number of bytes that are copied when this rope becomes part of another.
    pub(crate) fn unshared(&self) -> usize {
        self.pieces().map(|piece| piece.len()).filter(|length| *length < MIN_SHARED_BYTES).sum()
    }

    /// The whole text, concatenated if there is more than one piece.
    pub fn into_text(self) -> ByteString {
        if self.is_whole() {
            return self.first;
        }
        let mut whole = String::with_capacity(self.len());
        self.pieces().for_each(|piece| whole.push_str(piece));
        whole.into()
    }
}

impl From<ByteString> for Rope {
    fn from(text: ByteString) -> Self {
        Self { first: text, rest: Vec::new() }
    }
}

impl From<Raw> for Rope {
    fn from(value: Raw) -> Self {
        value.into_text().into()
    }
}

// === impl RopeBuilder ===

impl RopeBuilder {
    /// A builder with a capacity of `size` written bytes.
    pub(crate) fn with_capacity(size: usize) -> Self {
        Self { done: Vec::new(), open: String::with_capacity(size) }
    }

    #[inline]
    pub(crate) fn write(&mut self, text: &str) {
        self.open.push_str(text);
    }

    /// Appends `part` of `whole`: shared if it is large, else copied.
    #[inline]
    pub(crate) fn share(&mut self, whole: &ByteString, part: &str) {
        if part.len() < MIN_SHARED_BYTES {
            return self.write(part);
        }
        self.close();
        self.done.push(whole.slice_ref(part));
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.done.push(std::mem::take(&mut self.open).into());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.open.is_empty()
    }

    pub(crate) fn finish(mut self) -> Rope {
        if self.done.is_empty() {
            return Rope::from(ByteString::from(self.open));
        }
        self.close();
        let mut pieces = self.done.into_iter();
        Rope { first: pieces.next().unwrap_or_default(), rest: pieces.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonEdit;

    #[test]
    fn what_is_large_is_shared_and_the_rest_is_written() {
        let large = "x".repeat(MIN_SHARED_BYTES);
        let small = "x".repeat(MIN_SHARED_BYTES / 4);
        let remove = |key| JsonEdit::remove(key);
        for (before, text, after, edits, pieces) in [
            ("", large.as_str(), "", [remove(&["z"]), remove(&["y"])], 1),
            (r#""a":1,"#, &large, "", [remove(&["a"]), remove(&["z"])], 2),
            ("", &large, r#","a":1"#, [remove(&["a"]), remove(&["z"])], 2),
            ("", &large, r#","a":1"#, [JsonEdit::set(&["a"], "2"), JsonEdit::set(&["b"], "3")], 2),
            (r#""a":1,"#, &large, r#","b":[]"#, [remove(&["a"]), JsonEdit::set(&["b"], "{}")], 3),
            (r#""a":1,"#, &small, r#","b":[]"#, [remove(&["a"]), remove(&["b"])], 1),
        ] {
            let whole = Raw::parse(format!(r#"{{{before}"text":"{text}"{after}}}"#)).unwrap();
            let rope = whole.with_edits_as_rope(&edits).unwrap();
            let place = whole.as_str().as_bytes().as_ptr_range();
            let shared = rope.pieces().filter(|piece| place.contains(&piece.as_ptr())).count();
            let seen = (rope.pieces().count(), shared);
            assert_eq!(
                seen,
                (pieces, usize::from(text.len() >= MIN_SHARED_BYTES)),
                "{before} {after}"
            );
            assert_eq!(rope.len(), rope.clone().into_text().len());
            assert_eq!(rope.into_text(), whole.with_edits(&edits).unwrap().into_text());
        }
    }
}
