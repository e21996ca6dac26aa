//! The content items of a result, located in its JSON but not decoded.
//!
//! Used by the other modules of `results`, which replace items. It does not decide which items to replace.

use std::borrow::Cow;

use switchboard_wire::json::{JsonEdit, JsonElements, JsonMembers, Raw, decode_string};

use super::{AppDataPolicy, LimitedResult, ResultShape, size::TextSize, text};
use crate::catalog::{UI_MIME_TYPE, is_ui_uri};

/// The content items of a result. A large result is scanned as few times as possible, and never copied.
pub(super) struct ResultContent<'r> {
    shape: ResultShape,
    pub(super) parts: Vec<ContentPart<'r>>,
    /// `structuredContent`, if the result has it and it is not left as it is.
    pub(super) structured: Option<&'r str>,
    changed: bool,
}

/// One content item.
pub(super) struct ContentPart<'r> {
    /// The item as it stands in the result.
    pub(super) item: Cow<'r, str>,
    pub(super) kind: PartKind<'r>,
}

/// The kind of an item. Texts and data are JSON strings, quotes included.
pub(super) enum PartKind<'r> {
    Text { text: Cow<'r, str> },
    Image { data: &'r str, mime: String },
    Blob { blob: &'r str, mime: String, uri: String },
    Other { kind: String },
}

/// The members of an item that matter, as written.
#[derive(Default)]
struct PartMembers<'r> {
    kind: Option<&'r str>,
    text: Option<&'r str>,
    data: Option<&'r str>,
    blob: Option<&'r str>,
    mime: Option<&'r str>,
    uri: Option<&'r str>,
    resource: Option<&'r str>,
}

// === impl ResultContent ===

impl<'r> ResultContent<'r> {
    /// Locates the items of `result`; `None` if the result has no list of items. Data for apps that is left as it is
    /// is not located.
    pub(super) fn of(result: &'r Raw, shape: ResultShape, app_data: AppDataPolicy) -> Option<Self> {
        let (mut items, mut structured) = (None, None);
        for found in result.members() {
            let place = if found.is_named(member(shape)) {
                &mut items
            } else if shape == ResultShape::Tool && found.is_named("structuredContent") {
                &mut structured
            } else {
                continue;
            };
            // Clients disagree on which of two equal members counts.
            if place.replace(found.value).is_some() {
                return None;
            }
        }
        if items.is_none() && structured.is_none() {
            return None;
        }
        let items = items.into_iter().flat_map(JsonElements::of);
        let part = |item| ContentPart {
            item: Cow::Borrowed(item),
            kind: PartKind::of(item, shape, app_data),
        };
        let structured = structured.filter(|_| app_data == AppDataPolicy::Limit);
        Some(Self { shape, parts: items.map(part).collect(), structured, changed: false })
    }

    /// Whether this is the result of a tool, and not of reading a resource.
    pub(super) fn is_of_tool(&self) -> bool {
        self.shape == ResultShape::Tool
    }

    /// The size of all text. Images, audio and blobs do not count.
    pub(super) fn size(&self) -> TextSize {
        let mut size = TextSize::default();
        for part in &self.parts {
            if let PartKind::Text { text } = &part.kind {
                size += text::size(text);
            }
        }
        if let Some(structured) = self.structured {
            size += TextSize::of(structured);
        }
        size
    }

    /// Replaces an image item by a smaller one.
    pub(super) fn replace(&mut self, at: usize, item: String) {
        let kind = PartKind::Other { kind: "image".to_owned() };
        self.parts[at] = ContentPart { item: Cow::Owned(item), kind };
        self.changed = true;
    }

    /// Replaces an item by text.
    pub(super) fn replace_by_text(&mut self, at: usize, words: &str, uri: &str) {
        let item = Cow::Owned(self.text_item_of(words, uri).to_string());
        let text = Cow::Owned(Raw::string(words).to_string());
        self.parts[at] = ContentPart { item, kind: PartKind::Text { text } };
        self.changed = true;
    }

    /// Makes an item with the given text.
    pub(super) fn text_item(&self, text: &str) -> Raw {
        match self.shape {
            ResultShape::Tool => self.text_item_of(text, ""),
            ResultShape::Resource => self.text_item_of(text, &self.first_uri()),
        }
    }

    /// Like [`Self::text_item`], for the resource at `uri`.
    fn text_item_of(&self, text: &str, uri: &str) -> Raw {
        let (text, uri) = (Raw::string(text), Raw::string(uri));
        match self.shape {
            ResultShape::Tool => Raw::object([("type", Raw::string("text")), ("text", text)]),
            ResultShape::Resource => {
                Raw::object([("uri", uri), ("mimeType", Raw::string("text/plain")), ("text", text)])
            }
        }
    }

    /// The URI of the first resource, for a note about all of the text.
    fn first_uri(&self) -> String {
        let uri = |part: &ContentPart<'_>| PartMembers::of(&part.item).uri.map(word);
        self.parts.iter().find_map(uri).unwrap_or_default()
    }

    /// The result with the replaced items; unchanged if none was replaced.
    pub(super) fn with_replacements(&self, kept: LimitedResult) -> LimitedResult {
        if !self.changed {
            return kept;
        }
        let items = self.parts.iter().map(|part| part.item.as_ref());
        self.with_items(items, StructuredContent::Stays, kept)
    }

    /// The result with one note in the place of all text.
    pub(super) fn with_note(&self, note: &str, mut kept: LimitedResult) -> LimitedResult {
        let item = self.text_item(note);
        let others = self.parts.iter().filter(|part| !part.is_text());
        let items = std::iter::once(item.as_str()).chain(others.map(|part| part.item.as_ref()));
        kept.note = Some(note.to_owned());
        self.with_items(items, StructuredContent::Goes, kept)
    }

    /// The result with these items.
    pub(super) fn with_items<'i>(
        &self,
        items: impl Iterator<Item = &'i str>,
        structured: StructuredContent,
        mut kept: LimitedResult,
    ) -> LimitedResult {
        let array = format!("[{}]", items.collect::<Vec<_>>().join(","));
        let path = [member(self.shape)];
        let set = JsonEdit::set(&path, &array);
        let edits: &[JsonEdit<'_>] = match structured {
            StructuredContent::Goes if self.structured.is_some() => {
                &[set, JsonEdit::remove(&["structuredContent"])]
            }
            StructuredContent::Stays | StructuredContent::Goes => &[set],
        };
        // The edit made room for the old text; the remaining text may be a thousandth of that size.
        kept.result = kept.result.overwrite(edits).to_detached();
        kept
    }
}

