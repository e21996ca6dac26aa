//! Key bindings: the action of a key in the current view, window or text field.
//!
//! Used by `app::update`. The actions of each place are listed in `app::act`.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::ui::app::{Act, Model, Move, Typing, View, WindowKind, choices};

/// The control key.
pub(crate) const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

/// The meaning of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Press {
    Act(Act),
    /// The key edits text.
    Typed,
}

/// The meaning of a key; `None` if it has none here.
pub(crate) fn key_meaning(model: &Model, key: KeyEvent) -> Option<Press> {
    if let Some(act) = everywhere(key) {
        return Some(Press::Act(act));
    }
    if !matches!(model.typing, Typing::Nowhere) {
        return Some(match key.code {
            KeyCode::Esc => Press::Act(Act::Close),
            _ => Press::Typed,
        });
    }
    let name = name(key);
    let choices = choices(model);
    let chosen = choices.into_iter().find(|choice| choice.key == name);
    match model.window().map(|window| &window.kind) {
        Some(WindowKind::Form(_) | WindowKind::Entry(_)) => match page(key) {
            Some(step) => Some(Press::Act(Act::Go(step))),
            // In a text field, letters are text, not actions.
            None => Some(chosen.map_or(Press::Typed, |choice| Press::Act(choice.act))),
        },
        Some(_) => {
            let act = chosen.map(|choice| choice.act).or_else(|| movement(key));
            act.or_else(|| (name == "q").then_some(Act::Close)).map(Press::Act)
        }
        None => {
            let act = chosen.map(|choice| choice.act).or_else(|| in_view(key, &name));
            act.or_else(|| movement(key)).map(Press::Act)
        }
    }
}

fn everywhere(key: KeyEvent) -> Option<Act> {
    match (key.code, key.modifiers.contains(CONTROL)) {
        (KeyCode::Char('c'), true) => Some(Act::Quit),
        (KeyCode::Char('z'), true) => Some(Act::Suspend),
        (KeyCode::Char('l'), true) => Some(Act::Redraw),
        _ => None,
    }
}

fn in_view(key: KeyEvent, name: &str) -> Option<Act> {
    match (key.code, name) {
        (KeyCode::Tab | KeyCode::Right, _) => Some(Act::NextView),
        (KeyCode::BackTab | KeyCode::Left, _) => Some(Act::ViewBefore),
        (KeyCode::Enter, _) => Some(Act::Open),
        (KeyCode::Esc, _) => Some(Act::Close),
        (_, "@") => Some(Act::Command("@")),
        (KeyCode::Char(digit @ '1'..='7'), _) => {
            Some(Act::Turn(View::ALL[usize::from(digit as u8 - b'1')]))
        }
        _ => None,
    }
}

fn movement(key: KeyEvent) -> Option<Act> {
    let step = match key.code {
        KeyCode::Up | KeyCode::Char('k') => Move::Up,
        KeyCode::Down | KeyCode::Char('j') => Move::Down,
        KeyCode::Char(' ') => Move::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Move::First,
        KeyCode::End | KeyCode::Char('G') => Move::Last,
        _ => page(key)?,
    };
    Some(Act::Go(step))
}

fn page(key: KeyEvent) -> Option<Move> {
    match key.code {
        KeyCode::PageUp => Some(Move::PageUp),
        KeyCode::PageDown => Some(Move::PageDown),
        _ => None,
    }
}

/// The name of the key as the bar at the bottom shows it.
fn name(key: KeyEvent) -> String {
    match key.code {
        KeyCode::Char(letter) if key.modifiers.contains(CONTROL) => {
            format!("^{}", letter.to_ascii_uppercase())
        }
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        _ => String::new(),
    }
}
