//! The UI of a tool (MCP Apps): its resource, and whether models and apps may call the tool.
//!
//! Read by `catalog::tool`; used by `dispatch`, `results`, agent loops, the gateway and the commands. A member of the
//! wrong form is left out with a warning: SDKs of hosts fail on it. It does not show UIs, and does not change addresses
//! (the gateway does).

use switchboard_wire::json::{JsonKind, Raw};

use super::item_reader::{ItemReader, MemberPath};

/// The scheme of UI resources, with its slashes.
const UI_SCHEME: &str = "ui://";

/// The MIME type of UI resources.
pub const UI_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// A tool's description for MCP Apps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolUi {
    /// The UI resource that shows the tool's results, as the server names it.
    pub resource: Option<String>,
    /// Who may call the tool.
    pub visibility: ToolVisibility,
}

/// Who may call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolVisibility {
    /// Models may, so the tool stands in their lists.
    pub model: bool,
    /// Apps of the tool's own server may.
    pub app: bool,
}

/// Whether `uri` names a UI resource.
pub fn is_ui_uri(uri: &str) -> bool {
    uri.get(..UI_SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(UI_SCHEME))
}

// === impl ToolUi ===

impl ToolUi {
    /// Reads the members of `_meta`, which is an object. The flat key is an older form of `ui.resourceUri`.
    pub(super) fn read(reader: &mut ItemReader<'_>) -> Self {
        const FLAT_KEY: MemberPath = &["_meta", "ui/resourceUri"];
        let flat = reader.optional(FLAT_KEY, |reader, path| reader.fit(path, is_ui_text));
        let flat = flat.and_then(|uri| uri.to_text());
        if reader.optional(&["_meta", "ui"], ItemReader::object).is_none() {
            return Self { resource: flat, ..Self::default() };
        }
        let resource = reader
            .optional(&["_meta", "ui", "resourceUri"], |reader, path| reader.fit(path, is_ui_text));
        let visibility = reader
            .optional(&["_meta", "ui", "visibility"], |reader, path| reader.fit(path, is_words));
        Self {
            resource: resource.and_then(|uri| uri.to_text()).or(flat),
            visibility: visibility.map_or_else(ToolVisibility::default, |words| {
                let has = |word: &str| words.elements().any(|said| said.as_str() == word);
                ToolVisibility { model: has("\"model\""), app: has("\"app\"") }
            }),
        }
    }
}

// === impl ToolVisibility ===

impl Default for ToolVisibility {
    fn default() -> Self {
        Self { model: true, app: true }
    }
}

fn is_ui_text(value: &Raw) -> bool {
    value.to_text().is_some_and(|text| is_ui_uri(&text))
}

fn is_words(value: &Raw) -> bool {
    value.kind() == JsonKind::Array && value.elements().all(|word| word.kind() == JsonKind::String)
}
