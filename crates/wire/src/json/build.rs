//! Constructors of [`Raw`] that cannot fail: objects and arrays of values that are JSON already, and
//! `serde_json::Value`s.
//!
//! Used by every crate that writes a message of its own. It does not check how deep a value is nested:
//! [`MAX_JSON_DEPTH`](super::MAX_JSON_DEPTH) is a limit for text of a peer.

use std::borrow::Borrow;

use super::{Raw, quote_into};

impl Raw {
    /// An object of these members, in this order. The caller names no key twice.
    pub fn object<K: AsRef<str>, V: Borrow<Raw>>(
        members: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut text = String::from("{");
        for (key, value) in members {
            if text.len() > 1 {
                text.push(',');
            }
            quote_into(&mut text, key.as_ref());
            text.push(':');
            text.push_str(value.borrow().as_str());
        }
        text.push('}');
        Self::new(text.into())
    }

    /// An array of these values.
    pub fn array<V: Borrow<Raw>>(elements: impl IntoIterator<Item = V>) -> Self {
        let mut text = String::from("[");
        for element in elements {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(element.borrow().as_str());
        }
        text.push(']');
        Self::new(text.into())
    }
}

/// Unlike [`Raw::from_value`] this cannot fail: keys of a `Value` are strings, and its numbers are finite.
impl From<&serde_json::Value> for Raw {
    fn from(value: &serde_json::Value) -> Self {
        Self::new(value.to_string().into())
    }
}

impl From<serde_json::Value> for Raw {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl From<u64> for Raw {
    fn from(number: u64) -> Self {
        Self::new(itoa::Buffer::new().format(number).into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::MAX_JSON_DEPTH, *};

    #[test]
    fn objects_and_arrays_hold_their_parts_as_they_were_written() {
        let number = Raw::parse("1.0e5").unwrap();
        let object = Raw::object([("a\"b", &number), ("c", &Raw::string("d\n"))]);
        assert_eq!(object.as_str(), r#"{"a\"b":1.0e5,"c":"d\n"}"#);
        let array = Raw::array([&object, &Raw::from(7)]);
        assert_eq!(array.as_str(), r#"[{"a\"b":1.0e5,"c":"d\n"},7]"#);
        assert_eq!(Raw::object::<&str, Raw>([]), Raw::empty_object());
        assert_eq!(Raw::array::<Raw>([]).as_str(), "[]");
        assert_eq!(Raw::parse(array.to_string()).unwrap(), array);
    }

    #[test]
    fn a_value_as_deep_as_allowed_has_room_in_an_object() {
        let deep = "[".repeat(MAX_JSON_DEPTH) + &"]".repeat(MAX_JSON_DEPTH);
        let deep = Raw::parse(deep).unwrap();
        let object = Raw::object([("a", &deep)]);
        assert_eq!(object.get("a").unwrap(), Some(deep));
    }

    #[test]
    fn a_value_of_serde_json_has_always_a_text() {
        let value = json!({ "b": [1, 2.5, null], "a": "x\u{0}" });
        assert_eq!(Raw::from(&value).as_str(), r#"{"b":[1,2.5,null],"a":"x\u0000"}"#);
        assert_eq!(Raw::from(&value).decode::<serde_json::Value>().unwrap(), value);
    }
}
