//! Iterators over the members of an object or the elements of an array, in well-formed JSON.
//!
//! Used by `Raw`, `envelope` and the schema and catalog code of `core`. They do not check the
//! grammar and do not descend.

use std::ops::Range;

use super::level_cursor::{LevelCursor, MemberSpan};

/// The members of one object, in the order written.
#[derive(Clone)]
pub struct JsonMembers<'a>(LevelCursor<'a>);

/// The elements of one array, in the order written.
#[derive(Clone)]
pub struct JsonElements<'a>(LevelCursor<'a>);

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub struct JsonMember<'a> {
    /// The key as written, quotes and escapes included.
    pub key: &'a str,
    /// The value as written.
    pub value: &'a str,
    step: MemberSpan,
}

/// Why a lookup failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonMemberError {
    /// The key occurs more than once in its object.
    #[error("member `{0}` occurs more than once")]
    Duplicate(String),
}

// === impl JsonMembers ===

impl<'a> JsonMembers<'a> {
    /// The members of `text`, one well-formed value; none unless it is an object.
    #[inline]
    pub fn of(text: &'a str) -> Self {
        Self(LevelCursor::into(text, b'{'))
    }

    /// The value of `key`, which may occur at most once.
    pub(super) fn find_only(self, key: &str) -> Result<Option<&'a str>, JsonMemberError> {
        let Self(mut walk) = self;
        let text = walk.text();
        let mut found = None;
        while let Some(step) = walk.member() {
            if step.is_named(text, key) && found.replace(step.value()).is_some() {
                return Err(JsonMemberError::Duplicate(key.to_owned()));
            }
        }
        Ok(found.map(|span| &text[span]))
    }

    /// The values of several keys, each at most once, in one walk.
    pub fn find_each<const N: usize>(
        self,
        keys: [&str; N],
    ) -> Result<[Option<&'a str>; N], JsonMemberError> {
        let Self(mut walk) = self;
        let text = walk.text();
        let mut found = [const { None }; N];
        while let Some(step) = walk.member() {
            for (key, found) in keys.iter().zip(&mut found) {
                if step.is_named(text, key) && found.replace(step.value()).is_some() {
                    return Err(JsonMemberError::Duplicate((*key).to_owned()));
                }
            }
        }
        Ok(found.map(|span| span.map(|span| &text[span])))
    }
}

impl<'a> Iterator for JsonMembers<'a> {
    type Item = JsonMember<'a>;

    #[inline]
    fn next(&mut self) -> Option<JsonMember<'a>> {
        let step = self.0.member()?;
        let text = self.0.text();
        Some(JsonMember { key: &text[step.key()], value: &text[step.value()], step })
    }
}

// === impl JsonElements ===

impl<'a> JsonElements<'a> {
    /// The elements of `text`, one well-formed value; none unless it is an array.
    #[inline]
    pub fn of(text: &'a str) -> Self {
        Self(LevelCursor::into(text, b'['))
    }
}

impl<'a> Iterator for JsonElements<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        let span = self.0.element()?;
        Some(&self.0.text()[span])
    }
}

// === impl JsonMember ===

impl JsonMember<'_> {
    /// Whether the key equals `name` after decoding.
    #[inline]
    pub fn is_named(&self, name: &str) -> bool {
        self.step.means(self.key, name)
    }

    /// The span from the key's opening quote to the end of the value, within the object's text.
    pub fn span(&self) -> Range<usize> {
        self.step.span()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_one_level() {
        let text = r#"{ "a" : {"b":1} ,"c":[2,3],"a":4 }"#;
        let seen: Vec<_> =
            JsonMembers::of(text).map(|m| (m.key, m.value, &text[m.span()])).collect();
        assert_eq!(
            seen,
            [
                ("\"a\"", "{\"b\":1}", "\"a\" : {\"b\":1}"),
                ("\"c\"", "[2,3]", "\"c\":[2,3]"),
                ("\"a\"", "4", "\"a\":4"),
            ]
        );
        assert_eq!(
            JsonElements::of("[ 1 , [2] ,\"]\" ]").collect::<Vec<_>>(),
            ["1", "[2]", "\"]\""]
        );
        assert_eq!(JsonMembers::of("[1]").count() + JsonElements::of("{}").count(), 0);
    }
}
