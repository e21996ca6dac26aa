//! The reader for Claude Code: `mcpServers` in `~/.claude.json`, also per project, and `.mcp.json`.
//!
//! Used by `import`.

use std::path::PathBuf;

use super::ClientServers;
use super::entry_builder::read_unchanged;
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    let mut read = read_unchanged(node.get("mcpServers"));
    for project in node.get("projects").map_or(&[][..], ConfigNode::members) {
        let mut inner = read_unchanged(project.value.get("mcpServers"));
        for found in &mut inner.servers {
            found.project = Some(PathBuf::from(&project.key));
        }
        read.servers.extend(inner.servers);
    }
    read
}
