//! The parts of a result, found but not decoded.

use switchboard_wire::json::{Edit, Raw};

use super::{Kept, Shape, size::Size, text};

/// A result taken apart.
pub(super) struct Content {
    shape: Shape,
    pub(super) parts: Vec<Part>,
    /// `structuredContent`, if there is any.
    pub(super) structured: Option<Raw>,
    changed: bool,
}

/// One content item.
pub(super) struct Part {
    /// The item as it stands in the result.
    pub(super) item: Raw,
    pub(super) kind: PartKind,
}

/// What matters of an item here. Texts and data are JSON strings, quotes included.
pub(super) enum PartKind {
    Text { text: Raw },
    Image { data: Raw, mime: String },
    Blob { blob: Raw, mime: String, uri: String },
    Other { kind: String },
}

// === impl Content ===

impl Content {
    /// The parts of `result`; `None` if it has none that can be told apart.
    pub(super) fn of(result: &Raw, shape: Shape) -> Option<Self> {
        let items = result.get(member(shape)).ok()?;
        let structured = match shape {
            Shape::Tool => result.get("structuredContent").ok()?,
            Shape::Resource => None,
        };
        if items.is_none() && structured.is_none() {
            return None;
        }
        let items = items.as_ref();
        let parts = items.iter().flat_map(|items| items.elements());
        let parts = parts.map(|item| Part { kind: PartKind::of(&item, shape), item }).collect();
        Some(Self { shape, parts, structured, changed: false })
    }

    /// How much text there is. Images, sound and blobs are none.
    pub(super) fn size(&self) -> Size {
        let mut size = Size::default();
        for part in &self.parts {
            if let PartKind::Text { text } = &part.kind {
                size += text::size(text.as_str());
            }
        }
        if let Some(structured) = &self.structured {
            size += Size::of(structured.as_str());
        }
        size
    }

    /// Puts another item in the place of one.
    pub(super) fn replace(&mut self, at: usize, item: Raw) {
        let kind = PartKind::of(&item, self.shape);
        self.parts[at] = Part { item, kind };
        self.changed = true;
    }

    /// An item that says `text`.
    pub(super) fn text_item(&self, text: &str) -> Raw {
        self.text_item_of(text, &self.first_uri())
    }

    /// The same, about the resource at `uri`.
    pub(super) fn text_item_of(&self, text: &str, uri: &str) -> Raw {
        let (text, uri) = (Raw::string(text), Raw::string(uri));
        let edits: &[Edit<'_>] = match self.shape {
            Shape::Tool => &[Edit::set(&["type"], "\"text\""), Edit::set(&["text"], text.as_str())],
            Shape::Resource => &[
                Edit::set(&["uri"], uri.as_str()),
                Edit::set(&["mimeType"], "\"text/plain\""),
                Edit::set(&["text"], text.as_str()),
            ],
        };
        // An empty object takes any member; the quoted text alone would be well formed too.
        Raw::empty_object().with(edits).unwrap_or(text)
    }

    fn first_uri(&self) -> String {
        let uri = |part: &Part| part.item.get("uri").ok()??.to_text();
        self.parts.iter().find_map(uri).unwrap_or_default()
    }

    /// The result with the items as they are now; the very same if none was replaced.
    pub(super) fn changed_in(&self, kept: Kept) -> Kept {
        if !self.changed {
            return kept;
        }
        let items = self.parts.iter().map(|part| part.item.as_str());
        self.with_items(items, Structured::Stays, kept)
    }

    /// The result with one note in the place of all text.
    pub(super) fn replaced_by(&self, note: &str, mut kept: Kept) -> Kept {
        let item = self.text_item(note);
        let others = self.parts.iter().filter(|part| !part.is_text());
        let items = std::iter::once(item.as_str()).chain(others.map(|part| part.item.as_str()));
        kept.note = Some(note.to_owned());
        self.with_items(items, Structured::Goes, kept)
    }

    /// The result with these items.
    pub(super) fn with_items<'i>(
        &self,
        items: impl Iterator<Item = &'i str>,
        structured: Structured,
        mut kept: Kept,
    ) -> Kept {
        let array = format!("[{}]", items.collect::<Vec<_>>().join(","));
        let path = [member(self.shape)];
        let set = Edit::set(&path, &array);
        let edits: &[Edit<'_>] = match structured {
            Structured::Stays => &[set],
            Structured::Goes => &[set, Edit::remove(&["structuredContent"])],
        };
        // The members were read before and none stood twice, so nothing is left that could refuse.
        if let Ok(result) = kept.result.with(edits) {
            kept.result = compact(result);
        }
        kept
    }
}

/// Whether `structuredContent` is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Structured {
    Stays,
    Goes,
}

// === impl Part ===

impl Part {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, PartKind::Text { .. })
    }
}

// === impl PartKind ===

impl PartKind {
    fn of(item: &Raw, shape: Shape) -> Self {
        let kind = match shape {
            Shape::Tool => word(item, "type"),
            Shape::Resource => return Self::of_resource(item, "resource"),
        };
        match kind.as_str() {
            "text" => match string(item, "text") {
                Some(text) => Self::Text { text },
                None => Self::Other { kind },
            },
            "image" => match string(item, "data") {
                Some(data) => Self::Image { data, mime: word(item, "mimeType") },
                None => Self::Other { kind },
            },
            "resource" => match item.get("resource") {
                Ok(Some(resource)) => Self::of_resource(&resource, &kind),
                _ => Self::Other { kind },
            },
            _ => Self::Other { kind },
        }
    }

    fn of_resource(resource: &Raw, kind: &str) -> Self {
        if let Some(text) = string(resource, "text") {
            return Self::Text { text };
        }
        match string(resource, "blob") {
            Some(blob) => {
                Self::Blob { blob, mime: word(resource, "mimeType"), uri: word(resource, "uri") }
            }
            None => Self::Other { kind: kind.to_owned() },
        }
    }
}

fn member(shape: Shape) -> &'static str {
    match shape {
        Shape::Tool => "content",
        Shape::Resource => "contents",
    }
}

/// The JSON string under `key`.
fn string(object: &Raw, key: &str) -> Option<Raw> {
    object.get(key).ok()?.filter(|value| value.as_str().starts_with('"'))
}

fn word(object: &Raw, key: &str) -> String {
    object.get(key).ok().flatten().and_then(|value| value.to_text()).unwrap_or_default()
}

/// The splice made room for the old text; what is left may be a thousandth of it.
fn compact(result: Raw) -> Raw {
    Raw::parse(result.as_str().to_owned()).unwrap_or(result)
}
