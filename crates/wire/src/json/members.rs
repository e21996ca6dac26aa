//! Walking one level of a value that is already known to be well formed.

use std::ops::Range;

use super::{Scanner, decode_string, find::value_end};

/// The members of one object, in the order written.
#[derive(Clone)]
pub struct Members<'a> {
    text: &'a str,
    at: usize,
}

/// The elements of one array, in the order written.
#[derive(Clone)]
pub struct Elements<'a> {
    text: &'a str,
    at: usize,
}

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key as written, quotes and escapes included.
    pub key: &'a str,
    /// The value as written.
    pub value: &'a str,
    start: usize,
    value_start: usize,
    escaped: bool,
}

/// Why a member could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The key stands more than once in its object.
    #[error("member `{0}` stands more than once")]
    Duplicate(String),
}

// === impl Members ===

impl<'a> Members<'a> {
    /// Walks `text`, one well-formed value; nothing comes out unless it is an object.
    pub fn of(text: &'a str) -> Self {
        let at = if text.starts_with('{') { 1 } else { text.len() };
        Self { text, at }
    }

    /// The value of `key`, which may stand at most once.
    pub fn find_only(self, key: &str) -> Result<Option<&'a str>, MemberError> {
        let mut found = None;
        for member in self {
            if member.is(key) && found.replace(member.value).is_some() {
                return Err(MemberError::Duplicate(key.to_owned()));
            }
        }
        Ok(found)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let mut scanner = Scanner::starting(self.text, self.at);
        scanner.space();
        if scanner.eat(b',') {
            scanner.space();
        }
        let key = scanner.key().ok()?;
        let value_start = scanner.at();
        self.at = after_value(self.text, value_start)?;
        Some(Member {
            key: &self.text[key.span.clone()],
            value: &self.text[value_start..self.at],
            start: key.span.start,
            value_start,
            escaped: key.escaped,
        })
    }
}

// === impl Elements ===

impl<'a> Elements<'a> {
    /// Walks `text`, one well-formed value; nothing comes out unless it is an array.
    pub fn of(text: &'a str) -> Self {
        let at = if text.starts_with('[') { 1 } else { text.len() };
        Self { text, at }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let mut scanner = Scanner::starting(self.text, self.at);
        scanner.space();
        if scanner.eat(b',') {
            scanner.space();
        }
        let start = scanner.at();
        self.at = after_value(self.text, start)?;
        Some(&self.text[start..self.at])
    }
}

/// Where the value at `start` ends; `None` if there is none.
#[inline]
fn after_value(text: &str, start: usize) -> Option<usize> {
    let end = value_end(text.as_bytes(), start);
    (end > start).then_some(end)
}

// === impl Member ===

impl Member<'_> {
    /// Whether the key means `name`, however it is escaped.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        if self.escaped {
            return decode_string(self.key).is_some_and(|key| key == name);
        }
        self.key.as_bytes().get(1..self.key.len() - 1) == Some(name.as_bytes())
    }

    /// From the key's opening quote to the end of the value, within the object's text.
    pub fn span(&self) -> Range<usize> {
        self.start..self.value_start + self.value.len()
    }

    /// The value's place within the object's text.
    pub fn value_span(&self) -> Range<usize> {
        self.value_start..self.value_start + self.value.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_one_level() {
        let text = r#"{ "a" : {"b":1} ,"c":[2,3],"a":4 }"#;
        let seen: Vec<_> = Members::of(text).map(|m| (m.key, m.value, &text[m.span()])).collect();
        assert_eq!(
            seen,
            [
                ("\"a\"", "{\"b\":1}", "\"a\" : {\"b\":1}"),
                ("\"c\"", "[2,3]", "\"c\":[2,3]"),
                ("\"a\"", "4", "\"a\":4"),
            ]
        );
        assert_eq!(Elements::of("[ 1 , [2] ,\"]\" ]").collect::<Vec<_>>(), ["1", "[2]", "\"]\""]);
        assert_eq!(Members::of("[1]").count() + Elements::of("{}").count(), 0);
    }
}
