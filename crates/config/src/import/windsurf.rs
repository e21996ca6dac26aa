//! The reader for Windsurf: `mcp_config.json`, with `serverUrl` for a remote server.
//!
//! Used by `import`.

use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers};
use crate::source::ConfigNode;

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    read_each(client, node.get("mcpServers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Editor);
        if entry.has("serverUrl") || entry.has("url") {
            entry.set("type", "http").copy_as("url", "url").copy_as("serverUrl", "url");
        }
        entry.copy_members(&["type", "command", "args", "env", "cwd", "headers", "disabled"]);
        entry.tools(None, Some("disabledTools")).pass_over(&["description"]);
        Some(entry.finish())
    })
}
