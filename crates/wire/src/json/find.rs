//! Fast search for the end of a JSON string or value, many bytes at a time.
//!
//! Used by `scan`, `level_cursor` and `string`. Most strings are keys and short words, so the first sixteen bytes are
//! read as two machine words, without set-up. A longer string is searched in blocks that compile to vector
//! instructions: a megabyte of text inside a result is mostly one string. It does not check the grammar (`scan`).
#![allow(
    clippy::inline_always,
    reason = "a walk is many small steps; as calls they cost more than what they do"
)]

/// The number of bytes in a block of a long run.
const BLOCK_BYTES: usize = 32;
/// The number of bytes in a block of a very long run.
const WIDE_BLOCK_BYTES: usize = 4 * BLOCK_BYTES;

/// The end of the run of plain bytes from `at` inside a string: a quote, a backslash, a control character, or the end
/// of the text.
#[inline]
pub(super) fn plain_end(text: &[u8], at: usize) -> usize {
    short_end(text, at).unwrap_or_else(|at| long_end(text, at))
}

/// The end of a run that two words cover; `Err` with the known length if the run is longer.
#[inline(always)]
pub(super) fn short_end(text: &[u8], at: usize) -> Result<usize, usize> {
    let Some([first, second]) = text.get(at..).and_then(two_words) else {
        return near_end(text, at);
    };
    let found = attention(first);
    if found != 0 {
        return Ok(at + place(found));
    }
    let found = attention(second);
    if found != 0 { Ok(at + 8 + place(found)) } else { Err(at + 16) }
}

#[inline(always)]
fn two_words(text: &[u8]) -> Option<[u64; 2]> {
    let words = text.first_chunk::<16>()?;
    let [first, second] = [words.first_chunk()?, words.last_chunk()?];
    Some([u64::from_le_bytes(*first), u64::from_le_bytes(*second)])
}

/// [`short_end`] where fewer than two words are left.
#[inline(never)]
fn near_end(text: &[u8], at: usize) -> Result<usize, usize> {
    for at in [at, at + 8] {
        let Some(word) = padded_word(text, at) else {
            return Err(at);
        };
        let found = attention(word);
        if found != 0 {
            return Ok(at + place(found));
        }
    }
    Err(at + 16)
}

/// The word at `at`, padded with zeros past the end of the text, at which every run ends. `None` at the end, and in a
/// text shorter than a word.
fn padded_word(text: &[u8], at: usize) -> Option<u64> {
    let missing = (at + 8).saturating_sub(text.len());
    if missing == 0 {
        return text.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
    }
    let last = u64::from_le_bytes(*text.last_chunk()?);
    (missing < 8).then(|| last >> (missing * 8))
}

/// The index of the byte in a word that the lowest set bit belongs to.
#[inline(always)]
fn place(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

/// [`plain_end`] for a run of any length.
#[inline(never)]
pub(super) fn long_end(text: &[u8], start: usize) -> usize {
    let mut at = over_plain::<BLOCK_BYTES>(text, start, WIDE_BLOCK_BYTES / BLOCK_BYTES);
    if at == start + WIDE_BLOCK_BYTES {
        at = over_plain::<WIDE_BLOCK_BYTES>(text, at, usize::MAX);
        at = over_plain::<BLOCK_BYTES>(text, at, WIDE_BLOCK_BYTES / BLOCK_BYTES);
    }
    loop {
        match short_end(text, at) {
            Ok(end) => return end,
            Err(next) if next == at || next == at + 8 => return by_bytes(text, next),
            Err(next) => at = next,
        }
    }
}

/// Skips at most `most` blocks of `N` plain bytes.
#[inline(always)]
fn over_plain<const N: usize>(text: &[u8], mut at: usize, most: usize) -> usize {
    for _ in 0..most {
        let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<N>) else { break };
        // Without an early exit, the compiler uses vector instructions.
        if block.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        at += N;
    }
    at
}

fn by_bytes(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| is_special(*byte));
    at + length.unwrap_or(rest.len())
}

/// The high bit of each byte that ends a run. Only the lowest set bit is exact; a borrow may set further bits above
/// it.
#[inline(always)]
fn attention(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Flipping one bit moves the quote right above the control characters, so that one comparison finds both.
    let below_quote = (word ^ (EACH * 0x02)).wrapping_sub(EACH * 0x21);
    let backslash = (word ^ (EACH * u64::from(b'\\'))).wrapping_sub(EACH);
    (below_quote | backslash) & !word & (EACH * 0x80)
}

#[inline]
#[expect(
    clippy::needless_bitwise_bool,
    reason = "branches would keep the loop from becoming vectors"
)]
fn is_special(byte: u8) -> bool {
    // As in `attention`, one comparison finds the quote and the control characters.
    ((byte ^ 0x02) < 0x21) | (byte == b'\\')
}

/// The end of the value that starts at `at`, in text known to be well formed: the grammar is not checked again. In
/// malformed text the result is some position in the text.
#[inline(always)]
pub(super) fn value_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => string_end(text, at),
        Some(b'{' | b'[') => bracket_end(text, at),
        _ => scalar_end(text, at),
    }
}

