//! Sanitizing of a peer's text for display.
//!
//! Used by `cli`, the console and error messages. A server chooses its names, descriptions and log lines.
//! Unsanitized, they could move a terminal's cursor, reverse the reading direction, or hide words from a person that
//! a model still reads. Results pass through Switchboard unchanged: only text that is *shown* is sanitized.

use std::borrow::Cow;

/// One line: line breaks and tabs become spaces, invisible characters are removed.
pub fn sanitize_line(text: &str) -> Cow<'_, str> {
    clean(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// Several lines: line breaks and tabs stay, invisible characters are removed.
pub fn sanitize_block(text: &str) -> Cow<'_, str> {
    clean(text, |c| matches!(c, '\n' | '\t').then_some(c))
}

/// Whether a person sees this character on a screen. A space counts; other blanks, variation selectors and all
/// characters that [`sanitize_line()`] removes do not. Where no character may be left out, these are written as
/// escapes.
pub fn is_visible(c: char) -> bool {
    let is_odd_blank = c != ' ' && (c.is_whitespace() || c == '\u{2800}');
    !is_hidden(c) && !is_odd_blank && !matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn clean(text: &str, keep: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    // Nearly all text is printable ASCII.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if is_hidden(c) { keep(c) } else { Some(c) };
    Cow::Owned(text.chars().filter_map(shown).collect())
}

/// Characters that control a terminal or are invisible.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}'
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // letters without a shape
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'   // zero width, direction marks
            | '\u{2028}'..='\u{202e}'   // line separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}'   // invisible operators, isolates
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' // marks of musical notation
            | '\u{e0000}'..='\u{e0fff}' // tag characters, further variation selectors
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_not_shown() {
        for (hostile, shown) in [
            ("plain é 世界 😀", "plain é 世界 😀"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"),
            ("a\u{202e}b\u{2066}c", "abc"),
            ("zero\u{200b}width\u{feff}", "zerowidth"),
            ("tag\u{e0041}\u{e007f}s", "tags"),
            ("bell\u{7}\u{9b}", "bell"),
            ("byte\u{e0100}\u{e01ef}s", "bytes"),
            ("no\u{3164}shape\u{34f}", "noshape"),
            ("emoji ✔\u{fe0f}", "emoji ✔\u{fe0f}"),
            ("two\r\nlines\tand", "two  lines and"),
        ] {
            assert_eq!(sanitize_line(hostile), shown);
        }
        assert_eq!(sanitize_block("two\r\nlines\tand\u{1b}"), "two\nlines\tand");
    }

    #[test]
    fn what_is_left_out_elsewhere_is_not_visible() {
        for c in " aZ0'\"\\~é世नि😀".chars() {
            assert!(is_visible(c), "{c:?}");
        }
        let hidden = "\r\n\t\u{1b}\u{7}\u{9b}\u{a0}\u{2003}\u{3000}\u{2800}\u{202e}\u{2066}\u{200b}\u{feff}\u{3164}\u{fe0f}\u{e0041}";
        for c in hidden.chars() {
            assert!(!is_visible(c), "{c:?}");
        }
    }
}
