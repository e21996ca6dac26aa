//! The state of a list: row under the cursor, scroll position, search text, order, filter, marked rows.
//!
//! Used by `Model`, one for each view. It does not hold the rows.

use std::collections::BTreeSet;

use super::text_line::TextLine;

/// The state of one list. Its length and the visible height are passed with each call.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    chosen: usize,
    top: usize,
    /// The search text.
    pub(crate) find: TextLine,
    /// The index of the sort order among those of the view.
    pub(crate) order: usize,
    /// The state that all shown rows have.
    pub(crate) filter: Option<String>,
    /// The keys of the rows that are marked for actions on several.
    pub(crate) marked: BTreeSet<String>,
}

/// A movement of the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

// === impl List ===

impl List {
    /// The selected row of a list with `length` rows.
    pub(crate) fn chosen(&self, length: usize) -> usize {
        self.chosen.min(length.saturating_sub(1))
    }

    /// The first visible row, if `height` rows fit.
    pub(crate) fn top(&self, length: usize, height: usize) -> usize {
        let (chosen, height) = (self.chosen(length), height.max(1));
        let lowest = (chosen + 1).saturating_sub(height);
        self.top.min(length.saturating_sub(height)).clamp(lowest, chosen)
    }

    pub(crate) fn choose(&mut self, row: usize) {
        self.chosen = row;
    }

    pub(crate) fn go(&mut self, step: Move, length: usize, height: usize) {
        self.top = self.top(length, height);
        let chosen = self.chosen(length);
        let page = height.max(2) - 1;
        self.chosen = match step {
            Move::Up => chosen.saturating_sub(1),
            Move::Down => chosen + 1,
            Move::PageUp => chosen.saturating_sub(page),
            Move::PageDown => chosen + page,
            Move::First => 0,
            Move::Last => length,
        };
        self.chosen = self.chosen(length);
        self.top = self.top(length, height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_row_is_seen() {
        use Move::{Down, First, Last, PageDown, PageUp, Up};
        for (moves, length, chosen, top) in [
            (&[Up][..], 5, 0, 0),
            (&[Down, Down, Down], 5, 3, 1),
            (&[Last], 5, 4, 2),
            (&[Last, Up], 5, 3, 2),
            (&[Last, Up, Up, Up], 5, 1, 1),
            (&[PageDown], 5, 2, 0),
            (&[PageDown, PageDown, PageUp], 10, 2, 2),
            (&[Last, First], 10, 0, 0),
            (&[Down, Last], 0, 0, 0),
        ] {
            let mut list = List::default();
            for step in moves {
                list.go(*step, length, 3);
            }
            assert_eq!((list.chosen(length), list.top(length, 3)), (chosen, top), "{moves:?}");
        }
        // A list that has become shorter.
        let mut list = List::default();
        list.go(Last, 100, 10);
        assert_eq!((list.chosen(5), list.top(5, 10)), (4, 0));
    }
}
