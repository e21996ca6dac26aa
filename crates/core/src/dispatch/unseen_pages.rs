//! Pages that a server asked a person to visit during a call, and that the call's client could not show.
//!
//! Used by `dispatch::elicit` (adds pages) and `dispatch::tool` (names them in the result). The server gets
//! *cancel*; a person can still open the pages.

use parking_lot::Mutex;
use switchboard_wire::json::{JsonEdit, JsonKind, Raw, quote};
use switchboard_wire::sanitize;

use super::CallError;

/// How many pages one result names.
const MAX_PAGES_NAMED: usize = 5;

/// The pages of one call.
#[derive(Debug, Default)]
pub(super) struct UnseenPages(Mutex<Vec<String>>);

/// The server's message for a page, and its address, safe to show.
pub(super) fn page_line(message: &str, url: &str) -> String {
    sanitize::sanitize_line(format!("{message} {url}").trim_start()).into_owned()
}

// === impl UnseenPages ===

impl UnseenPages {
    pub(super) fn add(&self, message: &str, url: &str) {
        let line = page_line(message, url);
        let mut pages = self.0.lock();
        if pages.len() < MAX_PAGES_NAMED && !pages.contains(&line) {
            pages.push(line);
        }
    }

    /// Adds a line that names the pages to a tool's result.
    pub(super) fn add_to_result(&self, server: &str, result: Raw) -> Raw {
        let pages = std::mem::take(&mut *self.0.lock());
        if pages.is_empty() {
            return result;
        }
        let line = CallError::PageNeeded { server: server.to_owned(), pages };
        let item = format!(r#"{{"type":"text","text":{}}}"#, quote(&format!("{line}.")));
        let content = result.get("content").ok().flatten();
        let content = content.filter(|content| content.kind() == JsonKind::Array);
        let items = content.iter().flat_map(Raw::elements).map(|item| item.as_str().to_owned());
        let items: Vec<_> = items.chain([item]).collect();
        let content = format!("[{}]", items.join(","));
        result.overwrite(&[JsonEdit::set(&["content"], &content)])
    }
}