/// Whether `structuredContent` stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StructuredContent {
    Stays,
    Goes,
}

// === impl ContentPart ===

impl ContentPart<'_> {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, PartKind::Text { .. })
    }
}

// === impl PartKind ===

impl<'r> PartKind<'r> {
    fn of(item: &'r str, shape: ResultShape, app_data: AppDataPolicy) -> Self {
        let facts = PartMembers::of(item);
        if shape == ResultShape::Resource {
            return Self::of_resource(&facts, "resource".to_owned(), app_data);
        }
        let kind = facts.kind.map(word).unwrap_or_default();
        match (kind.as_str(), facts.text, facts.data, facts.resource) {
            ("text", Some(text), _, _) => Self::Text { text: text.into() },
            ("image", _, Some(data), _) => Self::Image { data, mime: facts.mime() },
            ("resource", _, _, Some(resource)) => {
                Self::of_resource(&PartMembers::of(resource), kind, app_data)
            }
            _ => Self::Other { kind },
        }
    }

    fn of_resource(facts: &PartMembers<'r>, kind: String, app_data: AppDataPolicy) -> Self {
        if app_data == AppDataPolicy::Leave && facts.are_of_ui() {
            return Self::Other { kind };
        }
        match (facts.text, facts.blob) {
            (Some(text), _) => Self::Text { text: text.into() },
            (None, Some(blob)) => {
                let uri = facts.uri.map(word).unwrap_or_default();
                Self::Blob { blob, mime: facts.mime(), uri }
            }
            (None, None) => Self::Other { kind },
        }
    }
}

// === impl PartMembers ===

impl<'r> PartMembers<'r> {
    /// Reads the members in one pass. Of a member that occurs twice the first counts.
    fn of(item: &'r str) -> Self {
        let mut facts = Self::default();
        for found in JsonMembers::of(item) {
            let (place, opening) = match found.key {
                "\"type\"" => (&mut facts.kind, '"'),
                "\"text\"" => (&mut facts.text, '"'),
                "\"data\"" => (&mut facts.data, '"'),
                "\"blob\"" => (&mut facts.blob, '"'),
                "\"mimeType\"" => (&mut facts.mime, '"'),
                "\"uri\"" => (&mut facts.uri, '"'),
                "\"resource\"" => (&mut facts.resource, '{'),
                _ => continue,
            };
            if place.is_none() && found.value.starts_with(opening) {
                *place = Some(found.value);
            }
        }
        facts
    }

    /// Whether these are the members of a UI resource.
    fn are_of_ui(&self) -> bool {
        self.uri.map(word).is_some_and(|uri| is_ui_uri(&uri)) || self.mime() == UI_MIME_TYPE
    }

    fn mime(&self) -> String {
        self.mime.map(word).unwrap_or_default()
    }
}

fn member(shape: ResultShape) -> &'static str {
    match shape {
        ResultShape::Tool => "content",
        ResultShape::Resource => "contents",
    }
}

/// Decodes a short JSON string.
fn word(quoted: &str) -> String {
    decode_string(quoted).map(Cow::into_owned).unwrap_or_default()
}
