//! Text in columns: width, cutting, wrapping, tones. All drawn text comes through here and is sanitized.
//!
//! Used by all files of `view`.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use switchboard_wire::sanitize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The role of a text. Colours only repeat the words and symbols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
    Accent,
    Chosen,
}

/// A cell of a row.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    width: Width,
    tone: Tone,
}

/// The width of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) enum Width {
    Columns(usize),
    /// An equal share of the remaining width.
    Rest,
}

// === impl Tone ===

impl Tone {
    pub(super) fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().add_modifier(Modifier::BOLD),
            Self::Faint => Style::new().add_modifier(Modifier::DIM),
            Self::Good => Style::new().fg(Color::Green),
            Self::Warn => Style::new().fg(Color::Yellow),
            Self::Bad => Style::new().fg(Color::Red),
            Self::Accent => Style::new().fg(Color::Cyan),
            Self::Chosen => Style::new().add_modifier(Modifier::REVERSED),
        }
    }
}

// === impl Cell ===

impl Cell {
    pub(super) fn new(text: impl AsRef<str>, width: Width, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()), width, tone }
    }
}

/// A row of cells with a blank between them.
pub(super) fn row(cells: &[Cell], width: usize) -> Line<'static> {
    let fixed = cells.iter().map(|cell| match cell.width {
        Width::Columns(columns) => columns,
        Width::Rest => 0,
    });
    let taken = fixed.sum::<usize>() + cells.len().saturating_sub(1);
    let sharing = cells.iter().filter(|cell| matches!(cell.width, Width::Rest)).count().max(1);
    let rest = width.saturating_sub(taken) / sharing;
    let mut spans = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let columns = match cell.width {
            Width::Columns(columns) => columns,
            Width::Rest => rest,
        };
        let text = cut(&cell.text, columns);
        let is_last = number + 1 == cells.len();
        let padding = if is_last { 0 } else { columns - columns.min(wide(&text)) + 1 };
        spans.push(Span::styled(text, cell.tone.style()));
        spans.push(Span::raw(" ".repeat(padding)));
    }
    Line::from(spans)
}

/// The text as one sanitized line.
pub(super) fn clean(text: &str) -> String {
    sanitize::sanitize_line(&text.replace('\t', "  ")).into_owned()
}

/// The width in columns.
pub(super) fn wide(text: &str) -> usize {
    text.width()
}

/// The beginning that fits, with an ellipsis if text was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if wide(text) <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |letter: &char| {
        taken += letter.width().unwrap_or(0);
        taken < width
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The end that fits: in a typed line the end matters.
pub(super) fn tail(text: &str, width: usize) -> String {
    let mut taken = 0;
    let fits = |letter: &char| {
        taken += letter.width().unwrap_or(0);
        taken <= width
    };
    let kept: Vec<char> = text.chars().rev().take_while(fits).collect();
    kept.into_iter().rev().collect()
}

/// Lines no wider than `width`, broken at blanks where possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in sanitize::sanitize_block(text).lines() {
        let paragraph = paragraph.replace('\t', "    ");
        let mut line = String::new();
        let mut columns = 0;
        for letter in paragraph.chars() {
            let letter_width = letter.width().unwrap_or(0);
            if columns + letter_width > width {
                // A word moves to the next line whole, unless it is longer than a line.
                let rest = match line.rfind(' ') {
                    Some(blank) if letter != ' ' && !line[..blank].trim().is_empty() => {
                        let rest = line.split_off(blank + 1);
                        line.truncate(blank);
                        rest
                    }
                    _ => String::new(),
                };
                lines.push(std::mem::replace(&mut line, rest));
                columns = wide(&line);
                if letter == ' ' && line.is_empty() {
                    continue;
                }
            }
            line.push(letter);
            columns += letter_width;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_where_a_column_ends() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 4, "日…"),
            ("日本語", 6, "日本語"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, width), expected, "{text} {width}");
            assert!(wide(&cut(text, width)) <= width, "{text} {width}");
        }
        assert_eq!(tail("日本語", 4), "本語");
    }

    #[test]
    fn text_is_wrapped() {
        for (text, width, expected) in [
            ("one two three", 7, &["one two", "three"][..]),
            ("one two three", 8, &["one two", "three"]),
            ("onetwothree", 4, &["onet", "woth", "ree"]),
            ("a\n\nb", 4, &["a", "", "b"]),
            ("日本語日本語", 5, &["日本", "語日", "本語"]),
            ("  indented text", 10, &["  indented", "text"]),
            ("x\u{1b}[2Jy", 10, &["x[2Jy"]),
            ("", 3, &[]),
        ] {
            assert_eq!(wrap(text, width), expected, "{text:?} {width}");
        }
    }
}
