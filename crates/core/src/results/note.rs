//! What a result says in the place of what is gone. A model reads it first, a person second.

use super::{
    Address, Spill, Spilled,
    content::{Content, PartKind},
    size::{Size, grouped},
    text,
};

/// How many characters of the text are shown at most.
const PREVIEW: usize = 2_000;
/// And at least, where any are.
const MIN_PREVIEW: usize = 20;

/// The note for text that became a file, as much of it as `limit` characters hold, and never less than its place.
pub(super) fn spilled(
    content: &Content,
    size: Size,
    spill: Spill,
    spilled: &Spilled,
    limit: usize,
) -> String {
    let (place, advice) = match spill {
        Spill::Uri => {
            let uri = Address::whole(&spilled.id);
            let advice = format!(
                "All of it is at {uri}\nTo read more, read that resource in parts: {}, or search it: {}",
                uri.part(0, 50_000),
                uri.search("TEXT"),
            );
            (uri.to_string(), advice)
        }
        Spill::Path | Spill::Off => {
            let path = spilled.path.display().to_string();
            let advice = format!(
                "All of it is in {path}\nTo read more, read that file in parts or search it."
            );
            (path, advice)
        }
    };
    let (chars, lines) = (count(size.chars), count(size.lines()));
    let whole = format!(
        "The result is {chars} characters in {lines} lines, too large to show here. {advice}"
    );
    let short = format!("[{chars} characters, too large to show: {place}]");
    let fits = |note: &String| note.chars().count() <= limit;
    with_preview(&whole, content, limit)
        .or_else(|| [whole, short].into_iter().find(fits))
        .unwrap_or(place)
}

/// The note, and below it as much of the beginning of the text as there is room for.
fn with_preview(note: &str, content: &Content, limit: usize) -> Option<String> {
    let label = |chars| format!("\n\nThe first {} characters:\n", count(chars));
    let frame = note.chars().count() + label(PREVIEW).chars().count();
    let room = limit.checked_sub(frame).filter(|room| *room >= MIN_PREVIEW)?;
    let shown = preview(content, room.min(PREVIEW));
    Some(format!("{note}{}{shown}", label(shown.chars().count())))
}

/// The beginning of the text, cut at the end of a line where that leaves most of it.
fn preview(content: &Content, most: usize) -> String {
    let texts = content.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text } => Some(text),
        _ => None,
    });
    let mut shown = texts.map(|text| text::start(text, most)).find(|text| !text.is_empty());
    if shown.is_none() {
        shown = content.structured.map(|json| json.chars().take(most).collect());
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
