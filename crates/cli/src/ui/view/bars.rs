//! The bars of the screen: tabs above; actions, message and hub status below; and borders of windows.
//!
//! Used by `view`. The actions are listed in `app::act`.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Modifier;

use super::Extent;
use super::text::{Tone, clean, cut, tail, wide};
use crate::show;
use crate::ui::app::{Choice, LinkState, Model, Notice, Typing, View, troubles};

/// The tabs, each with its number and the count of waiting items.
pub(super) fn tabs(model: &Model, area: Rect, buffer: &mut Buffer) {
    for (view, column, label) in placed(model) {
        let tone = if view == model.view { Tone::Chosen } else { Tone::Plain };
        let waits = view == View::Questions && !model.known.questions.is_empty();
        let style =
            tone.style().add_modifier(if waits { Modifier::BOLD } else { Modifier::empty() });
        let room = usize::from(area.width).saturating_sub(column);
        let at = area.x + u16::try_from(column).unwrap_or(0);
        buffer.set_stringn(at, area.y, label, room, style);
    }
}

/// The view with its tab in this column.
pub(super) fn tab_at(model: &Model, column: u16) -> Option<View> {
    let column = usize::from(column);
    let hit = |(_, at, label): &(View, usize, String)| (*at..*at + wide(label)).contains(&column);
    placed(model).into_iter().find(hit).map(|(view, ..)| view)
}

fn placed(model: &Model) -> Vec<(View, usize, String)> {
    let mut column = 1;
    let place = |(number, view): (usize, &View)| {
        let waiting = match view {
            View::Questions => model.known.questions.len(),
            View::Problems => troubles(&model.known).len(),
            _ => 0,
        };
        let label = match waiting {
            0 => format!("{} {}", number + 1, view.title()),
            waiting => format!("{} {} ({waiting})", number + 1, view.title()),
        };
        let at = column;
        column += wide(&label) + 1;
        (*view, at, label)
    };
    View::ALL.iter().enumerate().map(place).collect()
}

/// The available actions, each with its key; as many rows as they need.
pub(super) fn choices(groups: &[Vec<Choice>], area: Rect, buffer: &mut Buffer) {
    for (choice, row, column) in spread(groups, area.width) {
        if row >= area.height {
            break;
        }
        let (x, y) = (area.x + column, area.y + row);
        let room = usize::from(area.width.saturating_sub(column));
        let (next, _) = buffer.set_stringn(x, y, choice.key, room, Tone::Strong.style());
        let room = usize::from(area.right().saturating_sub(next + 1));
        buffer.set_stringn(next + 1, y, choice.label, room, Tone::Faint.style());
    }
}

/// The number of rows that the actions need.
pub(super) fn choice_rows(groups: &[Vec<Choice>], width: u16) -> u16 {
    spread(groups, width).last().map_or(1, |(_, row, _)| row + 1)
}

/// The action at this place.
pub(super) fn choice_at(groups: &[Vec<Choice>], area: Rect, at: Position) -> Option<Choice> {
    let (column, row) = (at.x.checked_sub(area.x)?, at.y.checked_sub(area.y)?);
    let hit = |(choice, in_row, from): &(&Choice, u16, u16)| {
        *in_row == row && (*from..*from + width_of(choice)).contains(&column)
    };
    spread(groups, area.width).find(hit).map(|(choice, ..)| choice.clone())
}

/// Each action with its row and column. Each group begins a new row.
fn spread(groups: &[Vec<Choice>], width: u16) -> impl Iterator<Item = (&Choice, u16, u16)> {
    let (mut row, mut column) = (0, 1);
    groups.iter().flat_map(|group| group.iter().enumerate()).map(move |(number, choice)| {
        let is_full = column + width_of(choice) > width;
        if column > 1 && (number == 0 || is_full) {
            (row, column) = (row + 1, 1);
        }
        let at = column;
        column += width_of(choice) + 2;
        (choice, row, at)
    })
}

