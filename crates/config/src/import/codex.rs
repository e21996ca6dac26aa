//! The reader for Codex: tables `mcp_servers.<name>` in `config.toml`.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    read_each(node.get("mcp_servers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Nothing);
        if theirs.get("url").is_some() {
            entry.set("type", "http");
        }
        entry.copy_members(&["command", "args", "env", "cwd", "url"]);
        entry.copy_as("env_vars", "inheritEnv").copy_as("http_headers", "headers");
        for header in theirs.get("env_http_headers").map_or(&[][..], ConfigNode::members) {
            if let Some(variable) = header.value.as_str() {
                entry.put("headers", &header.key, format!("${{{variable}}}"));
            }
        }
        if let Some(variable) = theirs.get("bearer_token_env_var").and_then(ConfigNode::as_str) {
            entry.put("headers", "Authorization", format!("Bearer ${{{variable}}}"));
        }
        entry.seconds("tool_timeout_sec").enabled().tools("enabled_tools", "disabled_tools");
        Some(entry.finish())
    })
}
