//! Draws the model, one file for each view or window.
//!
//! Pure: one model gives one screen. Only visible rows are made, however many there are. Used by `ui`; `app` uses
//! `spot` and `extent` for the mouse and scrolling. It does not change the model.

mod bars;
mod calls;
mod catalog;
mod entry;
mod form;
mod help;
mod page;
mod preview;
mod problems;
mod questions;
mod result;
mod review;
mod server;
mod servers;
mod sparkline;
mod text;
pub(super) mod top;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::Line;

use super::app::{
    Act, Choice, LinkState, Model, Scroll, Typing, View, Window, WindowKind, choice_groups,
};
use page::Page;
use text::Tone;

/// The smallest screen that everything fits on.
const MIN_SCREEN_SIZE: (u16, u16) = (80, 24);

/// The narrowest screen with a preview beside the list.
const MIN_PREVIEW_SCREEN_COLUMNS: u16 = 120;
/// The widest list beside a preview.
const MAX_LIST_COLUMNS: u16 = 116;

/// The areas of the screen.
#[derive(Debug, Clone, Copy)]
struct ScreenLayout {
    tabs: Rect,
    /// Column headings, or the search text.
    head: Rect,
    body: Rect,
    /// Beside the list on a wide screen.
    preview: Option<Rect>,
    choices: Rect,
    message: Rect,
    status: Rect,
}

/// A place that the mouse can click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    Tab(View),
    Row(usize),
    Choice(Act),
}

/// The length of a window's content, and the visible part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) length: usize,
    pub(crate) height: usize,
    pub(crate) offset: usize,
}

/// The content of a window.
struct Content {
    title: String,
    lines: Vec<Line<'static>>,
    /// The focused line, with the column of the cursor.
    focus: Option<(usize, u16)>,
    /// The first line of the call's result.
    outcome: Option<usize>,
}

/// Draws everything; returns the cursor position, if there is one.
pub(crate) fn draw(model: &Model, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area;
    if area.width < MIN_SCREEN_SIZE.0 || area.height < MIN_SCREEN_SIZE.1 {
        too_small(area, buffer);
        return None;
    }
    let frame = ScreenLayout::of(model, area);
    bars::tabs(model, frame.tabs, buffer);
    let mut cursor = match model.window() {
        None => {
            if let Some(area) = frame.preview {
                preview::draw(model, area, buffer);
            }
            list(model, frame, buffer)
        }
        Some(window) => over(model, window, frame, buffer),
    };
    bars::choices(&choice_groups(model), frame.choices, buffer);
    if let Some(at) = bars::message(model, frame.message, buffer) {
        cursor = Some(at);
    }
    bars::status(model, frame.status, buffer);
    cursor
}

/// The number of list rows that fit.
pub(crate) fn rows(model: &Model) -> usize {
    ScreenLayout::of_model(model).body.height.into()
}

/// The clickable place at a position of the screen.
pub(crate) fn spot(model: &Model, column: u16, row: u16) -> Option<Spot> {
    let frame = ScreenLayout::of_model(model);
    let at = Position::new(column, row);
    if frame.tabs.contains(at) {
        return bars::tab_at(model, column).map(Spot::Tab);
    }
    if frame.choices.contains(at) {
        let choice: Option<Choice> = bars::choice_at(&choice_groups(model), frame.choices, at);
        return choice.map(|choice| Spot::Choice(choice.act));
    }
    if !frame.body.contains(at) || !model.windows.is_empty() {
        return None;
    }
    let (length, _) = model.lengths();
    let top = model.list().top(length, frame.body.height.into());
    let row = top + usize::from(row - frame.body.y);
    (row < length).then_some(Spot::Row(row))
}

/// The length and visible part of a window.
pub(crate) fn extent(model: &Model, window: &Window) -> Extent {
    let inner = inner(ScreenLayout::of_model(model));
    measured(window, &content(model, window, inner.width.into()), inner)
}

