//! `settings.json` of Gemini CLI: `httpUrl` is Streamable HTTP, `url` is the older form.

use super::Read;
use super::entries::{Builder, each};
use super::translate::Translate;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    each(node.get("mcpServers"), |_, theirs, _| {
        let mut entry = Builder::new(theirs, &Translate::Shell);
        if entry.has("httpUrl") {
            entry.set("type", "http").take("httpUrl", "url");
        } else if entry.has("url") {
            let kind = theirs.get("type").and_then(Node::as_str).filter(|kind| *kind == "http");
            entry.set("type", kind.unwrap_or("sse")).take("url", "url");
        }
        entry.keep(&["command", "args", "env", "cwd", "headers", "timeout"]);
        entry.tools("includeTools", "excludeTools");
        Some(entry.finish())
    })
}
