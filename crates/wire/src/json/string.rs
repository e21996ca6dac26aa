//! JSON strings, in and out.

use std::borrow::Cow;

use super::find::plain_end;

/// The text a JSON string stands for. `quoted` includes the quotes and is well formed; `None`
/// if it is not a string, or names half of a surrogate pair.
pub fn decode_string(quoted: &str) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    // Most are short, and seen to be plain in a few steps.
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

/// Adds `text` to `out` as a JSON string.
pub(crate) fn quote_into(out: &mut String, text: &str) {
    if !is_plain(text) {
        out.push_str(&serde_json::Value::from(text).to_string());
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// Whether a JSON string can hold `text` without escapes, and holds it so unless somebody took pains.
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
