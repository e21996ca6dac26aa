//! JSON-RPC request ids, which must come back exactly as they were sent.
//!
//! Used by `client` and `server` sessions to match answers and cancellations with requests. It does not allocate ids
//! (`client::session` does).

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use crate::json::{JsonKind, Raw, decode_string};

/// A JSON-RPC id: a string or a number, kept as written. A number may exceed every integer and float type.
#[derive(Clone)]
pub struct Id(Raw);

/// The decoded value of an id, for use as a map key: two spellings of one id, with or without escapes, are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IdKey {
    /// A number, by its spelling.
    Number(String),
    /// A string, by its text.
    Text(String),
}

/// The number in an answer to one of our requests, which all have numeric ids. Some peers write it as a string, and
/// the SDKs take `"7"` for 7; others keep numbers as floats and write `7.0`. That is unambiguous: no id of ours is a
/// string or has a fraction.
pub(crate) fn parse_own_id(text: &str) -> Option<u64> {
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let bare = quoted.unwrap_or_else(|| without_zero_fraction(text));
    let is_canonical = bare.bytes().all(|byte| byte.is_ascii_digit())
        && (bare.len() == 1 || !bare.starts_with('0'));
    if is_canonical { bare.parse().ok() } else { None }
}

fn without_zero_fraction(number: &str) -> &str {
    match number.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => number,
    }
}

// === impl Id ===

impl Id {
    /// A numeric id, for our own requests.
    pub fn number(value: u64) -> Self {
        Self(Raw::from_trusted(itoa::Buffer::new().format(value).into()))
    }

    /// A string id.
    pub fn text(value: &str) -> Self {
        Self(Raw::string(value))
    }

    /// Converts a JSON value to an id, if it is a string or a number.
    pub fn from_raw(raw: Raw) -> Option<Self> {
        matches!(raw.kind(), JsonKind::String | JsonKind::Number).then_some(Self(raw))
    }

    /// The id as written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The id as JSON.
    pub fn raw(&self) -> &Raw {
        &self.0
    }

    /// The number, if the id is one of our own, perhaps written as a string.
    pub fn as_u64(&self) -> Option<u64> {
        parse_own_id(self.as_str())
    }

    /// The decoded value of the id.
    pub fn key(&self) -> IdKey {
        match self.0.to_text() {
            Some(text) => IdKey::Text(text),
            None => IdKey::Number(self.as_str().to_owned()),
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() || self.key() == other.key()
    }
}

impl Eq for Id {}

/// Agrees with [`Id::key`] on which ids are equal, without building a key.
impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match decode_string(self.as_str()) {
            Some(text) => (true, text.as_ref()).hash(state),
            None => (false, self.as_str()).hash(state),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<Id> {
        Id::from_raw(Raw::parse(text.to_owned()).unwrap())
    }

    #[test]
    fn numbers_are_written_as_anybody_would() {
        for number in [0, 1, 9, 10, 99, 100, 12_345_678_901, u64::MAX] {
            assert_eq!(Id::number(number).as_str(), number.to_string());
            assert_eq!(Id::number(number).as_u64(), Some(number));
        }
    }

    #[test]
    fn ids_keep_their_spelling_and_compare_by_meaning() {
        for text in ["0", "-7", "18446744073709551616", "1e400", "1.5", r#""a\u0062""#, "\"\""] {
            assert_eq!(id(text).unwrap().as_str(), text);
        }
        assert_eq!(id(r#""a\u0062""#), id(r#""ab""#));
        let ids = ["1", "1.0", r#""1""#, r#""ab""#, r#""a\u0062""#, r#""\ud800""#].map(id);
        let distinct: std::collections::HashSet<_> = ids.into_iter().collect();
        assert_eq!(distinct.len(), 5, "{distinct:?}");
        assert_ne!(id("1"), id("\"1\""));
        assert_ne!(id("1"), id("1.0"));
        for text in ["null", "true", "[]", "{}"] {
            assert!(id(text).is_none());
        }
    }
}
