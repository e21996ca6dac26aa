//! `config.yaml` of goose: `extensions`, most of which are its own.

use super::Read;
use super::entries::{Builder, each, left_behind};
use super::translate::Translate;
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    each(node.get("extensions"), |name, outer, problems| {
        // One form of the file wraps the extension once more.
        let theirs = outer.get("config").unwrap_or(outer);
        let mut entry = Builder::new(theirs, &Translate::Nothing);
        match theirs.get("type").and_then(Node::as_str) {
            Some("stdio") => entry.take("cmd", "command").keep(&["args"]).take("envs", "env"),
            Some("streamable_http") => {
                entry.set("type", "http").take("uri", "url").keep(&["headers"])
            }
            Some("sse") => entry.set("type", "sse").take("uri", "url").keep(&["headers"]),
            kind => {
                let why = format!("goose provides it itself ({})", kind.unwrap_or("no type"));
                problems.push(left_behind(name, &why, &outer.at));
                return None;
            }
        };
        // Names of secrets that goose keeps in the keychain.
        let is_process = theirs.get("cmd").is_some();
        for key in theirs.get("env_keys").map_or(&[][..], Node::elements) {
            if let Some(key) = key.as_str().filter(|_| is_process) {
                entry.put("env", key, format!("${{{key}}}"));
            }
        }
        entry.seconds("timeout").tools("available_tools", "");
        let mut made = entry.finish();
        if outer.get("enabled").and_then(Node::as_bool) == Some(false) {
            made["disabled"] = true.into();
        }
        Some(made)
    })
}