fn measured(window: &Window, content: &Content, inner: Rect) -> Extent {
    let (length, height) = (content.lines.len(), usize::from(inner.height));
    let lowest = length.saturating_sub(height);
    let offset = match window.scroll {
        Scroll::At(line) => line,
        Scroll::End => lowest,
        // The field, and its problem below.
        Scroll::Focus => content.focus.map_or(0, |(line, _)| (line + 3).saturating_sub(height)),
        Scroll::Outcome => content.outcome.unwrap_or(0),
    };
    Extent { length, height, offset: offset.min(lowest) }
}

fn too_small(area: Rect, buffer: &mut Buffer) {
    let said = format!(
        "The terminal has {}×{} characters; this needs {}×{}.",
        area.width, area.height, MIN_SCREEN_SIZE.0, MIN_SCREEN_SIZE.1
    );
    for (row, line) in (0..area.height).zip(text::wrap(&said, area.width.into())) {
        buffer.set_stringn(area.x, area.y + row, line, area.width.into(), Tone::Plain.style());
    }
}

/// Draws the list of the view.
fn list(model: &Model, frame: ScreenLayout, buffer: &mut Buffer) -> Option<Position> {
    let width = usize::from(frame.body.width);
    let (length, all) = model.lengths();
    let cursor = head(model, (length, all), frame.head, buffer);
    if length == 0 {
        let said = nothing(model, all);
        let mut page = Page::new(width.saturating_sub(4));
        page.text(&said, Tone::Faint);
        let body = frame.body;
        paint(
            &page.lines(),
            0,
            Rect { x: 2, y: body.y + 1, width: body.width.saturating_sub(4), ..body },
            buffer,
        );
        return cursor;
    }
    let height = usize::from(frame.body.height);
    let (top, chosen) = (model.list().top(length, height), model.list().chosen(length));
    let lines = match model.view {
        View::Servers => servers::rows(model, top, height, width),
        View::Tools | View::Prompts | View::Resources => catalog::rows(model, top, height, width),
        View::Questions => questions::rows(model, top, height, width),
        View::Calls => calls::rows(model, top, height, width),
        View::Problems => problems::rows(model, top, height, width),
    };
    paint(&lines, 0, frame.body, buffer);
    let row = u16::try_from(chosen - top).unwrap_or(0);
    let bar = Rect { y: frame.body.y + row, height: 1, ..frame.body };
    buffer.set_style(bar, Tone::Chosen.style());
    cursor
}

/// Draws the column headings, or the search text.
fn head(
    model: &Model,
    (length, all): (usize, usize),
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let find = &model.list().find;
    let is_typing = matches!(model.typing, Typing::Find);
    if is_typing || !find.is_empty() {
        let label = format!("find ({length} of {all}): ");
        buffer.set_stringn(area.x, area.y, &label, area.width.into(), Tone::Strong.style());
        let at = u16::try_from(text::wide(&label)).unwrap_or(0);
        let room = area.width.saturating_sub(at);
        let typed = text::tail(&find.text(), room.saturating_sub(1).into());
        buffer.set_stringn(area.x + at, area.y, &typed, room.into(), Tone::Accent.style());
        let before = text::wide(&text::tail(&find.before(), room.saturating_sub(1).into()));
        let x = area.x + at + u16::try_from(before).unwrap_or(0);
        return is_typing.then_some(Position::new(x, area.y));
    }
    let width = usize::from(area.width);
    let line = match model.view {
        View::Servers => servers::head(width),
        View::Tools | View::Prompts | View::Resources => catalog::head(model.view, width),
        View::Questions => questions::head(width),
        View::Calls => calls::head(width),
        View::Problems => problems::head(width),
    };
    buffer.set_line(area.x, area.y, &line, area.width);
    buffer.set_style(area, Tone::Faint.style());
    None
}

fn nothing(model: &Model, all: usize) -> String {
    let said = match model.view {
        _ if all > 0 => "No match. Press Esc to show everything.",
        _ if !matches!(model.known.link, LinkState::Open) => {
            "No hub. What it serves appears here when it runs."
        }
        View::Servers => {
            "No servers yet. Press n to add one, or run `switchboard setup` to import those of your clients."
        }
        View::Tools => "No tools. The servers that are connected offer none.",
        View::Prompts => "No prompts. The servers that are connected offer none.",
        View::Resources => "No resources. The servers that are connected offer none.",
        View::Questions => {
            "No questions. Questions that your clients cannot show will appear here."
        }
        View::Calls => "No calls yet.",
        View::Problems => "No problems.",
    };
    said.to_owned()
}

