//! Sanitizes and cuts texts of servers, and estimates their cost in tokens.
//!
//! Used by `catalog::item_reader`, `lists`, `tool` and `parsed_list`.

use switchboard_wire::{json::Raw, sanitize};

/// How many characters of a description, a title or instructions are shown.
pub(super) const MAX_TEXT_CHARS: usize = 2_048;

/// The mark at the end of a cut text, counted in the limit.
const CUT_MARK: &str = "… [cut]";

/// Several lines, sanitized and cut.
pub(super) fn block(text: &str) -> String {
    cut(sanitize::sanitize_block(text).trim())
}

/// One line, sanitized and cut.
pub(super) fn line(text: &str) -> String {
    cut(sanitize::sanitize_line(text).trim())
}

/// Estimates the number of tokens of so many characters.
pub(super) fn tokens(characters: usize) -> usize {
    characters.div_ceil(4)
}

/// The length of a JSON value in characters, without the white space between its tokens.
pub(super) fn compact_length(json: &Raw) -> usize {
    let (mut length, mut in_string, mut escaped) = (0, false, false);
    for c in json.as_str().chars() {
        let is_quote = c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
        in_string ^= is_quote;
        length += usize::from(in_string || is_quote || !c.is_ascii_whitespace());
    }
    length
}

fn cut(text: &str) -> String {
    let place = |nth| text.char_indices().nth(nth).map(|(at, _)| at);
    if place(MAX_TEXT_CHARS).is_none() {
        return text.to_owned();
    }
    let kept = place(MAX_TEXT_CHARS - CUT_MARK.chars().count()).unwrap_or(0);
    format!("{}{CUT_MARK}", &text[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_at_a_character() {
        for letter in ["a", "é", "世", "😀"] {
            let fits = letter.repeat(MAX_TEXT_CHARS);
            assert_eq!(block(&fits), fits);
            let shown = block(&letter.repeat(MAX_TEXT_CHARS + 1));
            assert_eq!(shown.chars().count(), MAX_TEXT_CHARS);
            assert_eq!(shown.strip_suffix(CUT_MARK), Some(&*letter.repeat(MAX_TEXT_CHARS - 7)));
        }
    }

    #[test]
    fn space_around_and_what_cannot_be_seen_is_gone() {
        for (sent, as_block, as_line) in [
            (" a\n b \n", "a\n b", "a  b"),
            ("\u{200b}\u{202e}", "", ""),
            ("x\u{e0041}y\u{1b}", "xy", "xy"),
        ] {
            assert_eq!((&*block(sent), &*line(sent)), (as_block, as_line), "{sent:?}");
        }
    }

    #[test]
    fn only_space_between_tokens_is_free() {
        for (json, length) in
            [("{}", 2), ("{ \"a b\" :\n 1 }", 9), (r#"["\" x\\" , "y z"]"#, 16), ("\"é世\"", 4)]
        {
            assert_eq!(compact_length(&Raw::parse(json).unwrap()), length, "{json}");
        }
        assert_eq!([0, 1, 4, 5].map(tokens), [0, 1, 1, 2]);
    }
}
