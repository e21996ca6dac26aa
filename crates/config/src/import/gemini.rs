//! The reader for Gemini CLI: in `settings.json`, `httpUrl` is Streamable HTTP and `url` the older HTTP+SSE. A file
//! of its own notes which servers are switched off.
//!
//! Used by `import`.

use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers, ImportCandidate};
use crate::source::ConfigNode;

/// The members of `oauth` with an equal meaning in our entries.
const OAUTH_MEMBERS: [(&str, &str); 3] =
    [("clientId", "clientId"), ("clientSecret", "clientSecret"), ("scopes", "scopes")];

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    let mcp = node.get("mcp");
    let mut read = read_each(client, node.get("mcpServers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Shell);
        entry.pass_over(&["type", "description"]);
        if entry.has("httpUrl") {
            entry.set("type", "http").copy_as("httpUrl", "url");
        } else if entry.has("url") {
            let kind =
                theirs.get("type").and_then(ConfigNode::as_str).filter(|kind| *kind == "http");
            entry.set("type", kind.unwrap_or("sse")).copy_as("url", "url");
        }
        entry.copy_members(&["command", "args", "env", "cwd", "headers"]).milliseconds("timeout");
        entry.copy_nested("oauth", "oauth", &OAUTH_MEMBERS);
        entry.tools(Some("includeTools"), Some("excludeTools"));
        Some(entry.finish())
    });
    for found in &mut read.servers {
        if is_switched_off(mcp, &found.name) {
            found.entry["disabled"] = true.into();
        }
    }
    read
}

/// Whether `mcp.excluded` names a server, or `mcp.allowed` names others only.
fn is_switched_off(mcp: Option<&ConfigNode>, name: &str) -> bool {
    let is_meant =
        |element: &ConfigNode| element.as_str().map(switch_name) == Some(switch_name(name));
    let names = |list: &ConfigNode| list.elements().iter().any(is_meant);
    let list = |member: &str| mcp.and_then(|mcp| mcp.get(member));
    list("excluded").is_some_and(names)
        || list("allowed").is_some_and(|list| !list.elements().is_empty() && !names(list))
}

/// Disables the servers that `gemini mcp disable` has noted, in the form `{"NAME": {"enabled": false}}`.
pub(super) fn apply_switches(switches: &ConfigNode, servers: &mut [ImportCandidate]) {
    for member in switches.members() {
        let is_off = member.value.get("enabled").and_then(ConfigNode::as_bool) == Some(false);
        let is_meant =
            |found: &&mut ImportCandidate| switch_name(&found.name) == switch_name(&member.key);
        for found in servers.iter_mut().filter(|_| is_off).filter(is_meant) {
            found.entry["disabled"] = true.into();
        }
    }
}

/// The form of a name in which Gemini CLI compares it.
fn switch_name(name: &str) -> String {
    name.trim().to_lowercase()
}
