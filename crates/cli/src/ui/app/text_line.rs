//! Editable text with a cursor: one line, and several lines.
//!
//! Used by forms, the command line, searches and the entry editor. It does not draw.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use switchboard_wire::sanitize;

/// The longest line that can be typed or pasted, enough for a pasted entry.
const MAX_LINE_BYTES: usize = 64 << 10;

/// One line with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextLine {
    letters: Vec<char>,
    at: usize,
}

/// Several lines with a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextArea {
    lines: Vec<TextLine>,
    line: usize,
}

// === impl TextLine ===

impl TextLine {
    pub(crate) fn new(text: &str) -> Self {
        let mut typed = Self::default();
        typed.paste(text);
        typed
    }

    pub(crate) fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// The text before the cursor.
    pub(crate) fn before(&self) -> String {
        self.letters[..self.at].iter().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Inserts text at the cursor; line breaks become spaces.
    pub(crate) fn paste(&mut self, text: &str) {
        let line = text.replace(['\r', '\n', '\t'], " ");
        for letter in sanitize::sanitize_line(&line).chars() {
            self.insert(letter);
        }
    }

    fn insert(&mut self, letter: char) {
        if self.letters.len() < MAX_LINE_BYTES {
            self.letters.insert(self.at, letter);
            self.at += 1;
        }
    }

    /// Handles an editing key; returns whether it was one.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.letters.len(),
            KeyCode::Char('u') if control => {
                drop(self.letters.drain(..std::mem::take(&mut self.at)));
            }
            KeyCode::Char('k') if control => self.letters.truncate(self.at),
            KeyCode::Char('w') if control => self.rub_out_word(),
            KeyCode::Char(_) if control => return false,
            KeyCode::Char(letter) => self.insert(letter),
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                self.letters.remove(self.at);
            }
            KeyCode::Delete if self.at < self.letters.len() => drop(self.letters.remove(self.at)),
            KeyCode::Backspace | KeyCode::Delete => {}
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = self.letters.len().min(self.at + 1),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.letters.len(),
            _ => return false,
        }
        true
    }

    fn rub_out_word(&mut self) {
        let is_blank = |letter: &char| letter.is_whitespace();
        let kept = self.letters[..self.at].iter().rposition(|letter| !is_blank(letter));
        let from = kept.map_or(0, |last| {
            self.letters[..last].iter().rposition(is_blank).map_or(0, |blank| blank + 1)
        });
        self.letters.drain(from..self.at);
        self.at = from;
    }
}

// === impl TextArea ===

impl TextArea {
    pub(crate) fn new(text: &str) -> Self {
        let mut lines: Vec<_> = text.lines().map(TextLine::new).collect();
        if lines.is_empty() {
            lines.push(TextLine::default());
        }
        for line in &mut lines {
            line.at = 0;
        }
        Self { lines, line: 0 }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(TextLine::text).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn lines(&self) -> &[TextLine] {
        &self.lines
    }

    /// The index of the line with the cursor.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    pub(crate) fn paste(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.split();
            }
            self.lines[self.line].paste(line.trim_end_matches('\r'));
        }
    }

    /// Handles an editing key; returns whether it was one.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        let line = &self.lines[self.line];
        match key.code {
            KeyCode::Enter => self.split(),
            KeyCode::Tab => self.lines[self.line].paste("  "),
            KeyCode::Up => self.turn(self.line.saturating_sub(1)),
            KeyCode::Down => self.turn(self.line + 1),
            KeyCode::Backspace if line.at == 0 && self.line > 0 => self.join(self.line - 1),
            KeyCode::Delete
                if line.at == line.letters.len() && self.line + 1 < self.lines.len() =>
            {
                self.join(self.line);
            }
            _ => return self.lines[self.line].press(key),
        }
        true
    }

    fn turn(&mut self, line: usize) {
        let at = self.lines[self.line].at;
        self.line = line.min(self.lines.len() - 1);
        let line = &mut self.lines[self.line];
        line.at = at.min(line.letters.len());
    }

    fn split(&mut self) {
        let line = &mut self.lines[self.line];
        let rest = line.letters.split_off(line.at);
        self.line += 1;
        self.lines.insert(self.line, TextLine { letters: rest, at: 0 });
    }

    /// Joins line `first` with the next one.
    fn join(&mut self, first: usize) {
        let second = self.lines.remove(first + 1);
        let line = &mut self.lines[first];
        line.at = line.letters.len();
        line.letters.extend(second.letters);
        self.line = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> KeyEvent {
        let (code, modifiers) = match name {
            "<" => (KeyCode::Left, KeyModifiers::NONE),
            ">" => (KeyCode::Right, KeyModifiers::NONE),
            "^" => (KeyCode::Up, KeyModifiers::NONE),
            "bs" => (KeyCode::Backspace, KeyModifiers::NONE),
            "del" => (KeyCode::Delete, KeyModifiers::NONE),
            "home" => (KeyCode::Home, KeyModifiers::NONE),
            "ret" => (KeyCode::Enter, KeyModifiers::NONE),
            "C-u" => (KeyCode::Char('u'), KeyModifiers::CONTROL),
            "C-k" => (KeyCode::Char('k'), KeyModifiers::CONTROL),
            "C-w" => (KeyCode::Char('w'), KeyModifiers::CONTROL),
            letter => (KeyCode::Char(letter.chars().next().unwrap()), KeyModifiers::NONE),
        };
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn a_line_is_typed() {
        for (keys, text) in [
            ("a b c", "abc"),
            ("a b < x", "axb"),
            ("a b bs", "a"),
            ("a b home del", "b"),
            ("a b < C-u", "b"),
            ("a b < C-k", "a"),
            ("bs del < >", ""),
        ] {
            let mut typed = TextLine::default();
            for name in keys.split(' ') {
                assert!(typed.press(key(name)), "{keys}: {name}");
            }
            assert_eq!(typed.text(), text, "{keys}");
        }
        let mut typed = TextLine::new("one two\nthree \u{1b}[2J");
        assert_eq!(typed.text(), "one two three [2J");
        typed.press(key("C-w"));
        typed.press(key("C-w"));
        assert_eq!(typed.text(), "one two ");
    }

    #[test]
    fn a_text_is_typed() {
        for (start, keys, text) in [
            ("ab\ncd", "> ret x", "a\nxb\ncd"),
            ("ab\ncd", "^ bs", "ab\ncd"),
            ("ab", "> > del", "ab"),
            ("ab\ncd", "> > del", "abcd"),
            ("", "a ret b home bs", "ab"),
        ] {
            let mut area = TextArea::new(start);
            for name in keys.split(' ') {
                area.press(key(name));
            }
            assert_eq!(area.text(), text, "{start:?} {keys}");
        }
    }
}
