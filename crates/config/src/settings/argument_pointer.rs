//! The pointer to an argument of a call: an RFC 6901 JSON Pointer, parsed once.
//!
//! Used by `settings::permission_rule`; `core::permission` follows it through the arguments. It does not read JSON.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// A JSON Pointer with at least one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentPointer {
    text: String,
    names: Vec<String>,
}

/// The error for a text that is no pointer to an argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` does not point to an argument; pointers look like `/repo` or `/options/path`, with `~1` for `/` and `~0` for `~` in a name"
)]
pub struct InvalidArgumentPointer(String);

// === impl ArgumentPointer ===

impl ArgumentPointer {
    /// The names of the members on the way to the argument, unescaped. In a list, the name is an index.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl FromStr for ArgumentPointer {
    type Err = InvalidArgumentPointer;

    fn from_str(text: &str) -> Result<Self, InvalidArgumentPointer> {
        let bad = || InvalidArgumentPointer(text.to_owned());
        let path = text.strip_prefix('/').ok_or_else(bad)?;
        let names: Option<Vec<String>> = path.split('/').map(unescape).collect();
        Ok(Self { text: text.to_owned(), names: names.ok_or_else(bad)? })
    }
}

/// Decodes `~0` and `~1`; `None` for another use of `~`.
fn unescape(name: &str) -> Option<String> {
    let mut parts = name.split('~');
    let mut whole = parts.next()?.to_owned();
    for part in parts {
        let (sign, rest) = match part.as_bytes().first()? {
            b'0' => ('~', &part[1..]),
            b'1' => ('/', &part[1..]),
            _ => return None,
        };
        whole.push(sign);
        whole.push_str(rest);
    }
    Some(whole)
}

impl fmt::Display for ArgumentPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for ArgumentPointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl JsonSchema for ArgumentPointer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ArgumentPointer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unescaped_and_nothing_else_is_a_pointer() {
        let names = |text: &str| text.parse::<ArgumentPointer>().map(|pointer| pointer.names).ok();
        let are = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(names("/repo"), are(&["repo"]));
        assert_eq!(names("/a/b/0"), are(&["a", "b", "0"]));
        assert_eq!(names("/a~1b/~0~01"), are(&["a/b", "~~1"]));
        // An empty name is a name.
        assert_eq!(names("/"), are(&[""]));
        for bad in ["", "repo", "#/repo", "/a~", "/a~2b", "/~é"] {
            assert_eq!(names(bad), None, "{bad}");
        }
    }
}
