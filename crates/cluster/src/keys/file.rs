//! The text of a key file: 32 bytes per line, as 64 hexadecimal digits or in Base64; `#` begins a comment.
//!
//! Used by `keys`. It opens no file.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The bytes of a key.
const KEY_BYTES: usize = 32;
/// The most keys of a file.
const MAX_KEYS: usize = 16;

/// The secret of one line.
pub(super) type KeySecret = [u8; KEY_BYTES];

/// The keys in their order, or what is wrong. No message repeats a line.
pub(super) fn parse_keys(text: &str) -> Result<Vec<KeySecret>, String> {
    let mut keys = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let key = parse_key(line).ok_or_else(|| {
            format!(
                "line {} is no key: a key is 32 random bytes, as 64 hexadecimal digits or in Base64",
                number + 1
            )
        })?;
        if keys.contains(&key) {
            return Err(format!("line {} repeats a key", number + 1));
        }
        keys.push(key);
    }
    match keys.len() {
        0 => Err("there is no key in it".to_owned()),
        1..=MAX_KEYS => Ok(keys),
        count => Err(format!("there are {count} keys in it, and at most {MAX_KEYS} are allowed")),
    }
}

fn parse_key(line: &str) -> Option<KeySecret> {
    let bytes =
        if line.len() == KEY_BYTES * 2 { hex(line)? } else { STANDARD.decode(line).ok()? };
    bytes.try_into().ok()
}

fn hex(line: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = line.chars().map(|digit| digit.to_digit(16)).collect();
    digits?.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hexadecimal_or_base64() {
        let (hex, base64) = ("ab".repeat(32), STANDARD.encode([1; 32]));
        let keys = parse_keys(&format!("# ours\n{hex}  # new\n\n{base64}\r\n")).unwrap();
        assert_eq!(keys, [[0xab; 32], [1; 32]]);
    }

    #[test]
    fn anything_else_is_refused_without_being_shown() {
        let short = "cd".repeat(31);
        for (text, reason) in [
            (String::new(), "there is no key in it"),
            ("# none\n".to_owned(), "there is no key in it"),
            (format!("{}\nsecret", "ab".repeat(32)), "line 2 is no key"),
            (short.clone(), "line 1 is no key"),
            (format!("{}\n{}", "ab".repeat(32), "AB".repeat(32)), "line 2 repeats a key"),
            ((0..17).map(|n| format!("{n:064x}")).collect::<Vec<_>>().join("\n"), "at most 16"),
        ] {
            let error = parse_keys(&text).unwrap_err();
            assert!(error.contains(reason), "{error}");
            assert!(!error.contains("secret") && !error.contains(&short), "{error}");
        }
    }
}
