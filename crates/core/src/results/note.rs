//! What a result says in the place of what is gone. A model reads it first, a person second.

use super::{
    Address, Spill, Spilled,
    content::{Content, PartKind},
    size::{Size, grouped},
    text,
};

/// How much of the text is shown.
const PREVIEW: usize = 2_000;

/// The note for text that became a file.
pub(super) fn spilled(content: &Content, size: Size, spill: Spill, spilled: &Spilled) -> String {
    let size = format!("{} characters in {} lines", count(size.chars), count(size.lines()));
    let place = match spill {
        Spill::Uri => {
            let uri = Address::whole(&spilled.id);
            format!(
                "All of it is at {uri}\nTo read more, read that resource in parts: {}, or search it: {}",
                uri.part(0, 50_000),
                uri.search("TEXT"),
            )
        }
        Spill::Path | Spill::Off => format!(
            "All of it is in {}\nTo read more, read that file in parts or search it.",
            spilled.path.display()
        ),
    };
    let shown = preview(content);
    let label = format!("The first {} characters:", count(shown.chars().count()));
    format!("The result is {size}, too large to show here. {place}\n\n{label}\n{shown}")
}

/// The beginning of the text, cut at the end of a line where that leaves most of it.
fn preview(content: &Content) -> String {
    let texts = content.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text } => Some(text),
        _ => None,
    });
    let mut shown = texts.map(|text| text::start(text, PREVIEW)).find(|text| !text.is_empty());
    if shown.is_none() {
        shown = content.structured.map(|json| json.chars().take(PREVIEW).collect());
    }
    let mut shown = shown.unwrap_or_default();
    if let Some(end) = shown.rfind('\n').filter(|end| *end > shown.len() / 2) {
        shown.truncate(end);
    }
    shown
}

/// The marker at the end of text that was cut.
pub(super) fn cut(shown: usize, all: usize) -> String {
    format!("[output truncated: {} of {} characters shown]", count(shown), count(all))
}

fn count(number: usize) -> String {
    grouped(number as u64)
}
