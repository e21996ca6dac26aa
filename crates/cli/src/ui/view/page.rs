//! A scrolling page of text: headings, paragraphs, facts.
//!
//! Used by all windows of `view`.

use ratatui_core::text::{Line, Span};

use super::text::{Tone, clean, wide, wrap};

/// The width of the names of facts.
const NAME_COLUMNS: usize = 16;

/// The lines of a page.
#[derive(Debug)]
pub(super) struct Page {
    width: usize,
    lines: Vec<Line<'static>>,
}

// === impl Page ===

impl Page {
    pub(super) fn new(width: usize) -> Self {
        Self { width, lines: Vec::new() }
    }

    pub(super) fn lines(self) -> Vec<Line<'static>> {
        self.lines
    }

    /// The number of lines so far.
    pub(super) fn length(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.gap();
        self.text(text, Tone::Strong);
    }

    /// Adds a paragraph; an empty text adds nothing.
    pub(super) fn text(&mut self, text: &str, tone: Tone) {
        let lines = wrap(text, self.width).into_iter();
        self.lines.extend(lines.map(|line| Line::styled(line, tone.style())));
    }

    /// Adds a name with its value; an empty value adds nothing.
    pub(super) fn fact(&mut self, name: &str, text: impl AsRef<str>) {
        self.toned(name, text, Tone::Plain);
    }

    pub(super) fn toned(&mut self, name: &str, text: impl AsRef<str>, tone: Tone) {
        let lines = wrap(text.as_ref(), self.width.saturating_sub(NAME_COLUMNS + 1));
        for (number, line) in lines.into_iter().enumerate() {
            let name = if number == 0 { clean(name) } else { String::new() };
            let padding = " ".repeat((NAME_COLUMNS + 1).saturating_sub(wide(&name)));
            let spans = [
                Span::styled(name, Tone::Faint.style()),
                Span::raw(padding),
                Span::styled(line, tone.style()),
            ];
            self.lines.push(Line::from(spans.to_vec()));
        }
    }

    /// The columns for the value of a fact.
    pub(super) fn fact_columns(&self) -> usize {
        self.width.saturating_sub(NAME_COLUMNS + 1)
    }

    /// Adds a sparkline, whose blanks stay.
    pub(super) fn bars(&mut self, name: &str, bars: &str) {
        let spans = [
            Span::styled(format!("{name:<width$}", width = NAME_COLUMNS + 1), Tone::Faint.style()),
            Span::styled(bars.to_owned(), Tone::Accent.style()),
        ];
        self.lines.push(Line::from(spans.to_vec()));
    }

    pub(super) fn line(&mut self, line: Line<'static>) {
        self.lines.push(line);
    }
}
