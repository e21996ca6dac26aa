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
        let waits = view == View::Queue && !model.known.questions.is_empty();
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
            View::Queue => model.known.questions.len(),
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

/// The available actions, each with its key.
pub(super) fn choices(choices: &[Choice], area: Rect, buffer: &mut Buffer) {
    for (choice, column) in spread(choices) {
        if column + wide(choice.key) + 1 + wide(choice.label) > usize::from(area.width) {
            break;
        }
        let at = area.x + u16::try_from(column).unwrap_or(0);
        let (next, _) =
            buffer.set_stringn(at, area.y, choice.key, area.width.into(), Tone::Strong.style());
        buffer.set_stringn(next + 1, area.y, choice.label, area.width.into(), Tone::Faint.style());
    }
}

/// The action in this column.
pub(super) fn choice_at(choices: &[Choice], area: Rect, column: u16) -> Option<Choice> {
    let column = usize::from(column.checked_sub(area.x)?);
    let hit = |(choice, at): &(&Choice, usize)| {
        (*at..at + wide(choice.key) + 1 + wide(choice.label)).contains(&column)
    };
    spread(choices).find(hit).map(|(choice, _)| choice.clone())
}

fn spread(choices: &[Choice]) -> impl Iterator<Item = (&Choice, usize)> {
    choices.iter().scan(1, |column, choice| {
        let at = *column;
        *column += wide(choice.key) + 1 + wide(choice.label) + 2;
        Some((choice, at))
    })
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
        LinkState::Opening => "… looking for the hub".to_owned(),
        LinkState::Lost { why } => format!("✘ no hub: {why}; looking for it"),
        LinkState::Open => {
            let questions = match model.known.questions.len() {
                0 => String::new(),
                waiting => format!(" · {}", show::count(waiting, "question")),
            };
            format!(
                "✔ hub {} ({}) · {} · {} in flight{questions}",
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
        let said = format!(" {} to {seen} of {} ", extent.offset + 1, extent.length);
        let at = right.saturating_sub(u16::try_from(wide(&said)).unwrap_or(0) + 1);
        buffer.set_stringn(at, bottom, said, area.width.into(), style);
    }
}
