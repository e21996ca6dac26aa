//! `config.yaml` of Continue: a list `mcpServers`; `config.json` before it had another one.

use super::Read;
use super::entries::{Builder, found};
use super::translate::Translate;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    let mut read = Read::default();
    for theirs in node.get("mcpServers").map_or(&[][..], Node::elements) {
        let name = theirs.get("name").and_then(Node::as_str).unwrap_or("continue");
        read.servers.push(found(name, listed(theirs), &theirs.at));
    }
    let old = node.get("experimental").and_then(|node| node.get("modelContextProtocolServers"));
    for (index, theirs) in old.map_or(&[][..], Node::elements).iter().enumerate() {
        let Some(transport) = theirs.get("transport") else {
            continue;
        };
        let name = theirs.get("name").and_then(Node::as_str).map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("continue-{}", index + 1));
        read.servers.push(found(&name, listed(transport), &theirs.at));
    }
    read
}

fn listed(theirs: &Node) -> serde_json::Value {
    let mut entry = Builder::new(theirs, &Translate::Secrets);
    match theirs.get("type").and_then(Node::as_str) {
        Some("websocket") => entry.set("type", "ws"),
        None if entry.has("url") => entry.set("type", "http"),
        _ => entry.keep(&["type"]),
    };
    entry.keep(&["command", "args", "env", "cwd", "url"]);
    let headers = theirs.get("requestOptions").and_then(|options| options.get("headers"));
    for header in headers.map_or(&[][..], Node::members) {
        if let Some(value) = header.value.as_str() {
            entry.put("headers", &header.key, Translate::Secrets.text(value));
        }
    }
    if let Some(key) = theirs.get("apiKey").and_then(Node::as_str) {
        entry.put("headers", "Authorization", format!("Bearer {}", Translate::Secrets.text(key)));
    }
    entry.finish()
}
