//! The reader for Cursor: `mcp.json` in our form, with references in the syntax of editors.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    read_each(node.get("mcpServers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Editor);
        if theirs.get("url").is_some() && theirs.get("type").is_none() {
            entry.set("type", "http");
        }
        entry.copy_members(&[
            "type", "command", "args", "env", "cwd", "envFile", "url", "headers", "disabled",
        ]);
        Some(entry.finish())
    })
}
