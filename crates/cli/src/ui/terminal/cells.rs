//! Writes cells to the terminal as escape sequences: position, style, text.
//!
//! Used by `terminal` for the difference of two screens.

use std::io::{self, Write};

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetForegroundColor};
use ratatui_core::buffer::Cell;
use ratatui_core::style::{Color as Wanted, Modifier};

use super::Palette;

/// The modifiers in use, with their terminal attributes.
const MODIFIERS: [(Modifier, Attribute); 3] = [
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::DIM, Attribute::Dim),
    (Modifier::REVERSED, Attribute::Reverse),
];

/// Writes cells. Neighbours with one style need only their letters.
pub(super) fn write<'a>(
    out: &mut impl Write,
    cells: impl IntoIterator<Item = (u16, u16, &'a Cell)>,
    palette: Palette,
) -> io::Result<()> {
    let mut at = None;
    let mut style = None;
    for (x, y, cell) in cells {
        if at != Some((x, y)) {
            queue!(out, MoveTo(x, y))?;
        }
        if style != Some((cell.fg, cell.modifier)) {
            dress(out, cell, palette)?;
            style = Some((cell.fg, cell.modifier));
        }
        queue!(out, Print(cell.symbol()))?;
        let width = unicode_width::UnicodeWidthStr::width(cell.symbol());
        at = Some((x + u16::try_from(width).unwrap_or(1).max(1), y));
    }
    queue!(out, SetAttribute(Attribute::Reset))
}

fn dress(out: &mut impl Write, cell: &Cell, palette: Palette) -> io::Result<()> {
    queue!(out, SetAttribute(Attribute::Reset))?;
    for (modifier, attribute) in MODIFIERS {
        if cell.modifier.contains(modifier) {
            queue!(out, SetAttribute(attribute))?;
        }
    }
    match (palette, colour(cell.fg)) {
        (Palette::Colours, Some(colour)) => queue!(out, SetForegroundColor(colour)),
        _ => Ok(()),
    }
}

/// The colours in use; the terminal chooses their shades.
fn colour(wanted: Wanted) -> Option<Color> {
    match wanted {
        Wanted::Green => Some(Color::DarkGreen),
        Wanted::Yellow => Some(Color::DarkYellow),
        Wanted::Red => Some(Color::DarkRed),
        Wanted::Cyan => Some(Color::DarkCyan),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::buffer::Buffer;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    use super::*;

    fn written(palette: Palette) -> String {
        let area = Rect::new(0, 0, 6, 1);
        let mut next = Buffer::empty(area);
        next.set_string(0, 0, "a日", Style::new());
        next.set_string(4, 0, "x", Style::new().fg(Wanted::Red).add_modifier(Modifier::BOLD));
        let mut out = Vec::new();
        write(&mut out, Buffer::empty(area).diff(&next), palette).unwrap();
        String::from_utf8(out).unwrap().replace('\u{1b}', "^")
    }

    #[test]
    fn only_what_differs_is_written() {
        let plain = "^[1;1H^[0ma日^[1;5H^[0m^[1mx^[0m";
        assert_eq!(written(Palette::Plain), plain);
        let coloured = "^[1;1H^[0ma日^[1;5H^[0m^[1m^[38;5;1mx^[0m";
        assert_eq!(written(Palette::Colours), coloured);
    }
}