/// The end of the key that starts at `at`, and whether it has escapes, in well-formed text.
#[inline(always)]
pub(super) fn key_end(text: &[u8], at: usize) -> (usize, bool) {
    match short_end(text, at + 1) {
        Ok(end) if text.get(end) == Some(&b'"') => (end + 1, false),
        Ok(far) | Err(far) => long_key_end(text, far),
    }
}

#[inline(never)]
fn long_key_end(text: &[u8], far: usize) -> (usize, bool) {
    let end = long_string_end(text, far);
    (end, text.get(far..end).is_some_and(|rest| rest.contains(&b'\\')))
}

/// The end of the string that starts at `at`, in well-formed text.
#[inline(always)]
fn string_end(text: &[u8], at: usize) -> usize {
    let start = at + 1;
    if let Some([first, second]) = text.get(start..).and_then(two_words) {
        let (found, from) = match quotes(first) {
            0 => (quotes(second), start + 8),
            found => (found, start),
        };
        let quote = from + place(found);
        if found != 0 && text.get(quote - 1) != Some(&b'\\') {
            return quote + 1;
        }
    }
    long_string_end(text, start)
}

/// The high bit of each byte that is a quote; the lowest set bit is exact.
#[inline(always)]
fn quotes(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let quote = word ^ (EACH * u64::from(b'"'));
    quote.wrapping_sub(EACH) & !quote & (EACH * 0x80)
}

/// The end of a string that is plain up to `far`. Only quotes are searched, so that the escapes of a long text cost
/// nothing: a quote ends the string unless an odd number of backslashes precedes it.
#[inline(never)]
fn long_string_end(text: &[u8], far: usize) -> usize {
    let mut at = far;
    while let Some(rest) = text.get(at..)
        && let Some(length) = memchr::memchr(b'"', rest)
    {
        let inside = &text[far..at + length];
        at += length + 1;
        if inside.last() != Some(&b'\\') || slashes_at_end(inside).is_multiple_of(2) {
            return at;
        }
    }
    text.len()
}

fn slashes_at_end(inside: &[u8]) -> usize {
    inside.iter().rev().take_while(|byte| **byte == b'\\').count()
}

#[inline(never)]
fn bracket_end(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// The end of a number, `true`, `false` or `null`.
#[inline(always)]
fn scalar_end(text: &[u8], mut at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(b"true" | b"null") => return at + 4,
        Some(b"fals") => at += 4,
        _ => {}
    }
    while let Some(byte) = text.get(at)
        && !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
    {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{super::Scanner, *};

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..300 {
            for special in [b'"', b'\\', 0, 0x1f] {
                for filler in ["x", "\u{7f}", "é", "\u{10ffff}", " ", "!", "[", "]", "#"] {
                    let mut text = filler.repeat(length).into_bytes();
                    assert_eq!(plain_end(&text, 0), text.len());
                    let end = text.len();
                    text.push(special);
                    text.extend(b"\"\\\x00 and more text after it");
                    assert_eq!(plain_end(&text, 0), end, "{length} {special} {filler}");
                }
            }
        }
    }

    /// The scanner, which checks every byte, confirms where a value ends and which keys have escapes.
    #[test]
    fn what_is_skipped_is_what_would_be_read() {
        let fillers = ["", "x", "é", "{", r"\\", r#"\""#, r#"\\\""#, r"\u0022", r#"\n,\""#];
        let rests = ["", "}", ",1", r#","key":"\"""#, "]                                "];
        for (filler, rest) in fillers.iter().flat_map(|f| rests.map(|rest| (f, rest))) {
            for (before, count) in (0..9).flat_map(|before| (0..40).map(move |n| (before, n))) {
                let string = format!(r#""{}{}""#, "a".repeat(before), filler.repeat(count));
                for value in [&string, &format!("[{string},1]"), &format!("{{{string}: {string}}}")]
                {
                    let text = format!("{value}{rest}");
                    let mut scanner = Scanner::new(&text);
                    scanner.value(0).unwrap();
                    assert_eq!(value_end(text.as_bytes(), 0), scanner.at(), "{text}");
                }
                let text = format!("{string}:{rest}");
                let key = Scanner::new(&text).key().unwrap();
                assert_eq!(key_end(text.as_bytes(), 0), (key.span.end, key.escaped), "{text}");
            }
        }
    }

    #[test]
    fn values_end_where_they_should() {
        for (value, rest) in [
            (r#""a\"]b\\""#, ",1"),
            (r#"{"a":[{"b":"}]"}],"c":{}}"#, "}"),
            ("[[],[]]", " ]"),
            ("-1.5e9", ","),
            ("null", "}"),
            ("true", ""),
        ] {
            let text = format!("{value}{rest}");
            assert_eq!(value_end(text.as_bytes(), 0), value.len(), "{text}");
        }
        for broken in ["", "\"", "\"\\", "{", "[\"", "]"] {
            assert!(value_end(broken.as_bytes(), 0) <= broken.len());
        }
    }
}