/// Draws a window over the list.
fn over(
    model: &Model,
    window: &Window,
    frame: ScreenLayout,
    buffer: &mut Buffer,
) -> Option<Position> {
    let inner = inner(frame);
    let content = content(model, window, inner.width.into());
    let extent = measured(window, &content, inner);
    bars::border(&content.title, extent, outer(frame), buffer);
    paint(&content.lines, extent.offset, inner, buffer);
    let (line, column) = content.focus?;
    let row = line.checked_sub(extent.offset).filter(|row| *row < extent.height)?;
    let (row, column) = (u16::try_from(row).ok()?, column.min(inner.width.saturating_sub(1)));
    Some(Position::new(inner.x + column, inner.y + row))
}

fn content(model: &Model, window: &Window, width: usize) -> Content {
    let mut page = Page::new(width);
    let title = match &window.kind {
        WindowKind::Form(form) => return form::content(form, width),
        WindowKind::Entry(entry) => return entry::content(entry, width),
        WindowKind::Help => help::page(&mut page),
        WindowKind::Server { name } => server::page(model, name, &mut page),
        WindowKind::Log { server, lines } => server::log(server, lines, &mut page),
        WindowKind::Review { name } => review::page(model, name, &mut page),
        WindowKind::Record(record) => calls::page(record, model.zone, &mut page),
        WindowKind::Question { id } => questions::page(model, id, &mut page),
        WindowKind::Json { title, text } => {
            page.text(text, Tone::Accent);
            title.clone()
        }
        WindowKind::SignIn { server, page: at } => server::sign_in(model, server, at, &mut page),
        WindowKind::Remove { server, scope, file } => {
            review::removal(server, scope, file, &mut page)
        }
    };
    Content { title, lines: page.lines(), focus: None, outcome: None }
}

fn outer(frame: ScreenLayout) -> Rect {
    let height = frame.head.height + frame.body.height;
    Rect { y: frame.head.y, height, width: frame.tabs.width, ..frame.body }
}

fn inner(frame: ScreenLayout) -> Rect {
    let outer = outer(frame);
    Rect {
        x: outer.x + 2,
        y: outer.y + 1,
        width: outer.width.saturating_sub(4),
        height: outer.height.saturating_sub(2),
    }
}

/// Draws lines starting at `from`, as many as fit.
fn paint(lines: &[Line<'static>], from: usize, area: Rect, buffer: &mut Buffer) {
    for (row, line) in (0..area.height).zip(lines.iter().skip(from)) {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

// === impl ScreenLayout ===

impl ScreenLayout {
    fn of_model(model: &Model) -> Self {
        Self::of(model, Rect::new(0, 0, model.size.0, model.size.1))
    }

    fn of(model: &Model, area: Rect) -> Self {
        let rows = |y: u16, height: u16| {
            let y = y.min(area.height.saturating_sub(1));
            Rect { y: area.y + y, height: height.min(area.height.saturating_sub(y)), ..area }
        };
        let last = area.height.saturating_sub(1);
        let bars = bars::choice_rows(&choice_groups(model), area.width);
        let body = rows(2, area.height.saturating_sub(4 + bars));
        let has_preview = model.windows.is_empty() && area.width >= MIN_PREVIEW_SCREEN_COLUMNS;
        let list_columns = (area.width * 3 / 5).clamp(1, MAX_LIST_COLUMNS);
        // The two columns between them hold the border.
        let preview = has_preview.then(|| Rect {
            x: area.x + list_columns + 1,
            y: body.y.saturating_sub(1),
            width: area.width.saturating_sub(list_columns + 1),
            height: body.height + 1,
        });
        let width = if has_preview { list_columns } else { area.width };
        Self {
            tabs: rows(0, 1),
            head: Rect { width, ..rows(1, 1) },
            body: Rect { width, ..body },
            preview,
            choices: rows(last.saturating_sub(1 + bars), bars),
            message: rows(last.saturating_sub(1), 1),
            status: rows(last, 1),
        }
    }
}

#[cfg(test)]
mod console_words;
#[cfg(test)]
mod tests;
