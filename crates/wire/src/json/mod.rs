//! JSON as text: checked once, sliced often, decoded only where a decision needs it.
//!
//! [`Raw`] is one JSON value that is known to be well formed and is otherwise left as it was
//! written: key order, number spelling, escapes and white space are all still there. [`splice`]
//! changes single members of a value and copies every other byte.
//!
//! There are two ways to a member:
//!
//! - by its name, through [`Raw`]: [`Raw::get`] and [`Raw::get_path`] give a value to keep, [`Raw::peek_path`] its text to
//!   compare. Use these unless there is a reason not to: of a large value they can tell without a walk that it lacks a key.
//! - on a walk over all members, [`JsonMembers`]: where several are wanted of one object
//!   ([`JsonMembers::find_each`]), or every one. [`Raw::entries`] walks in this way and gives values to keep.
//!
//! Both refuse a key that stands twice where they look for it by name: two readers could disagree about which one counts,
//! and one of the readers may check permissions. To decode a whole object of known form, use [`Raw::decode`].
//!
//! Used by every crate that reads or writes messages. It does not know the structure of messages
//! ([`crate::envelope`] does).

mod build;
mod find;
mod level_cursor;
mod members;
mod overwrite;
mod rope;
mod scan;
mod splice;
mod string;

use std::fmt;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

pub use members::{JsonElements, JsonMember, JsonMemberError, JsonMembers};
pub use rope::Rope;
pub use scan::{JsonSyntaxError, JsonSyntaxErrorKind, MAX_JSON_DEPTH};
pub use splice::{JsonEdit, SpliceError, splice};
pub use string::{decode_string, quote};

pub(crate) use rope::RopeBuilder;
pub(crate) use scan::{ScannedKey, Scanner};
pub(crate) use splice::{TextPatch, added_bytes};
pub(crate) use string::quote_into;

/// One well-formed JSON value, as text over shared bytes. A clone costs a reference count.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw {
    text: ByteString,
}

/// A text of at least this size is searched for the letters of a key before its members are walked.
const LARGE_TEXT_BYTES: usize = 4096;

/// The kind of a JSON value, from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the six kinds of JSON value need no words")]
pub enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

// === impl Raw ===

impl Raw {
    /// Checks that `text` is exactly one JSON value. White space around it is allowed and dropped.
    pub fn parse(text: impl Into<ByteString>) -> Result<Self, JsonSyntaxError> {
        let text = text.into();
        let span = Scanner::new(&text).only_value()?;
        Ok(Self::new(text.slice_ref(&text[span])))
    }

