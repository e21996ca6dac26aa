//! The reader for Continue: a list `mcpServers` in `config.yaml` and in YAML files of the folder `mcpServers`, another
//! list in the older `config.json`, and servers in the form of other clients in JSON files of that folder.
//!
//! Used by `import`.

use super::entry_builder::{ConvertedEntry, EntryBuilder, import_candidate, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers, ImportCandidate};
use crate::source::ConfigNode;

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    let mut read = ClientServers::default();
    for theirs in node.get("mcpServers").map_or(&[][..], ConfigNode::elements) {
        let name = theirs.get("name").and_then(ConfigNode::as_str).unwrap_or("continue");
        read.servers.push(import_candidate(client, name, read_listed(theirs), &theirs.at));
    }
    let projects = node.get("projects").map_or(&[][..], ConfigNode::members);
    let of_projects = projects.iter().map(|project| project.value.get("mcpServers"));
    for servers in std::iter::once(node.get("mcpServers")).chain(of_projects) {
        read.append(read_each(client, servers, |_, theirs, _| Some(read_json(theirs))));
    }
    read.servers.extend(read_single(client, node));
    let old = node.get("experimental").and_then(|node| node.get("modelContextProtocolServers"));
    for (index, theirs) in old.map_or(&[][..], ConfigNode::elements).iter().enumerate() {
        let Some(transport) = theirs.get("transport") else {
            continue;
        };
        let name = theirs.get("name").and_then(ConfigNode::as_str).map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("continue-{}", index + 1));
        read.servers.push(import_candidate(client, &name, read_listed(transport), &theirs.at));
    }
    read
}

/// A file that is one server, named after the file.
fn read_single(client: ClientApp, node: &ConfigNode) -> Option<ImportCandidate> {
    let is_server = node.get("command").is_some() || node.get("url").is_some();
    let name = node.at.origin.path()?.file_stem()?.to_str().filter(|_| is_server)?;
    Some(import_candidate(client, name, read_json(node), &node.at))
}

/// Reads an entry in the form of Claude and Cursor.
fn read_json(theirs: &ConfigNode) -> ConvertedEntry {
    let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Ours);
    if entry.has("url") && !entry.has("type") {
        entry.set("type", "http");
    }
    entry.copy_members(&["type", "command", "args", "env", "url", "headers"]);
    for member in ["envFile", "cwd"] {
        if let Some(node) = entry.take(member) {
            entry.lose(member, "Continue does not use it either", &node.at);
        }
    }
    entry.finish()
}

fn read_listed(theirs: &ConfigNode) -> ConvertedEntry {
    let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Secrets);
    match entry.take("type").and_then(ConfigNode::as_str) {
        Some("websocket") => entry.set("type", "ws"),
        None if entry.has("url") => entry.set("type", "http"),
        _ => entry.copy_members(&["type"]),
    };
    entry.copy_members(&["command", "args", "env", "cwd", "url"]);
    entry.pass_over(&["name", "schema", "faviconUrl", "sourceFile"]);
    let options = theirs.get("requestOptions").map_or(&[][..], ConfigNode::members);
    entry.pass_over(&["requestOptions"]);
    for option in options {
        request_option(&mut entry, &option.key, &option.value);
    }
    if let Some(key) = entry.take("apiKey").and_then(ConfigNode::as_str) {
        let key = ReferenceSyntax::Secrets.text(key);
        entry.put("headers", "Authorization", format!("Bearer {key}"));
    }
    entry.finish()
}

fn request_option(entry: &mut EntryBuilder<'_>, key: &str, value: &ConfigNode) {
    match key {
        "headers" => {
            for header in value.members() {
                if let Some(text) = header.value.as_str() {
                    entry.put("headers", &header.key, ReferenceSyntax::Secrets.text(text));
                }
            }
        }
        "caBundlePath" if value.as_str().is_some() => {
            entry.put("tls", "caFile", value.to_json());
        }
        _ => {
            entry.lose(format!("requestOptions.{key}"), "Switchboard has no equivalent", &value.at);
        }
    }
}
