//! The reader for goose: `extensions` in `config.yaml`, most of which are built into goose.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, left_behind_problem, read_each};
use super::reference_syntax::ReferenceSyntax;
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    read_each(node.get("extensions"), |name, outer, problems| {
        // One form of the file wraps the extension once more.
        let theirs = outer.get("config").unwrap_or(outer);
        let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Nothing);
        match theirs.get("type").and_then(ConfigNode::as_str) {
            Some("stdio") => {
                entry.copy_as("cmd", "command").copy_members(&["args"]).copy_as("envs", "env")
            }
            Some("streamable_http") => {
                entry.set("type", "http").copy_as("uri", "url").copy_members(&["headers"])
            }
            Some("sse") => {
                entry.set("type", "sse").copy_as("uri", "url").copy_members(&["headers"])
            }
            kind => {
                let why = format!("goose provides it itself ({})", kind.unwrap_or("no type"));
                problems.push(left_behind_problem(name, &why, &outer.at));
                return None;
            }
        };
        // The names of secrets that goose keeps in the keychain.
        let is_process = theirs.get("cmd").is_some();
        for key in theirs.get("env_keys").map_or(&[][..], ConfigNode::elements) {
            if let Some(key) = key.as_str().filter(|_| is_process) {
                entry.put("env", key, format!("${{{key}}}"));
            }
        }
        entry.seconds("timeout").tools("available_tools", "");
        let mut made = entry.finish();
        if outer.get("enabled").and_then(ConfigNode::as_bool) == Some(false) {
            made["disabled"] = true.into();
        }
        Some(made)
    })
}
