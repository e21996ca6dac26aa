//! Formats JSON with indentation, from text to text, without decoding it.
//!
//! Used by `results::spill` for `structuredContent`, which may be many megabytes.

use std::io::{self, Write};

/// Writes `json`, one well-formed value, with one member or element on each line.
pub(super) fn write(json: &str, out: &mut impl Write) -> io::Result<()> {
    let bytes = json.as_bytes();
    let mut depth: usize = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at + 1,
            b'{' | b'[' => match closed_at_once(bytes, at) {
                Some(end) => {
                    out.write_all(&[*byte, byte + 2])?;
                    end
                }
                None => {
                    depth += 1;
                    out.write_all(&[*byte])?;
                    line(out, depth)?;
                    at + 1
                }
            },
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(out, depth)?;
                out.write_all(&[*byte])?;
                at + 1
            }
            b',' => {
                out.write_all(b",")?;
                line(out, depth)?;
                at + 1
            }
            b':' => {
                out.write_all(b": ")?;
                at + 1
            }
            _ => {
                let end = token_end(bytes, at);
                out.write_all(&bytes[at..end])?;
                end
            }
        };
        at = end;
    }
    Ok(())
}

/// The end of the empty object or array that opens at `at`; `None` if it is not empty.
fn closed_at_once(bytes: &[u8], at: usize) -> Option<usize> {
    let inner = &bytes[at + 1..];
    let space = inner.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    matches!(inner.get(space), Some(b'}' | b']')).then_some(at + space + 2)
}

/// The end of the string, number or word that starts at `at`.
fn token_end(bytes: &[u8], at: usize) -> usize {
    if bytes[at] != b'"' {
        let rest = bytes[at..].iter();
        let length = rest.take_while(|b| !b" \t\r\n,:]}".contains(b)).count();
        return at + length.max(1);
    }
    let mut from = at + 1;
    while let Some(next) = memchr::memchr2(b'"', b'\\', &bytes[from..]) {
        match bytes[from + next] {
            b'"' => return from + next + 1,
            _ => from = (from + next + 2).min(bytes.len()),
        }
    }
    bytes.len()
}

fn line(out: &mut impl Write, depth: usize) -> io::Result<()> {
    writeln!(out)?;
    write!(out, "{:1$}", "", depth * 2)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[test]
    fn laid_out_as_everyone_does() {
        for json in [
            r#"{"a":[1,{"b":"x,:{}[]\"\\"}],"c":{},"d":[ ],"e":null}"#,
            "[]",
            "1.50",
            r#""text""#,
            "[ [ ] , { } , true ]",
        ] {
            let mut out = Vec::new();
            super::write(json, &mut out).unwrap();
            let value: Value = serde_json::from_str(json).unwrap();
            let expected = serde_json::to_string_pretty(&value).unwrap();
            // Numbers keep their spelling.
            assert_eq!(String::from_utf8(out).unwrap().replace("1.50", "1.5"), expected);
        }
    }
}
