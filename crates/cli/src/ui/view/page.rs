//! A page of text that is read and scrolled: headings, paragraphs, facts.

use ratatui_core::text::{Line, Span};

use super::text::{Tone, clean, wide, wrap};

/// How wide the names of facts are.
const NAME_COLUMNS: usize = 16;

/// Everything on it, top to bottom.
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

    /// How many lines there are by now.
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

    /// A paragraph; nothing where there is no text.
    pub(super) fn text(&mut self, text: &str, tone: Tone) {
        let lines = wrap(text, self.width).into_iter();
        self.lines.extend(lines.map(|line| Line::styled(line, tone.style())));
    }

    /// What and how; nothing where there is no how.
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

    pub(super) fn line(&mut self, line: Line<'static>) {
        self.lines.push(line);
    }
}
