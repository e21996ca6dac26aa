//! Reads the text of a JSON string in pieces, so that a large text is never copied whole.
//!
//! Used by `results::content`, `spill`, `cut`, `note`, `blob` and `image`.

use super::size::TextSize;

/// Calls `take` with each piece of the decoded text of `quoted`, a well-formed JSON string with its quotes. Half a
/// surrogate pair becomes a replacement character.
pub(super) fn each_piece<E>(
    quoted: &str,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        if at > 0 {
            take(&rest[..at])?;
        }
        let (c, length) = escape(&rest[at..]);
        take(c.encode_utf8(&mut [0; 4]))?;
        rest = &rest[at + length..];
    }
    if rest.is_empty() { Ok(()) } else { take(rest) }
}

/// The size of the text of `quoted`.
pub(super) fn size(quoted: &str) -> TextSize {
    let mut size = TextSize::default();
    let Ok(()) = each_piece(quoted, |piece| {
        size += TextSize::of(piece);
        Ok::<_, std::convert::Infallible>(())
    });
    size
}

/// The first `chars` characters of the text of `quoted`.
pub(super) fn start(quoted: &str, chars: usize) -> String {
    let mut out = String::new();
    let mut left = chars;
    // The error only stops the walk.
    let _stopped = each_piece(quoted, |piece| {
        for c in piece.chars() {
            if left == 0 {
                return Err(());
            }
            left -= 1;
            out.push(c);
        }
        Ok(())
    });
    out
}

/// The character of the escape at the start of `text`, and the escape's length.
fn escape(text: &str) -> (char, usize) {
    let plain = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode(text),
        Some(other) => char::from(*other),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (plain, 2)
}

fn unicode(text: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0).unwrap_or(0xD800);
    let pair = unit(6).map(|second| [first, second]);
    let decoded = |units: &[u16]| char::decode_utf16(units.iter().copied()).next()?.ok();
    if let Some(c) = decoded(&[first]) {
        return (c, 6);
    }
    match pair.and_then(|pair| decoded(&pair)) {
        Some(c) => (c, 12),
        None => (char::REPLACEMENT_CHARACTER, 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(quoted: &str) -> String {
        start(quoted, usize::MAX)
    }

    #[test]
    fn pieces_are_what_the_string_means() {
        for text in ["", "plain", "a\"b\\c/d\n\r\t\u{8}\u{c}\u{0}é世😀", "\\\\", "\n"] {
            let quoted = serde_json::to_string(text).unwrap();
            assert_eq!(whole(&quoted), text);
            assert_eq!(size(&quoted).chars, text.chars().count());
        }
        assert_eq!(whole(r#""\u00e9\ud83d\ude00\/""#), "é😀/");
        assert_eq!(whole(r#""a\ud800b\udc00""#), "a\u{fffd}b\u{fffd}");
        assert_eq!(whole(r#""\ud800\u0041""#), "\u{fffd}A");
        assert_eq!(start("\"é世😀x\"", 3), "é世😀");
    }
}
