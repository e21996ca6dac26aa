//! The reader for Gemini CLI: in `settings.json`, `httpUrl` is Streamable HTTP and `url` the older HTTP+SSE.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    read_each(node.get("mcpServers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Shell);
        if entry.has("httpUrl") {
            entry.set("type", "http").copy_as("httpUrl", "url");
        } else if entry.has("url") {
            let kind =
                theirs.get("type").and_then(ConfigNode::as_str).filter(|kind| *kind == "http");
            entry.set("type", kind.unwrap_or("sse")).copy_as("url", "url");
        }
        entry.copy_members(&["command", "args", "env", "cwd", "headers", "timeout"]);
        entry.tools("includeTools", "excludeTools");
        Some(entry.finish())
    })
}
