//! Contents of results for people: text is printed, bytes are written to files.
//!
//! Used by `call`, `read` and `prompt`. It does not limit results (`core::results` does).

use std::io::Write as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use switchboard_wire::{json::Raw, sanitize};

use crate::printer::Printer;
use crate::report::Failure;
use crate::show;

/// One content block of a result.
pub(super) enum ResultPart {
    /// Text.
    Text(String),
    /// Bytes with a media type.
    File { mime: String, bytes: Vec<u8> },
    /// A link to a resource.
    Link(String),
    /// A block of an unknown type.
    Unknown(Raw),
}

/// Base64 with or without padding: servers disagree about it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Prints blocks in order. A single block of bytes goes to a pipe unchanged; beside others, and on a terminal, bytes
/// are written to a file.
pub(super) fn print(parts: &[ResultPart], printer: &Printer) -> Result<(), Failure> {
    if let ([ResultPart::File { bytes, .. }], false) = (parts, printer.is_screen()) {
        printer.data(bytes);
        return Ok(());
    }
    print_among(parts, printer)
}

/// Prints blocks among other text, so bytes are always written to a file.
pub(super) fn print_among(parts: &[ResultPart], printer: &Printer) -> Result<(), Failure> {
    for part in parts {
        match part {
            ResultPart::Text(text) if printer.is_screen() => {
                printer.line(sanitize::sanitize_block(text));
            }
            ResultPart::Text(text) => printer.text(text),
            ResultPart::File { mime, bytes } => {
                let path = write_temporary_file(mime, bytes)?;
                let size = show::count(bytes.len(), "byte");
                let kind = sanitize::sanitize_line(mime);
                printer.line(format_args!("{kind}, {size}, in {}", path.display()));
            }
            ResultPart::Link(text) => printer.line(sanitize::sanitize_line(text)),
            ResultPart::Unknown(raw) => printer.line(crate::printer::escaped(raw.as_str())),
        }
    }
    Ok(())
}

/// Writes bytes to a private file in the folder for temporary files; the file stays.
fn write_temporary_file(mime: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::new("cannot write the result to a file", error);
    let suffix = format!(".{}", extension(mime));
    let file = tempfile::Builder::new().prefix("switchboard-").suffix(&suffix).tempfile();
    let mut file = file.map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    let (_, path) = file.keep().map_err(|error| failed(error.error))?;
    Ok(path)
}

/// The file extension of a media type: `image/svg+xml` is `svg`; a type that makes no name is `bin`.
fn extension(mime: &str) -> String {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let (kind, sub) = mime.split_once('/').unwrap_or_default();
    let sub = sub.split('+').next().unwrap_or_default().trim_start_matches("x-");
    match (kind, sub) {
        (_, "octet-stream" | "") => "bin".to_owned(),
        ("text", "plain") => "txt".to_owned(),
        (_, "mpeg") if kind == "audio" => "mp3".to_owned(),
        (_, "jpeg") => "jpg".to_owned(),
        (_, sub) if sub.len() <= 8 && sub.chars().all(|c| c.is_ascii_alphanumeric()) => {
            sub.to_ascii_lowercase()
        }
        _ => "bin".to_owned(),
    }
}

// === impl ResultPart ===

impl ResultPart {
    /// From a block of a tool's result or of a prompt.
    pub(super) fn of_block(block: &Raw) -> Self {
        let member = |key| text(block, key);
        let kind = member("type").unwrap_or_default();
        let part = match kind.as_str() {
            "text" => member("text").map(Self::Text),
            "image" | "audio" => {
                let mime = member("mimeType").unwrap_or_else(|| kind.clone());
                block.get("data").ok().flatten().and_then(|data| Self::file(mime, &data))
            }
            "resource" => block.get("resource").ok().flatten().map(|raw| Self::of_resource(&raw)),
            "resource_link" => link(block),
            _ => None,
        };
        part.unwrap_or_else(|| Self::Unknown(block.clone()))
    }

    /// From one of a resource's contents.
    pub(super) fn of_resource(contents: &Raw) -> Self {
        if let Some(text) = text(contents, "text") {
            return Self::Text(text);
        }
        let mime = text(contents, "mimeType").unwrap_or_else(|| "binary data".to_owned());
        let blob = contents.get("blob").ok().flatten();
        blob.and_then(|blob| Self::file(mime, &blob))
            .unwrap_or_else(|| Self::Unknown(contents.clone()))
    }

    fn file(mime: String, data: &Raw) -> Option<Self> {
        let mut data = data.to_text()?;
        data.retain(|c| !c.is_ascii_whitespace());
        BASE64.decode(data).ok().map(|bytes| Self::File { mime, bytes })
    }

    /// Whether the block is text.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

fn link(block: &Raw) -> Option<ResultPart> {
    let uri = text(block, "uri")?;
    let about: Vec<_> = ["name", "mimeType"].iter().filter_map(|key| text(block, key)).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    Some(ResultPart::Link(format!("{uri}{about}")))
}

fn text(raw: &Raw, key: &str) -> Option<String> {
    raw.get(key).ok()??.to_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_what_they_are() {
        for (mime, expected) in [
            ("image/png", "png"),
            ("image/svg+xml", "svg"),
            ("image/jpeg", "jpg"),
            ("audio/mpeg", "mp3"),
            ("audio/x-wav", "wav"),
            ("text/plain; charset=utf-8", "txt"),
            ("application/octet-stream", "bin"),
            ("a/../../etc", "bin"),
            ("nothing", "bin"),
        ] {
            assert_eq!(extension(mime), expected, "{mime}");
        }
    }
}
