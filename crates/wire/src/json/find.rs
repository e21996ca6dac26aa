//! Finding the byte where something ends, many bytes at a time.
//!
//! Most strings are keys and short words, so the first bytes are looked at eight to a machine word,
//! which costs no set-up. What is longer is searched in blocks that become vector instructions: a
//! megabyte of text inside a result is mostly one string.

/// How much of a string is looked at by words before blocks are worth it.
const SHORT: usize = 16;
const BLOCK: usize = 32;

/// Where the run of bytes from `at` ends that need no attention inside a string: at a quote, a
/// backslash, a control character, or the end of the text.
#[inline]
pub(super) fn plain_end(text: &[u8], at: usize) -> usize {
    let mut at = at;
    let turn = at + SHORT;
    while at < turn {
        let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) else {
            return by_bytes(text, at);
        };
        let found = attention(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    by_blocks(text, at)
}

/// The high bit of each byte that ends a run. The lowest one set is right; a borrow may set bits
/// above it that mean nothing.
#[inline]
fn attention(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let zero = |word: u64| word.wrapping_sub(EACH) & !word;
    let quote = zero(word ^ (EACH * b'"' as u64));
    let backslash = zero(word ^ (EACH * b'\\' as u64));
    let control = word.wrapping_sub(EACH * 0x20) & !word;
    (quote | backslash | control) & (EACH * 0x80)
}

#[inline(never)]
fn by_blocks(text: &[u8], mut at: usize) -> usize {
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // No early exit: that is what lets the compiler use vectors.
        let found = block
            .iter()
            .fold(false, |found, byte| found | is_special(*byte));
        if found {
            break;
        }
        at += BLOCK;
    }
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let found = attention(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    by_bytes(text, at)
}

#[cold]
fn by_bytes(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| is_special(*byte));
    at + length.unwrap_or(rest.len())
}

#[inline]
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
fn string_end(text: &[u8], mut at: usize) -> usize {
    at += 1;
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
