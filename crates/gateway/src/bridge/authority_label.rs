//! Labels: names in the authority of an address that the gateway issues, such as `my~20server` in
//! `ui://my~20server.switchboard/…`.
//!
//! Used by `apps::address` and `skills::address`, which put the name of a server there. A label is exact both ways, and
//! holds no upper-case letters, which hosts may change. It does not know the rest of an address.

use std::fmt::Write as _;

/// The suffix of the authority of an address.
pub(super) const AUTHORITY_SUFFIX: &str = ".switchboard";

/// The label of a name: small letters, digits, `-`, `_` and `.` as they are, every other byte as `~xx`.
pub(super) fn encode_label(name: &str) -> String {
    let mut label = String::with_capacity(name.len());
    for byte in name.bytes() {
        if is_plain(byte) {
            label.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(label, "~{byte:02x}");
        }
    }
    label
}

/// The name of a label; `None` for a text that [`encode_label`] does not return for a name.
pub(super) fn decode_label(label: &str) -> Option<String> {
    let mut pieces = label.split('~');
    let mut name = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, plain) = piece.split_at_checked(2)?;
        name.push(u8::from_str_radix(digits, 16).ok()?);
        name.extend_from_slice(plain.as_bytes());
    }
    let name = String::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    // Each name has one label.
    (encode_label(&name) == label).then_some(name)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_has_one_label() {
        for (name, label) in [
            ("git-hub_2.x", "git-hub_2.x"),
            ("My App", "~4dy~20~41pp"),
            ("a~62", "a~7e62"),
            ("é", "~c3~a9"),
        ] {
            assert_eq!(encode_label(name), label);
            assert_eq!(decode_label(label).as_deref(), Some(name));
        }
        for other in ["", "~", "~6", "~61", "~4D", "~zz", "~+1", "~ff", "A", "a b", "é", "a~é"] {
            assert_eq!(decode_label(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_label_is_exact_both_ways(name in ".{1,20}", text in ".{0,20}") {
            let label = encode_label(&name);
            prop_assert!(label.bytes().all(|byte| is_plain(byte) || byte == b'~'));
            prop_assert_eq!(decode_label(&label), Some(name));
            if let Some(name) = decode_label(&text) {
                prop_assert_eq!(encode_label(&name), text);
            }
        }
    }
}
