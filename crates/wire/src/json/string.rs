//! Decoding and quoting of JSON strings.
//!
//! Used wherever a key or a text is compared or written. It does not check the grammar (`scan`).

use std::borrow::Cow;

use super::find::plain_end;

/// Decodes a JSON string. `quoted` includes the quotes and is well formed. Returns `None` if it is
/// not a string, or has half of a surrogate pair.
pub fn decode_string(quoted: &str) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    // Most strings are short, and known to be plain after a few steps.
    if is_plain(inner) || memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(quoted).ok().map(Cow::Owned)
}

/// `text` as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_into(&mut out, text);
    out
}

/// Appends `text` to `out` as a JSON string.
pub(crate) fn quote_into(out: &mut String, text: &str) {
    if !is_plain(text) {
        out.push_str(&serde_json::Value::from(text).to_string());
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// Whether `text` needs no escapes in a JSON string; a spelling with escapes is possible, but
/// unusual.
pub(super) fn is_plain(text: &str) -> bool {
    plain_end(text.as_bytes(), 0) == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for text in ["", "plain", "quo\"te", "back\\slash", "line\nbreak", "\u{0}", "snow ☃ 😀"]
        {
            assert_eq!(decode_string(&quote(text)).as_deref(), Some(text));
        }
        assert_eq!(decode_string(r#""\ud83d\ude00""#).as_deref(), Some("😀"));
        assert_eq!(decode_string(r#""\ud83d""#), None);
        assert_eq!(decode_string("12"), None);
    }
}