fn width_of(choice: &Choice) -> u16 {
    u16::try_from(wide(choice.key) + 1 + wide(choice.label)).unwrap_or(u16::MAX)
}

/// The command line, or the latest message. Returns the cursor position.
pub(super) fn message(model: &Model, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let room = usize::from(area.width);
    if let Typing::Line(line) = &model.typing {
        buffer.set_stringn(area.x, area.y, ":", room, Tone::Strong.style());
        let room = room.saturating_sub(2);
        let before = tail(&line.before(), room);
        buffer.set_stringn(area.x + 1, area.y, tail(&line.text(), room), room, Tone::Plain.style());
        let column = u16::try_from(wide(&before)).unwrap_or(0);
        if let Some(Notice::Good(ways)) = &model.notice {
            let from = u16::try_from(wide(&line.text())).unwrap_or(0) + 4;
            let room = area.width.saturating_sub(from);
            let ways = cut(&clean(ways), room.into());
            buffer.set_stringn(area.x + from, area.y, ways, room.into(), Tone::Faint.style());
        }
        return Some(Position::new(area.x + 1 + column, area.y));
    }
    let (text, tone) = match &model.notice {
        Some(Notice::Good(text)) => (format!("✔ {text}"), Tone::Good),
        Some(Notice::Bad(text)) => (format!("✘ {text}"), Tone::Bad),
        None if model.windows.is_empty() => match model.list_summary() {
            Some(summary) => (summary, Tone::Accent),
            None => return None,
        },
        None => return None,
    };
    let text = cut(&clean(&text), room.saturating_sub(1));
    buffer.set_stringn(area.x + 1, area.y, text, room, tone.style());
    None
}

/// The status of the hub.
pub(super) fn status(model: &Model, area: Rect, buffer: &mut Buffer) {
    let hub = &model.known.hub;
    let text = match &model.known.link {
        LinkState::Opening => "… connecting to the hub".to_owned(),
        LinkState::Lost { why } => format!("✘ no hub: {why}; retrying"),
        LinkState::Open => {
            let questions = match model.known.questions.len() {
                0 => String::new(),
                waiting => format!(" · {}", show::count(waiting, "question")),
            };
            format!(
                "✔ hub {} ({}) · {} · {} running{questions}",
                hub.pid,
                hub.version,
                show::count(hub.clients, "client"),
                show::count(hub.calls, "call"),
            )
        }
    };
    let text = format!(
        " {:width$}",
        cut(&clean(&text), usize::from(area.width).saturating_sub(2)),
        width = usize::from(area.width)
    );
    buffer.set_stringn(area.x, area.y, text, area.width.into(), Tone::Chosen.style());
}

/// A border with a title above and the scroll position below.
pub(super) fn border(title: &str, extent: Extent, area: Rect, buffer: &mut Buffer) {
    let (left, right) = (area.x, area.right().saturating_sub(1));
    let (top, bottom) = (area.y, area.bottom().saturating_sub(1));
    let across = "─".repeat(usize::from(area.width).saturating_sub(2));
    let style = Tone::Faint.style();
    for (row, corners) in [(top, ["┌", "┐"]), (bottom, ["└", "┘"])] {
        let line = format!("{}{across}{}", corners[0], corners[1]);
        buffer.set_stringn(left, row, line, area.width.into(), style);
    }
    for row in top + 1..bottom {
        buffer.set_stringn(left, row, "│", 1, style);
        buffer.set_stringn(right, row, "│", 1, style);
    }
    let title = format!(" {} ", cut(&clean(title), usize::from(area.width).saturating_sub(8)));
    buffer.set_stringn(left + 2, top, title, area.width.into(), Tone::Strong.style());
    if extent.length > extent.height {
        let seen = (extent.offset + extent.height).min(extent.length);
        let said = format!(" lines {} to {seen} of {} ", extent.offset + 1, extent.length);
        let at = right.saturating_sub(u16::try_from(wide(&said)).unwrap_or(0) + 1);
        buffer.set_stringn(at, bottom, said, area.width.into(), style);
    }
}
