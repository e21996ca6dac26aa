//! The preview beside the list on a wide screen: what Enter would open, for the row under the cursor.
//!
//! Used by `view`. It scrolls nothing; the window that Enter opens does.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::page::Page;
use super::text::{Tone, clean, cut};
use super::{calls, paint, questions, review, server};
use crate::show;
use crate::ui::app::{Item, ItemKind, Model, ProblemRow, Record, View};

/// Draws the preview with its border on the left.
pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    for y in area.y..area.bottom() {
        buffer.set_stringn(area.x, y, "│", 1, Tone::Faint.style());
    }
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(3), ..area };
    let mut page = Page::new(inner.width.into());
    let Some(title) = content(model, &mut page) else { return };
    let title = cut(&clean(&title), inner.width.into());
    buffer.set_stringn(inner.x, inner.y, title, inner.width.into(), Tone::Strong.style());
    let below = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let lines = page.lines();
    paint(&lines, 0, below, buffer);
    if lines.len() > usize::from(below.height) {
        let last = below.bottom().saturating_sub(1);
        let more = format!("{:<width$}", "… Enter shows all", width = usize::from(below.width));
        buffer.set_stringn(below.x, last, more, below.width.into(), Tone::Faint.style());
    }
}

/// Writes the page of the row under the cursor; returns its title.
fn content(model: &Model, page: &mut Page) -> Option<String> {
    let row = model.list().chosen(model.lengths().0);
    match model.view {
        View::Servers => model.chosen_server().map(|name| server::page(model, name, page)),
        View::Tools | View::Prompts | View::Resources => {
            model.items().get(row).map(|item| write_item(item, page))
        }
        View::Questions => match model.questions().get(row) {
            Some(asked) => Some(questions::page(model, &asked.id, page)),
            None => model.chosen_answer().map(|answer| questions::answer_page(answer, page)),
        },
        View::Calls => {
            let call = (*model.calls().get(row)?).clone();
            Some(calls::summary(&Record { call, said: None }, model.zone, page))
        }
        View::Problems => model.troubles().get(row).map(|row| write_problem(model, row, page)),
    }
}

fn write_item(item: &Item, page: &mut Page) -> String {
    page.fact("Name", &item.name);
    page.fact("Server", &item.server);
    if let Some(cost) = item.cost {
        page.fact("Size", format!("{} tokens", show::group_thousands(cost)));
    }
    page.gap();
    page.text(&item.description, Tone::Plain);
    let (heading, member) = match item.kind {
        ItemKind::Tool => ("Parameters", "inputSchema"),
        ItemKind::Prompt => ("Arguments", "arguments"),
        ItemKind::Resource | ItemKind::Template => return item.title.clone(),
    };
    let schema = item.raw.get(member).ok().flatten();
    if let Some(schema) = schema.and_then(|schema| schema.decode::<serde_json::Value>().ok()) {
        page.heading(heading);
        page.text(&show::block(&schema), Tone::Accent);
    }
    item.title.clone()
}

fn write_problem(model: &Model, row: &ProblemRow<'_>, page: &mut Page) -> String {
    match row {
        ProblemRow::Server(server) => server::page(model, &server.name, page),
        ProblemRow::Approval(case) => review::page(model, &case.name, page),
        ProblemRow::Problem(_) => {
            page.text(&row.why(), Tone::Plain);
            row.title()
        }
    }
}
