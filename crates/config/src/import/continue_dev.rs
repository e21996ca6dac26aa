//! The reader for Continue: a list `mcpServers` in `config.yaml`, or another list in the older `config.json`.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, import_candidate};
use super::reference_syntax::ReferenceSyntax;
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    let mut read = ClientServers::default();
    for theirs in node.get("mcpServers").map_or(&[][..], ConfigNode::elements) {
        let name = theirs.get("name").and_then(ConfigNode::as_str).unwrap_or("continue");
        read.servers.push(import_candidate(name, read_listed(theirs), &theirs.at));
    }
    let old = node.get("experimental").and_then(|node| node.get("modelContextProtocolServers"));
    for (index, theirs) in old.map_or(&[][..], ConfigNode::elements).iter().enumerate() {
        let Some(transport) = theirs.get("transport") else {
            continue;
        };
        let name = theirs.get("name").and_then(ConfigNode::as_str).map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("continue-{}", index + 1));
        read.servers.push(import_candidate(&name, read_listed(transport), &theirs.at));
    }
    read
}

fn read_listed(theirs: &ConfigNode) -> serde_json::Value {
    let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Secrets);
    match theirs.get("type").and_then(ConfigNode::as_str) {
        Some("websocket") => entry.set("type", "ws"),
        None if entry.has("url") => entry.set("type", "http"),
        _ => entry.copy_members(&["type"]),
    };
    entry.copy_members(&["command", "args", "env", "cwd", "url"]);
    let headers = theirs.get("requestOptions").and_then(|options| options.get("headers"));
    for header in headers.map_or(&[][..], ConfigNode::members) {
        if let Some(value) = header.value.as_str() {
            entry.put("headers", &header.key, ReferenceSyntax::Secrets.text(value));
        }
    }
    if let Some(key) = theirs.get("apiKey").and_then(ConfigNode::as_str) {
        entry.put(
            "headers",
            "Authorization",
            format!("Bearer {}", ReferenceSyntax::Secrets.text(key)),
        );
    }
    entry.finish()
}
