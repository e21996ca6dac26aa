//! `config.toml` of Codex: tables `mcp_servers.<name>`.

use super::Read;
use super::entries::{Builder, each};
use super::translate::Translate;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    each(node.get("mcp_servers"), |_, theirs, _| {
        let mut entry = Builder::new(theirs, &Translate::Nothing);
        if theirs.get("url").is_some() {
            entry.set("type", "http");
        }
        entry.keep(&["command", "args", "env", "cwd", "url"]);
        entry.take("env_vars", "inheritEnv").take("http_headers", "headers");
        for header in theirs.get("env_http_headers").map_or(&[][..], Node::members) {
            if let Some(variable) = header.value.as_str() {
                entry.put("headers", &header.key, format!("${{{variable}}}"));
            }
        }
        if let Some(variable) = theirs.get("bearer_token_env_var").and_then(Node::as_str) {
            entry.put("headers", "Authorization", format!("Bearer ${{{variable}}}"));
        }
        entry.seconds("tool_timeout_sec").enabled().tools("enabled_tools", "disabled_tools");
        Some(entry.finish())
    })
}
