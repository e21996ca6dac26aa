//! The layout of a JSON text, so that added members look like their neighbours.
//!
//! Used by `edit::json_edit` and `edit::splice`.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// The indentation and line breaks of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextLayout {
    pub(super) newline: &'static str,
    pub(super) unit: String,
}

impl TextLayout {
    /// Detects the layout of `text`; two spaces if it has none.
    pub(super) fn detect(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = text.lines().skip(1).map(indentation).find(|indent| !indent.is_empty());
        Self { newline, unit: unit.unwrap_or("  ").to_owned() }
    }

    /// Renders `value` over several lines, the first of which is already indented by `indent`.
    pub(super) fn render(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
        // Writing to memory cannot fail, and a value has only string keys.
        if value.serialize(&mut serializer).is_err() {
            return value.to_string();
        }
        // JSON strings hold no line breaks, so every line break in the text is between tokens.
        let text = String::from_utf8_lossy(&bytes);
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The white space at the start of the line that holds `offset`.
pub(super) fn indent_at(text: &str, offset: usize) -> &str {
    indentation(&text[line_start(text, offset)..])
}

/// The start of the line that holds `offset`.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// Whether only white space stands before `offset` on its line.
pub(super) fn begins_line(text: &str, offset: usize) -> bool {
    let start = line_start(text, offset);
    start > 0 && text[start..offset].trim_matches([' ', '\t']).is_empty()
}

/// The first offset from `from` on that is neither white space nor comment.
pub(super) fn skip_trivia(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let next = match comment_end(rest) {
            Some(length) => at + length,
            None => at + (rest.len() - rest.trim_start().len()),
        };
        if next == at {
            return at;
        }
        at = next;
    }
}

/// The end of the comments that follow `from` on its line; `from` itself if there are none.
pub(super) fn same_line_comments(text: &str, from: usize) -> usize {
    let (mut at, mut end) = (from, from);
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        match comment_end(&text[at..]) {
            Some(length) => {
                at += length;
                end = at;
            }
            None => return end,
        }
    }
}

/// The length of the comment that `text` starts with; a line comment ends before its line break.
fn comment_end(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let end = text.find('\n').unwrap_or(text.len());
        Some(text[..end].trim_end_matches('\r').len())
    } else {
        let body = text.strip_prefix("/*")?;
        body.find("*/").map(|at| at + 4)
    }
}
