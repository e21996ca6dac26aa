//! Writes binary blobs of a result to files, and puts a note in their place.
//!
//! Used by `results` where the policy is `BlobPolicy::ToDisk`. Images are handled before, in `results::image`.

use base64::Engine as _;
use switchboard_wire::sanitize;

use super::{
    ResultStoreError, SpillTarget, SpilledFile,
    content::{PartKind, ResultContent},
    size::group_thousands,
    text,
};

/// File extensions by MIME type.
const EXTENSIONS_BY_MIME: [(&str, &str); 22] = [
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/xml", "xml"),
    ("application/wasm", "wasm"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// The first bytes of some file formats, with their extension.
const MAGIC_BYTES: [(&[u8], &str); 9] = [
    (b"%PDF-", "pdf"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gz"),
    (b"\x89PNG\r\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF8", "gif"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"\0asm", "wasm"),
];

/// Writes every blob of `content` to a file and puts a note in its place. A blob that is not base64 stays. After
/// the first write error the remaining blobs stay too.
pub(super) fn spill_blobs(
    content: &mut ResultContent<'_>,
    place: &SpillTarget,
) -> Result<(), ResultStoreError> {
    for at in 0..content.parts.len() {
        let PartKind::Blob { blob, mime, uri } = &content.parts[at].kind else { continue };
        let Some(bytes) = decode_base64(blob) else { continue };
        let extension = extension(mime, &bytes);
        let spilled = place.store.keep(&place.owner, extension, |out| out.write_all(&bytes))?;
        let (note, uri) = (note(&spilled, mime, uri), uri.clone());
        content.replace_by_text(at, &note, &uri);
    }
    Ok(())
}

fn note(spilled: &SpilledFile, mime: &str, uri: &str) -> String {
    let kind = if mime.is_empty() { "binary data" } else { mime };
    format!(
        "{} ({}, {} bytes) is in {}",
        sanitize::sanitize_line(uri),
        sanitize::sanitize_line(kind),
        group_thousands(spilled.bytes),
        spilled.path.display()
    )
}

/// Decodes a JSON string that holds base64.
pub(super) fn decode_base64(quoted: &str) -> Option<Vec<u8>> {
    let inner = quoted.trim_matches('"');
    if memchr::memchr2(b'\\', b'\n', inner.as_bytes()).is_none() {
        return LENIENT_BASE64.decode(inner).ok();
    }
    // Line breaks and escaped slashes are rare, but allowed.
    let mut plain = text::start(quoted, usize::MAX);
    plain.retain(|c| !c.is_ascii_whitespace());
    LENIENT_BASE64.decode(plain).ok()
}

/// Accepts base64 with and without padding: servers differ.
const LENIENT_BASE64: base64::engine::GeneralPurpose = base64::engine::GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    base64::engine::GeneralPurposeConfig::new()
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

fn extension(mime: &str, bytes: &[u8]) -> &'static str {
    let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let named = EXTENSIONS_BY_MIME.iter().find(|(name, _)| *name == mime);
    let begun = || MAGIC_BYTES.iter().find(|(start, _)| bytes.starts_with(start));
    named.map(|(_, extension)| *extension).or_else(|| begun().map(|(_, e)| *e)).unwrap_or("bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_what_they_are() {
        for (mime, bytes, expected) in [
            ("image/png", &b"x"[..], "png"),
            ("Text/HTML; charset=utf-8", b"x", "html"),
            ("", b"%PDF-1.7", "pdf"),
            ("application/octet-stream", b"\x89PNG\r\n\x1a\n", "png"),
            ("../../etc", b"x", "bin"),
        ] {
            assert_eq!(extension(mime, bytes), expected, "{mime}");
        }
    }

    #[test]
    fn base64_of_any_manner() {
        for text in [r#""aGk=""#, r#""aGk""#, r#""aG\nk=""#] {
            assert_eq!(decode_base64(text).as_deref(), Some(&b"hi"[..]), "{text}");
        }
        assert_eq!(decode_base64(r#""Pz8\/""#).as_deref(), Some(&b"???"[..]));
        assert_eq!(decode_base64(r#""***""#), None);
    }
}
