//! The parts of a result, found but not decoded.

use std::borrow::Cow;

use switchboard_wire::json::{Edit, Elements, Members, Raw, decode_string};

use super::{Kept, Shape, size::Size, text};

/// A result taken apart. A large one is walked over as seldom as can be, and never copied.
pub(super) struct Content<'r> {
    shape: Shape,
    pub(super) parts: Vec<Part<'r>>,
    /// `structuredContent`, if there is any.
    pub(super) structured: Option<&'r str>,
    changed: bool,
}

/// One content item.
pub(super) struct Part<'r> {
    /// The item as it stands in the result.
    pub(super) item: Cow<'r, str>,
    pub(super) kind: PartKind<'r>,
}

/// What matters of an item here. Texts and data are JSON strings, quotes included.
pub(super) enum PartKind<'r> {
    Text { text: Cow<'r, str> },
    Image { data: &'r str, mime: String },
    Blob { blob: &'r str, mime: String, uri: String },
    Other { kind: String },
}

/// The members of an item that matter, as written.
#[derive(Default)]
struct Facts<'r> {
    kind: Option<&'r str>,
    text: Option<&'r str>,
    data: Option<&'r str>,
    blob: Option<&'r str>,
    mime: Option<&'r str>,
    uri: Option<&'r str>,
    resource: Option<&'r str>,
}

// === impl Content ===

impl<'r> Content<'r> {
    /// The parts of `result`; `None` if it has none that can be told apart.
    pub(super) fn of(result: &'r Raw, shape: Shape) -> Option<Self> {
        let (mut items, mut structured) = (None, None);
        for found in result.members() {
            let place = if found.is(member(shape)) {
                &mut items
            } else if shape == Shape::Tool && found.is("structuredContent") {
                &mut structured
            } else {
                continue;
            };
            // Of two, nobody can tell which one the reader will take.
            if place.replace(found.value).is_some() {
                return None;
            }
        }
        if items.is_none() && structured.is_none() {
            return None;
        }
        let items = items.into_iter().flat_map(Elements::of);
        let part = |item| Part { item: Cow::Borrowed(item), kind: PartKind::of(item, shape) };
        Some(Self { shape, parts: items.map(part).collect(), structured, changed: false })
    }

    /// How much text there is. Images, sound and blobs are none.
    pub(super) fn size(&self) -> Size {
        let mut size = Size::default();
        for part in &self.parts {
            if let PartKind::Text { text } = &part.kind {
                size += text::size(text);
            }
        }
        if let Some(structured) = self.structured {
            size += Size::of(structured);
        }
        size
    }

    /// Puts a smaller image in the place of one.
    pub(super) fn replace(&mut self, at: usize, item: String) {
        let kind = PartKind::Other { kind: "image".to_owned() };
        self.parts[at] = Part { item: Cow::Owned(item), kind };
        self.changed = true;
    }

    /// Puts words in the place of an item.
    pub(super) fn replace_by_text(&mut self, at: usize, words: &str, uri: &str) {
        let item = Cow::Owned(self.text_item_of(words, uri).to_string());
        let text = Cow::Owned(Raw::string(words).to_string());
        self.parts[at] = Part { item, kind: PartKind::Text { text } };
        self.changed = true;
    }

    /// An item that says `text`.
    pub(super) fn text_item(&self, text: &str) -> Raw {
        match self.shape {
            Shape::Tool => self.text_item_of(text, ""),
            Shape::Resource => self.text_item_of(text, &self.first_uri()),
        }
    }

    /// The same, about the resource at `uri`.
    fn text_item_of(&self, text: &str, uri: &str) -> Raw {
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

    /// A note about a whole resource goes under its name.
    fn first_uri(&self) -> String {
        let uri = |part: &Part<'_>| Facts::of(&part.item).uri.map(word);
        self.parts.iter().find_map(uri).unwrap_or_default()
    }

    /// The result with the items as they are now; the very same if none was replaced.
    pub(super) fn changed_in(&self, kept: Kept) -> Kept {
        if !self.changed {
            return kept;
        }
        let items = self.parts.iter().map(|part| part.item.as_ref());
        self.with_items(items, Structured::Stays, kept)
    }

    /// The result with one note in the place of all text.
    pub(super) fn replaced_by(&self, note: &str, mut kept: Kept) -> Kept {
        let item = self.text_item(note);
        let others = self.parts.iter().filter(|part| !part.is_text());
        let items = std::iter::once(item.as_str()).chain(others.map(|part| part.item.as_ref()));
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

impl Part<'_> {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, PartKind::Text { .. })
    }
}

// === impl PartKind ===

impl<'r> PartKind<'r> {
    fn of(item: &'r str, shape: Shape) -> Self {
        let facts = Facts::of(item);
        if shape == Shape::Resource {
            return Self::of_resource(&facts, "resource".to_owned());
        }
        let kind = facts.kind.map(word).unwrap_or_default();
        match (kind.as_str(), facts.text, facts.data, facts.resource) {
            ("text", Some(text), _, _) => Self::Text { text: text.into() },
            ("image", _, Some(data), _) => Self::Image { data, mime: facts.mime() },
            ("resource", _, _, Some(resource)) => Self::of_resource(&Facts::of(resource), kind),
            _ => Self::Other { kind },
        }
    }

    fn of_resource(facts: &Facts<'r>, kind: String) -> Self {
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

// === impl Facts ===

impl<'r> Facts<'r> {
    /// One walk over the members. Of a member that stands twice the first counts.
    fn of(item: &'r str) -> Self {
        let mut facts = Self::default();
        for found in Members::of(item) {
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

    fn mime(&self) -> String {
        self.mime.map(word).unwrap_or_default()
    }
}

fn member(shape: Shape) -> &'static str {
    match shape {
        Shape::Tool => "content",
        Shape::Resource => "contents",
    }
}

/// The text of a short JSON string.
fn word(quoted: &str) -> String {
    decode_string(quoted).map(Cow::into_owned).unwrap_or_default()
}

/// The splice made room for the old text; what is left may be a thousandth of it.
fn compact(result: Raw) -> Raw {
    Raw::parse(result.as_str().to_owned()).unwrap_or(result)
}
