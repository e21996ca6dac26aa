//! Cuts the text of a result at the limit, where it cannot be spilled to a file.
//!
//! Used by `results` when there is no store, the policy is `SpillMode::Off`, or the disk fails.

use std::borrow::Cow;

use super::{
    LimitedResult,
    content::{PartKind, ResultContent, StructuredContent},
    note,
    size::TextSize,
    text,
};

/// Returns the result with as much text as the limit allows, and a marker.
pub(super) fn cut(
    content: &ResultContent,
    size: TextSize,
    limit: usize,
    mut kept: LimitedResult,
) -> LimitedResult {
    let longest_marker = note::cut_note(size.chars, size.chars).chars().count();
    let room = limit.saturating_sub(longest_marker);
    let mut left = room;
    let mut items: Vec<Cow<'_, str>> = Vec::new();
    for part in &content.parts {
        let PartKind::Text { text } = &part.kind else {
            items.push(part.item.as_ref().into());
            continue;
        };
        let chars = text::size(text).chars;
        if chars <= left {
            items.push(part.item.as_ref().into());
        } else if left > 0 {
            let start = text::start(text, left);
            items.push(content.text_item(&start).to_string().into());
        }
        left = left.saturating_sub(chars);
    }
    // Structured content is kept whole or left out.
    let structured = match content.structured {
        Some(json) if TextSize::of(json).chars > left => StructuredContent::Goes,
        Some(json) => {
            left -= TextSize::of(json).chars;
            StructuredContent::Stays
        }
        None => StructuredContent::Stays,
    };
    let marker = note::cut_note(room - left, size.chars);
    items.push(content.text_item(&marker).to_string().into());
    kept.truncated = true;
    kept.note = Some(marker);
    content.with_items(items.iter().map(AsRef::as_ref), structured, kept)
}
