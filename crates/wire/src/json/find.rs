//! Finding the byte where something ends, many bytes at a time.
//!
//! Most strings are keys and short words, so the first eight bytes are looked at as one machine
//! word, which costs no set-up. What is longer is searched in blocks that become vector
//! instructions: a megabyte of text inside a result is mostly one string.

/// How many bytes are looked at together in a long run.
const BLOCK: usize = 32;

/// Where the run of bytes from `at` ends that need no attention inside a string: at a quote, a
/// backslash, a control character, or the end of the text.
#[inline]
pub(super) fn plain_end(text: &[u8], at: usize) -> usize {
    short_end(text, at).unwrap_or_else(|at| long_end(text, at))
}

/// The same, if the run is so short that two words tell; else how far it goes at least.
#[inline]
pub(super) fn short_end(text: &[u8], at: usize) -> Result<usize, usize> {
    for at in [at, at + 8] {
        let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) else {
            return Err(at);
        };
        let found = attention(u64::from_le_bytes(*word));
        if found != 0 {
            return Ok(at + found.trailing_zeros() as usize / 8);
        }
    }
    Err(at + 16)
}

/// The same, for any run.
#[inline(never)]
pub(super) fn long_end(text: &[u8], mut at: usize) -> usize {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // No early exit: that is what lets the compiler use vectors.
        let special = |found, byte: &u8| found | is_special(*byte);
        if block.iter().fold(false, special) {
            break;
        }
        at += BLOCK;
    }
    loop {
        match short_end(text, at) {
            Ok(end) => return end,
            Err(next) if next == at || next == at + 8 => return by_bytes(text, next),
            Err(next) => at = next,
        }
    }
}

fn by_bytes(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| is_special(*byte));
    at + length.unwrap_or(rest.len())
}

/// The high bit of each byte that ends a run. The lowest one set is right; a borrow may set bits
/// above it that mean nothing.
#[inline]
fn attention(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Flipping one bit puts the quote right above the control characters, so that one comparison
    // finds both.
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
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Where the value that starts at `at` ends, in text that is known to be well formed: its grammar
/// is not looked at again. Text that is not ends somewhere, too.
pub(super) fn value_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => string_end(text, at),
        Some(b'{' | b'[') => bracket_end(text, at),
        _ => scalar_end(text, at),
    }
}

#[inline]
fn string_end(text: &[u8], at: usize) -> usize {
    match short_end(text, at + 1) {
        Ok(end) if text[end] == b'"' => end + 1,
        Ok(far) | Err(far) => long_string_end(text, far),
    }
}

#[inline(never)]
fn long_string_end(text: &[u8], mut at: usize) -> usize {
    loop {
        at = plain_end(text, at);
        match text.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at = (at + 2).min(text.len()),
            Some(_) => at += 1,
            None => return at,
        }
    }
}

fn bracket_end(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    at
}

fn scalar_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..200 {
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
