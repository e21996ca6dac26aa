//! The reader for Zed: `context_servers` in `settings.json`; in older files the command is an object.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, left_behind_problem, read_each};
use super::reference_syntax::ReferenceSyntax;
use crate::source::{ConfigNode, ConfigValue};

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    read_each(node.get("context_servers"), |name, theirs, problems| {
        let command = theirs.get("command");
        let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Nothing);
        match command.map(|command| &command.value) {
            Some(ConfigValue::Object(_)) => {
                let mut inner = EntryBuilder::new(command?, &ReferenceSyntax::Nothing);
                let mut made =
                    inner.copy_as("path", "command").copy_members(&["args", "env"]).finish();
                if theirs.get("enabled").and_then(ConfigNode::as_bool) == Some(false) {
                    made["disabled"] = true.into();
                }
                return Some(made);
            }
            Some(_) => entry.copy_members(&["command", "args", "env"]),
            None if entry.has("url") => entry.set("type", "http").copy_members(&["url", "headers"]),
            None => {
                problems.push(left_behind_problem(
                    name,
                    "an extension of the editor provides it",
                    &theirs.at,
                ));
                return None;
            }
        };
        Some(entry.enabled().finish())
    })
}
