//! `mcp_config.json` of Windsurf: a remote server is at `serverUrl`.

use super::Read;
use super::entries::{Builder, each};
use super::translate::Translate;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    each(node.get("mcpServers"), |_, theirs, _| {
        let mut entry = Builder::new(theirs, &Translate::Editor);
        if entry.has("serverUrl") || entry.has("url") {
            entry.set("type", "http").take("url", "url").take("serverUrl", "url");
        }
        entry.keep(&["type", "command", "args", "env", "headers", "disabled"]);
        entry.tools("", "disabledTools");
        Some(entry.finish())
    })
}
