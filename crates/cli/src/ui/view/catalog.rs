//! The Tools, Prompts and Resources views, one line for each item.
//!
//! Used by `view`.

use ratatui_core::text::Line;

use super::text::{Cell, Tone, Width, row};
use crate::ui::app::{Item, ItemKind, Model, View};

/// The width of the name column on a screen this wide.
fn name(width: usize) -> Width {
    Width::Columns((width / 3).clamp(20, 48))
}

pub(super) fn head(view: View, width: usize) -> Line<'static> {
    let (what, cost) = match view {
        View::Prompts => ("PROMPT", ""),
        View::Resources => ("RESOURCE", ""),
        _ => ("TOOL", "TOKENS"),
    };
    let cells = [
        Cell::new(what, name(width), Tone::Faint),
        Cell::new("SERVER", Width::Columns(14), Tone::Faint),
        Cell::new(cost, Width::Columns(6), Tone::Faint),
        Cell::new("DESCRIPTION", Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Line<'static>> {
    let marked = &model.list().marked;
    let line = |item: &Item| one(item, marked.contains(&item.name), width);
    model.items().into_iter().skip(top).take(height).map(line).collect()
}

fn one(item: &Item, is_marked: bool, width: usize) -> Line<'static> {
    let title = if is_marked { format!("» {}", item.title) } else { item.title.clone() };
    let cost = match item.kind {
        ItemKind::Template => "any".to_owned(),
        _ => item.cost.map(|cost| format!("{cost:>6}")).unwrap_or_default(),
    };
    let cells = [
        Cell::new(title, name(width), Tone::Strong),
        Cell::new(&item.server, Width::Columns(14), Tone::Plain),
        Cell::new(cost, Width::Columns(6), Tone::Plain),
        Cell::new(item.description.lines().next().unwrap_or_default(), Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}
