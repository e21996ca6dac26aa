//! The notes that stand in a result in place of text that was spilled or cut.
//!
//! Used by `results::spill` and `results::cut`. Written for a model first, for a person second.

use super::{
    ResultAddress, SpillMode, SpilledFile,
    content::{PartKind, ResultContent},
    size::{TextSize, group_thousands},
    text,
};

/// How many characters of the text the note shows at most.
const MAX_PREVIEW_CHARS: usize = 2_000;
/// How many characters of the text the note shows at least, if any.
const MIN_PREVIEW_CHARS: usize = 20;

/// The note for text that went to a file, cut to `limit` characters, but always with the file's place.
pub(super) fn spill_note(
    content: &ResultContent,
    size: TextSize,
    spill: SpillMode,
    spilled: &SpilledFile,
    limit: usize,
) -> String {
    let (place, advice) = match spill {
        SpillMode::Uri => {
            let uri = ResultAddress::whole(&spilled.id);
            let advice = format!(
                "All of it is at {uri}\nTo read more, read that resource in parts: {}, or search it: {}",
                uri.part(0, 50_000),
                uri.search("TEXT"),
            );
            (uri.to_string(), advice)
        }
        SpillMode::Path | SpillMode::Off => {
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

/// The note, and below it as much of the beginning of the text as fits.
fn with_preview(note: &str, content: &ResultContent, limit: usize) -> Option<String> {
    let label = |chars| format!("\n\nThe first {} characters:\n", count(chars));
    let frame = note.chars().count() + label(MAX_PREVIEW_CHARS).chars().count();
    let room = limit.checked_sub(frame).filter(|room| *room >= MIN_PREVIEW_CHARS)?;
    let shown = preview(content, room.min(MAX_PREVIEW_CHARS));
    Some(format!("{note}{}{shown}", label(shown.chars().count())))
}

/// The beginning of the text, cut at a line break where most of the text remains.
fn preview(content: &ResultContent, most: usize) -> String {
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
pub(super) fn cut_note(shown: usize, all: usize) -> String {
    format!("[output truncated: {} of {} characters shown]", count(shown), count(all))
}

fn count(number: usize) -> String {
    group_thousands(number as u64)
}
