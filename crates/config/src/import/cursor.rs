//! `mcp.json` of Cursor: our form, with an editor's references.

use super::Read;
use super::entries::{Builder, each};
use super::translate::Translate;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    each(node.get("mcpServers"), |_, theirs, _| {
        let mut entry = Builder::new(theirs, &Translate::Editor);
        if theirs.get("url").is_some() && theirs.get("type").is_none() {
            entry.set("type", "http");
        }
        entry.keep(&[
            "type", "command", "args", "env", "cwd", "envFile", "url", "headers", "disabled",
        ]);
        Some(entry.finish())
    })
}
