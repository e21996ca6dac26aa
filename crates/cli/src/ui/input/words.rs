//! Splits a line into words: at blanks, with quotes and `\` as in a shell.
//!
//! Used by `input::command` and `app::perform`. It does not expand variables.

/// The words of a line. An open quote ends with the line.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().push(letters.next().unwrap_or('\\'));
            }
            ('"' | '\'', None) => {
                quote = Some(letter);
                // Empty quotes are a word too.
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_respected() {
        for (line, expected) in [
            ("", &[][..]),
            ("  a  b ", &["a", "b"]),
            (r#"a "b c" 'd "e'"#, &["a", "b c", "d \"e"]),
            (r#"a\ b "c\"d" '\'"#, &["a b", "c\"d", "\\"]),
            (r#""" x''y"#, &["", "xy"]),
            ("\"open end", &["open end"]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
