//! The reader for Codex: tables `mcp_servers.<name>` in `config.toml`.
//!
//! Used by `import`.

use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers};
use crate::source::ConfigNode;

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    read_each(client, node.get("mcp_servers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Literal);
        if entry.has("url") {
            entry.set("type", "http");
        }
        entry.copy_members(&["command", "args", "env", "cwd", "url"]);
        entry.copy_as("http_headers", "headers");
        inherited_variables(&mut entry);
        for header in entry.take("env_http_headers").map_or(&[][..], ConfigNode::members) {
            if let Some(variable) = header.value.as_str() {
                entry.put("headers", &header.key, format!("${{{variable}}}"));
            }
        }
        if let Some(variable) = entry.take("bearer_token_env_var").and_then(ConfigNode::as_str) {
            entry.put("headers", "Authorization", format!("Bearer ${{{variable}}}"));
        }
        if let Some(scopes) = entry.take("scopes").filter(|list| !list.elements().is_empty()) {
            entry.put("oauth", "scopes", scopes.to_json());
        }
        entry.copy_nested("oauth", "oauth", &[("client_id", "clientId")]);
        entry.seconds("tool_timeout_sec").enabled();
        entry.tools(Some("enabled_tools"), Some("disabled_tools"));
        Some(entry.finish())
    })
}

/// Converts `env_vars`: names, or objects that also say from which machine the value comes.
fn inherited_variables(entry: &mut EntryBuilder<'_>) {
    let mut names = Vec::new();
    for (index, variable) in
        entry.take("env_vars").map_or(&[][..], ConfigNode::elements).iter().enumerate()
    {
        let source = variable.get("source").and_then(ConfigNode::as_str).unwrap_or("local");
        let name = variable.as_str().or_else(|| variable.get("name").and_then(ConfigNode::as_str));
        match name.filter(|_| source == "local") {
            Some(name) => names.push(name.to_owned()),
            None => entry.lose(
                format!("env_vars[{index}]"),
                "only variables of this machine can be passed",
                &variable.at,
            ),
        }
    }
    if !names.is_empty() {
        entry.set("inheritEnv", names);
    }
}
