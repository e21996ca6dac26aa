//! The Problems view, one line for each problem with its cause and remedy.
//!
//! Used by `view`. The rows come from `app::problems`.

use ratatui_core::text::Line;

use super::text::{Cell, Tone, Width, row};
use crate::ui::app::{Model, ProblemRow};

/// The width of the problem column on a screen this wide.
fn what(width: usize) -> Width {
    Width::Columns((width * 2 / 5).clamp(30, 60))
}

pub(super) fn head(width: usize) -> Line<'static> {
    let cells = [
        Cell::new("  PROBLEM", what(width), Tone::Faint),
        Cell::new("CAUSE", Width::Rest, Tone::Faint),
    ];
    row(&cells, width)
}

pub(super) fn rows(model: &Model, top: usize, height: usize, width: usize) -> Vec<Line<'static>> {
    let troubles = model.troubles();
    troubles.into_iter().skip(top).take(height).map(|trouble| one(&trouble, width)).collect()
}

fn one(trouble: &ProblemRow<'_>, width: usize) -> Line<'static> {
    let (symbol, tone) = match trouble {
        ProblemRow::Server(server)
            if matches!(&*server.state, "needs-auth" | "awaiting-approval") =>
        {
            ('!', Tone::Warn)
        }
        ProblemRow::Server(_) => ('✘', Tone::Bad),
        ProblemRow::Approval(_) => ('⏸', Tone::Warn),
        ProblemRow::Problem(_) => ('!', Tone::Warn),
    };
    let cells = [
        Cell::new(format!("{symbol} {}", trouble.title()), what(width), tone),
        Cell::new(trouble.why(), Width::Rest, Tone::Plain),
    ];
    row(&cells, width)
}
