//! `~/.claude.json`: `mcpServers`, and more of them per project; `.mcp.json` has the same form.

use std::path::PathBuf;

use super::Read;
use super::entries::plain;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    let mut read = plain(node.get("mcpServers"));
    for project in node.get("projects").map_or(&[][..], Node::members) {
        let mut inner = plain(project.value.get("mcpServers"));
        for found in &mut inner.servers {
            found.project = Some(PathBuf::from(&project.key));
        }
        read.servers.extend(inner.servers);
    }
    read
}
