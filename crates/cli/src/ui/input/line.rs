//! Editing of the command line: keys, history, completion.
//!
//! Used by `app::update` while the command line is open. Parsing is in `input::command`.

use crossterm::event::{KeyCode, KeyEvent};

use super::complete;
use crate::ui::app::{Effect, Model, Notice, TextLine, Typing};

impl Model {
    /// Handles a key on the command line.
    pub(crate) fn press_line(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Typing::Line(line) = &mut self.typing else { return Vec::new() };
        match key.code {
            KeyCode::Enter => {
                let text = line.text().trim().to_owned();
                self.typing = Typing::Nowhere;
                if text.is_empty() {
                    return Vec::new();
                }
                self.history.push(&text);
                let mut effects = vec![Effect::Remember(text.clone())];
                effects.extend(self.run(&text));
                return effects;
            }
            KeyCode::Up => {
                if let Some(older) = self.history.older() {
                    *line = TextLine::new(older);
                }
            }
            KeyCode::Down => *line = TextLine::new(self.history.newer()),
            KeyCode::Tab => self.complete_line(),
            KeyCode::Backspace if line.is_empty() => self.typing = Typing::Nowhere,
            _ => drop(line.press(key)),
        }
        Vec::new()
    }

    /// Completes the line as far as it is unambiguous; otherwise shows the possible completions.
    fn complete_line(&mut self) {
        let Typing::Line(line) = &mut self.typing else { return };
        let before = line.before();
        let ways = complete(&before, &self.known);
        let common = common(&ways);
        if common.len() > before.len() {
            let rest = line.text().split_off(before.len());
            *line = TextLine::new(&common);
            for letter in rest.chars() {
                line.paste(&letter.to_string());
            }
        }
        if ways.len() > 1 {
            let ends: Vec<_> = ways.iter().map(|way| last_word(way)).collect();
            self.notice = Some(Notice::Good(ends.join("  ")));
        }
    }
}

/// The common prefix of all completions.
fn common(ways: &[String]) -> String {
    let Some((first, others)) = ways.split_first() else { return String::new() };
    let same = |at: usize, letter: char| others.iter().all(|way| way[at..].starts_with(letter));
    let fits = |(at, letter): &(usize, char)| {
        others.iter().all(|way| way.is_char_boundary(*at) && *at < way.len()) && same(*at, *letter)
    };
    first.char_indices().take_while(fits).map(|(_, letter)| letter).collect()
}

fn last_word(way: &str) -> &str {
    way.trim_end().rsplit(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ways_have_in_common() {
        for (ways, expected) in [
            (&["/mcp enable ", "/mcp disable "][..], "/mcp "),
            (&["abc"], "abc"),
            (&["añb", "añc"], "añ"),
            (&["a", "ab"], "a"),
            (&["x", "y"], ""),
            (&[], ""),
        ] {
            let ways: Vec<_> = ways.iter().map(|way| (*way).to_owned()).collect();
            assert_eq!(common(&ways), expected, "{ways:?}");
        }
    }
}