    /// The JSON text of a Rust value. Fails where `T` has no JSON form (a map with keys that are not strings, say);
    /// `Raw::object`, `Raw::array` and `Raw::from(Value)` cannot fail.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|text| Self::new(text.into()))
    }

    /// A JSON string holding `text`.
    pub fn string(text: &str) -> Self {
        Self::new(quote(text).into())
    }

    /// `{}`
    pub fn empty_object() -> Self {
        Self::new(ByteString::from_static("{}"))
    }

    /// `null`
    pub fn null() -> Self {
        Self::new(ByteString::from_static("null"))
    }

    /// Wraps text that the caller knows to be one JSON value without white space around it.
    pub(crate) fn from_trusted(text: ByteString) -> Self {
        debug_assert!(Scanner::new(&text).only_value().is_ok(), "not JSON: {text}");
        Self::new(text)
    }

    fn new(text: ByteString) -> Self {
        Self { text }
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The JSON text, shared.
    pub fn into_text(self) -> ByteString {
        self.text
    }

    /// A copy in its own buffer, for values that are kept long: a slice keeps its whole source alive.
    #[must_use]
    pub fn to_detached(&self) -> Self {
        Self::new(self.text.to_string().into())
    }

    /// The kind of the value.
    pub fn kind(&self) -> JsonKind {
        match self.text.as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') | None => JsonKind::Null,
            Some(_) => JsonKind::Number,
        }
    }

    /// Decodes the value into a Rust type.
    pub fn decode<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.text)
    }

    /// The decoded text of a JSON string; `None` for other kinds and for lone surrogates.
    pub fn to_text(&self) -> Option<String> {
        decode_string(&self.text).map(std::borrow::Cow::into_owned)
    }

    /// The members of an object in the order written, with values that share this buffer; none for other kinds.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Raw)> + '_ {
        self.members().map(|member| (member.key, self.slice(member.value)))
    }

    /// The members of an object in the order written; none for other kinds.
    pub fn members(&self) -> JsonMembers<'_> {
        JsonMembers::of(&self.text)
    }

    /// The elements of an array in the order written; none for other kinds.
    pub fn elements(&self) -> impl Iterator<Item = Raw> + '_ {
        JsonElements::of(&self.text).map(|text| self.slice(text))
    }

    /// The value of member `key`. A key that stands twice is an error.
    pub fn get(&self, key: &str) -> Result<Option<Raw>, JsonMemberError> {
        Ok(find_only(self.as_str(), key)?.map(|text| self.slice(text)))
    }

    /// [`Raw::get`] through several levels.
    pub fn get_path(&self, path: &[&str]) -> Result<Option<Raw>, JsonMemberError> {
        Ok(self.peek_path(path)?.map(|text| self.slice(text)))
    }

    /// The text of the value that [`Raw::get_path`] finds, without a new [`Raw`].
    pub fn peek_path(&self, path: &[&str]) -> Result<Option<&str>, JsonMemberError> {
        let Some((first, path)) = path.split_first() else {
            return Ok(Some(self.as_str()));
        };
        let mut found = find_only(self.as_str(), first)?;
        for key in path {
            match found {
                Some(text) => found = find_only(text, key)?,
                None => return Ok(None),
            }
        }
        Ok(found)
    }

    /// This object with members changed; see [`splice`].
    pub fn with_edits(&self, edits: &[JsonEdit<'_>]) -> Result<Raw, SpliceError> {
        if self.needs_no_edit(edits) {
            return Ok(self.clone());
        }
        let changed = splice::splice_if_changed(&self.text, edits)?;
        Ok(changed.map_or_else(|| self.clone(), |text| Self::new(text.into())))
    }

    /// This value with members changed, also where [`Raw::with_edits`] refuses: of a key that stands twice, every value is
    /// changed, and a value that is not an object gives way to one in which a member is set.
    #[must_use]
    pub fn overwrite(self, edits: &[JsonEdit<'_>]) -> Raw {
        self.with_edits(edits).unwrap_or_else(|_| {
            let text = edits.iter().fold(self.to_string(), |text, edit| edit.overwrite(&text));
            Self::new(text.into())
        })
    }

    /// This object with members changed, as a rope: large parts are not copied.
    pub fn with_edits_as_rope(&self, edits: &[JsonEdit<'_>]) -> Result<Rope, SpliceError> {
        if self.needs_no_edit(edits) {
            return Ok(Rope::from(self.text.clone()));
        }
        let changed = splice::rope(&self.text, edits)?;
        Ok(changed.unwrap_or_else(|| Rope::from(self.text.clone())))
    }

    /// Whether the edits only remove members that the text surely lacks.
    fn needs_no_edit(&self, edits: &[JsonEdit<'_>]) -> bool {
        let idle = |edit: &JsonEdit<'_>| {
            edit.removes().is_some_and(|key| surely_lacks_key(self.as_str(), key))
        };
        edits.is_empty() || self.kind() == JsonKind::Object && edits.iter().all(idle)
    }

    fn slice(&self, part: &str) -> Raw {
        Raw::new(self.text.slice_ref(part))
    }
}

#[inline]
fn find_only<'t>(text: &'t str, key: &str) -> Result<Option<&'t str>, JsonMemberError> {
    if surely_lacks_key(text, key) {
        return Ok(None);
    }
    JsonMembers::of(text).find_only(key)
}

/// Whether `key` certainly occurs nowhere in a large text. A search for its letters is several times faster than a
/// walk over the members, and most keys looked up in a large result are absent.
#[inline]
fn surely_lacks_key(text: &str, key: &str) -> bool {
    text.len() >= LARGE_TEXT_BYTES && lacks_letters(text.as_bytes(), key)
}

