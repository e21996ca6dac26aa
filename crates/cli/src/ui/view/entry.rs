//! The window with the editor of a server's entry.
//!
//! Used by `view`. Editing is in `app::text_line`.

use ratatui_core::text::{Line, Span};

use super::Content;
use super::page::Page;
use super::text::{Tone, clean, tail, wide};
use crate::ui::app::{Entry, Writing};

pub(super) fn content(entry: &Entry, width: usize) -> Content {
    let mut page = Page::new(width);
    page.fact("File", &entry.file);
    match entry.writing {
        Writing::Allowed => {
            page.text("Values shown as ******** stay as they are. ^S saves; the hub checks the entry first.", Tone::Faint);
        }
        Writing::Forbidden => page.text("This file cannot be changed here.", Tone::Warn),
    }
    page.text(entry.problem.as_deref().unwrap_or_default(), Tone::Bad);
    page.gap();
    let first = page.length();
    for (number, line) in entry.text.lines().iter().enumerate() {
        let is_here = number == entry.text.line();
        let shown = if is_here { tail(&line.text(), width.saturating_sub(6)) } else { line.text() };
        let spans = [
            Span::styled(format!("{:>4} ", number + 1), Tone::Faint.style()),
            Span::raw(clean(&shown)),
        ];
        page.line(Line::from(spans.to_vec()));
    }
    let line = &entry.text.lines()[entry.text.line()];
    let column = 5 + wide(&tail(&line.before(), width.saturating_sub(6)));
    Content {
        title: format!("entry of {}", entry.server),
        lines: page.lines(),
        focus: Some((first + entry.text.line(), u16::try_from(column).unwrap_or(0))),
        outcome: None,
    }
}
