//! Writes all text of a result to a file, whole and in order.
//!
//! Used by `results` when text is beyond the limit. The file is made by `results::store`, the note by
//! `results::note`.

use std::io::{self, Write};

use super::{
    ResultStoreError, SpillMode, SpillTarget, SpilledFile,
    content::{PartKind, ResultContent},
    note, pretty,
    size::TextSize,
    text,
};

/// Writes all text of `content` to a file. Returns the note that takes its place, within `limit` characters where
/// they suffice, and the file.
pub(super) fn spill(
    content: &ResultContent,
    size: TextSize,
    form: SpillMode,
    place: &SpillTarget,
    limit: usize,
) -> Result<(String, SpilledFile), ResultStoreError> {
    let has_text = content.parts.iter().any(super::content::ContentPart::is_text);
    let extension = if has_text { "txt" } else { "json" };
    let spilled = place.store.keep(&place.owner, extension, |out| write(content, out))?;
    Ok((note::spill_note(content, size, form, &spilled, limit), spilled))
}

/// Writes one text byte for byte; several texts with a numbered heading each.
fn write(content: &ResultContent, out: &mut dyn Write) -> io::Result<()> {
    let mut out = out;
    let several = content.parts.len() + usize::from(content.structured.is_some()) > 1;
    for (at, part) in content.parts.iter().enumerate() {
        if several {
            let what = match &part.kind {
                PartKind::Text { .. } => "text".to_owned(),
                PartKind::Image { .. } => "image, left in the result".to_owned(),
                PartKind::Blob { .. } => "binary, left in the result".to_owned(),
                PartKind::Other { kind } => format!("{kind:?}, left in the result"),
            };
            head(out, at, &format!("item {} ({what})", at + 1))?;
        }
        if let PartKind::Text { text } = &part.kind {
            text::each_piece(text, |piece| out.write_all(piece.as_bytes()))?;
        }
    }
    if let Some(structured) = content.structured {
        if several {
            head(out, content.parts.len(), "structured content")?;
        }
        pretty::write(structured, &mut out)?;
    }
    Ok(())
}

fn head(out: &mut dyn Write, at: usize, what: &str) -> io::Result<()> {
    let before = if at == 0 { "" } else { "\n\n" };
    write!(out, "{before}--- {what} ---\n\n")
}
