//! Results of calls as text: text blocks, structured content, and a note for content that a terminal cannot show.
//!
//! Used by `form` and `calls`.

use serde_json::Value;

use super::page::Page;
use super::text::Tone;
use crate::show;
use crate::units;

/// The result of `tools/call`.
pub(super) fn result(result: &Value, page: &mut Page) {
    let before = page.length();
    for each in list(result, "content") {
        block(each, page);
    }
    if let Some(structured) = result.get("structuredContent") {
        page.heading("Structured content");
        page.text(&show::block(structured), Tone::Accent);
    }
    if page.length() == before {
        page.text("The result is empty.", Tone::Faint);
    }
}

/// The result of `resources/read`.
pub(super) fn contents(result: &Value, page: &mut Page) {
    for each in list(result, "contents") {
        resource(each, page);
    }
}

/// The result of `prompts/get`.
pub(super) fn messages(result: &Value, page: &mut Page) {
    for message in list(result, "messages") {
        page.heading(text(message, "role"));
        match message.get("content") {
            Some(Value::Array(blocks)) => blocks.iter().for_each(|each| block(each, page)),
            Some(one) => block(one, page),
            None => {}
        }
    }
}

fn block(content: &Value, page: &mut Page) {
    match text(content, "type") {
        "text" => page.text(text(content, "text"), Tone::Plain),
        kind @ ("image" | "audio") => page.text(&described(kind, content, "data"), Tone::Accent),
        "resource" => resource(content.get("resource").unwrap_or(&Value::Null), page),
        "resource_link" => {
            page.text(text(content, "name"), Tone::Strong);
            page.text(text(content, "uri"), Tone::Accent);
        }
        _ => page.text(&show::block(content), Tone::Plain),
    }
}

fn resource(content: &Value, page: &mut Page) {
    page.text(text(content, "uri"), Tone::Faint);
    match content.get("text").and_then(Value::as_str) {
        Some(text) => page.text(text, Tone::Plain),
        None => page.text(&described("file", content, "blob"), Tone::Accent),
    }
}

/// The type and size of a block of bytes.
fn described(what: &str, content: &Value, data: &str) -> String {
    let data = text(content, data);
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let size = (data.len() / 4 * 3).saturating_sub(padding);
    let kind = text(content, "mimeType");
    format!("[{what}, {kind}, {}]", units::size(u64::try_from(size).unwrap_or(u64::MAX)))
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