fn lacks_letters(text: &[u8], key: &str) -> bool {
    // A key may be written with escapes, of which these two can hide its letters.
    string::is_plain(key)
        && [key.as_bytes(), b"\\u", b"\\/"]
            .iter()
            .all(|what| memchr::memmem::find(text, what).is_none())
}

impl AsRef<str> for Raw {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Shows the first 120 characters and the length: payloads can be megabytes.
impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN_CHARS: usize = 120;
        match self.text.char_indices().nth(MAX_SHOWN_CHARS) {
            None => f.write_str(&self.text),
            Some((cut, _)) => write!(f, "{}… ({} bytes)", &self.text[..cut], self.text.len()),
        }
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(&self.text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Self::new(String::from(Box::<str>::from(raw)).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_drops_only_the_space_around() {
        let raw = Raw::parse(" \r\n{ \"b\" : 1.0 , \"a\":[1e400]}\t").unwrap();
        assert_eq!(raw.as_str(), "{ \"b\" : 1.0 , \"a\":[1e400]}");
        assert_eq!(raw.get("b").unwrap().unwrap().as_str(), "1.0");
        assert_eq!(
            raw.get_path(&["a"]).unwrap().unwrap().elements().next().unwrap().as_str(),
            "1e400"
        );
    }

    #[test]
    fn an_escaped_key_is_the_same_key() {
        let raw = Raw::parse(r#"{"na\u006de":"x"}"#).unwrap();
        assert_eq!(raw.get("name").unwrap().unwrap().to_text().as_deref(), Some("x"));
        let twice = Raw::parse(r#"{"name":1,"na\u006de":2}"#).unwrap();
        assert!(matches!(twice.get("name"), Err(JsonMemberError::Duplicate(key)) if key == "name"));
    }

    #[test]
    fn what_needs_no_change_is_not_copied() {
        let raw = Raw::parse(r#"{"a":1,"_meta":{"b":2},"c":[]}"#).unwrap();
        for edits in [
            &[][..],
            &[JsonEdit::remove(&["z"])],
            &[JsonEdit::remove(&["_meta", "z"]), JsonEdit::remove(&["zz"])],
            &[JsonEdit::remove(&["c", "z"])],
        ] {
            let same = raw.with_edits(edits).unwrap();
            assert_eq!(same.as_str().as_ptr(), raw.as_str().as_ptr(), "{edits:?}");
            assert_eq!(same, raw);
        }
        let other = raw.with_edits(&[JsonEdit::remove(&["_meta", "b"])]).unwrap();
        assert_eq!(other.as_str(), r#"{"a":1,"_meta":{},"c":[]}"#);
    }

    #[test]
    fn kinds() {
        for (text, kind) in [
            ("null", JsonKind::Null),
            ("true", JsonKind::Bool),
            ("-0.5", JsonKind::Number),
            ("\"\"", JsonKind::String),
            ("[]", JsonKind::Array),
            ("{}", JsonKind::Object),
        ] {
            assert_eq!(Raw::parse(text).unwrap().kind(), kind, "{text}");
        }
    }

    #[test]
    fn serde_keeps_the_spelling() {
        let raw: Raw = serde_json::from_str("[1.0, 1e400]").unwrap();
        assert_eq!(raw.as_str(), "[1.0, 1e400]");
        assert_eq!(serde_json::to_string(&raw).unwrap(), "[1.0, 1e400]");
    }

    #[test]
    fn a_large_text_is_read_as_a_small_one_is() {
        let filler = "x".repeat(5000);
        for (written, key) in [("a", "a"), (r"is\u0045rror", "isError"), (r"a\/b", "a/b")] {
            let raw = Raw::parse(format!(r#"{{"text":"{filler}","{written}":1}}"#)).unwrap();
            assert_eq!(raw.get(key).unwrap().unwrap().as_str(), "1", "{written}");
            let without = raw.with_edits(&[JsonEdit::remove(&[key])]).unwrap();
            assert_eq!(without.as_str(), format!(r#"{{"text":"{filler}"}}"#), "{written}");
        }
        let list = Raw::parse(format!(r#"["{filler}"]"#)).unwrap();
        assert_eq!(list.get("b").unwrap(), None);
        assert!(list.with_edits(&[JsonEdit::remove(&["b"])]).is_err(), "a list has no members");
    }
}
