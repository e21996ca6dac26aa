//! Splices that add an item to a JSON object or list, or remove one.
//!
//! Used by `edit::json_edit`.

use std::ops::Range;

use super::layout::{
    TextLayout, begins_line, indent_at, line_start, same_line_comments, skip_trivia,
};

/// One replacement of a range of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Splice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    fn cut(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// Applies all replacements at once.
pub(super) fn apply_splices(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for splice in splices {
        result.push_str(&text[at..splice.range.start]);
        result.push_str(&splice.text);
        at = splice.range.end;
    }
    result.push_str(&text[at..]);
    result
}

/// An object or list in a text: its range with the brackets, and the ranges of its items.
#[derive(Debug, Clone)]
pub(super) struct Container {
    pub(super) range: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

impl Container {
    /// Appends an item; `render` returns its text for an indentation.
    pub(super) fn append(
        &self,
        text: &str,
        layout: &TextLayout,
        render: impl Fn(&str) -> String,
    ) -> Vec<Splice> {
        let Some(last) = self.items.last() else {
            return self.append_first(text, layout, render);
        };
        let comma = comma_after(text, last.end);
        if begins_line(text, last.start) {
            let indent = &text[line_start(text, last.start)..last.start];
            let line = format!("{}{indent}{}", layout.newline, render(indent));
            if let Some(comma) = comma {
                let end = same_line_comments(text, comma + 1);
                vec![Splice::insert(end, line + ",")]
            } else {
                let end = same_line_comments(text, last.end);
                vec![Splice::insert(last.end, ","), Splice::insert(end, line)]
            }
        } else {
            let item = render(indent_at(text, last.start));
            let space = if self.is_spaced(text) { " " } else { "" };
            match comma {
                Some(comma) => vec![Splice::insert(comma + 1, format!("{space}{item},"))],
                None => vec![Splice::insert(last.end, format!(",{space}{item}"))],
            }
        }
    }

    fn append_first(
        &self,
        text: &str,
        layout: &TextLayout,
        render: impl Fn(&str) -> String,
    ) -> Vec<Splice> {
        let outer = indent_at(text, self.range.start);
        let indent = format!("{outer}{}", layout.unit);
        let inside = &text[self.inside()];
        // Comments between the brackets stay; white space at the end is replaced.
        let start = self.range.start + 1 + inside.trim_end().len();
        let newline = layout.newline;
        let item = render(&indent);
        let range = start..self.range.end - 1;
        vec![Splice { range, text: format!("{newline}{indent}{item}{newline}{outer}") }]
    }

    /// Removes an item.
    pub(super) fn remove(&self, text: &str, index: usize) -> Vec<Splice> {
        let item = &self.items[index];
        let comma = comma_after(text, item.end);
        let end = comma.map_or(item.end, |comma| comma + 1);
        let is_rest_blank = text[self.range.start + 1..item.start].trim().is_empty()
            && text[end..self.range.end - 1].trim().is_empty();
        match (comma, index.checked_sub(1)) {
            _ if is_rest_blank => vec![Splice::cut(self.inside())],
            (Some(_), _) => vec![Splice::cut(lines_of(text, item.start..end))],
            (None, None) => vec![Splice::cut(tail_of(text, item.clone()))],
            (None, Some(before)) => self.remove_last(text, item, before),
        }
    }

    /// Removes the last item with the comma before it, because some parsers refuse a trailing comma.
    fn remove_last(&self, text: &str, item: &Range<usize>, before: usize) -> Vec<Splice> {
        let tail = tail_of(text, item.clone());
        match comma_after(text, self.items[before].end) {
            Some(comma)
                if text[comma + 1..tail.start].trim().is_empty() && tail.start == item.start =>
            {
                vec![Splice::cut(comma..tail.end)]
            }
            Some(comma) => vec![Splice::cut(comma..comma + 1), Splice::cut(tail)],
            None => vec![Splice::cut(tail)],
        }
    }

    fn inside(&self) -> Range<usize> {
        self.range.start + 1..self.range.end - 1
    }

    fn is_spaced(&self, text: &str) -> bool {
        let inside = &text[self.inside()];
        inside.contains(": ") || inside.contains(", ") || inside.starts_with(' ')
    }
}

/// The comma that follows `end`.
fn comma_after(text: &str, end: usize) -> Option<usize> {
    let at = skip_trivia(text, end);
    text[at..].starts_with(',').then_some(at)
}

/// The range of an item with its comma, and of whole lines if it stands on lines of its own.
fn lines_of(text: &str, item: Range<usize>) -> Range<usize> {
    let end = same_line_comments(text, item.end);
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let after_blank = text.len() - rest.len();
    let line_break = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    match (begins_line(text, item.start), line_break) {
        (true, 1..) => line_start(text, item.start)..after_blank + line_break,
        (false, 1..) => item.start - blanks_before(text, item.start)..end,
        // Another item follows on this line and moves up.
        _ => item.start..item.end + blanks(text, item.end),
    }
}

/// The range of the last item, with the line break before it if it stands on lines of its own.
fn tail_of(text: &str, item: Range<usize>) -> Range<usize> {
    if !begins_line(text, item.start) {
        return item;
    }
    let before = &text[..line_start(text, item.start)];
    let start = before.strip_suffix('\n').unwrap_or(before);
    let start = start.strip_suffix('\r').unwrap_or(start).len();
    let end = same_line_comments(text, item.end);
    let ends_line = text[end..].trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    // Without its line break, a line comment above would swallow the text that follows.
    if ends_line { start..end } else { item }
}

fn blanks(text: &str, from: usize) -> usize {
    text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len()
}

fn blanks_before(text: &str, to: usize) -> usize {
    text[..to].len() - text[..to].trim_end_matches([' ', '\t']).len()
}
