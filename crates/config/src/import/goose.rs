//! The reader for goose: `extensions` in `config.yaml`, most of which are built into goose.
//!
//! Used by `import`.

use super::entry_builder::{EntryBuilder, left_behind_problem, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers};
use crate::source::ConfigNode;

/// Members that say nothing about the server.
const LABELS: [&str; 6] = ["type", "name", "display_name", "description", "bundled", "enabled"];

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    read_each(client, node.get("extensions"), |name, outer, problems| {
        // One form of the file wraps the extension once more.
        let theirs = outer.get("config").unwrap_or(outer);
        let kind = theirs.get("type").and_then(ConfigNode::as_str);
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Ours);
        match kind {
            Some("stdio") => {
                entry.copy_as("cmd", "command").copy_members(&["args", "cwd"]);
                entry.copy_as("envs", "env");
                secret_variables(&mut entry);
            }
            Some(kind @ ("streamable_http" | "sse")) => {
                entry.set("type", if kind == "sse" { "sse" } else { "http" });
                entry.copy_as("uri", "url").copy_members(&["headers"]);
                // Variables for references in headers; here these come from the environment.
                entry.pass_over(&["env_keys"]);
            }
            kind => {
                let why = format!("goose provides it itself ({})", kind.unwrap_or("no type"));
                problems.push(left_behind_problem(name, &why, &outer.at));
                return None;
            }
        }
        // An empty list shows all tools.
        if theirs.get("available_tools").is_some_and(|list| !list.elements().is_empty()) {
            entry.tools(Some("available_tools"), None);
        }
        entry.seconds("timeout").pass_over(&LABELS);
        let mut converted = entry.finish();
        if outer.get("enabled").and_then(ConfigNode::as_bool) == Some(false) {
            converted.entry["disabled"] = true.into();
        }
        Some(converted)
    })
}

/// Converts the names of secrets that goose keeps in the keychain to variables.
fn secret_variables(entry: &mut EntryBuilder<'_>) {
    for key in entry.take("env_keys").map_or(&[][..], ConfigNode::elements) {
        if let Some(key) = key.as_str() {
            entry.put("env", key, format!("${{{key}}}"));
        }
    }
}
