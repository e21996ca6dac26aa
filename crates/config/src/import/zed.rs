//! The reader for Zed: `context_servers` in `settings.json`; in older files the command is an object.
//!
//! Used by `import`.

use super::entry_builder::{EntryBuilder, left_behind_problem, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers};
use crate::source::{ConfigNode, ConfigValue};

/// The members of `oauth`, with our names for them.
const OAUTH_MEMBERS: [(&str, &str); 2] =
    [("client_id", "clientId"), ("client_secret", "clientSecret")];

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    read_each(client, node.get("context_servers"), |name, theirs, problems| {
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Literal);
        entry.pass_over(&["source"]);
        match theirs.get("command").map(|command| &command.value) {
            Some(ConfigValue::Object(_)) => old_command(&mut entry, theirs),
            Some(_) => {
                entry.copy_members(&["command", "args", "env"]);
            }
            None if entry.has("url") => {
                entry.set("type", "http").copy_members(&["url", "headers"]);
                entry.copy_nested("oauth", "oauth", &OAUTH_MEMBERS);
            }
            None => {
                let why = "an extension of the editor provides it";
                problems.push(left_behind_problem(name, why, &theirs.at));
                return None;
            }
        }
        if let Some(timeout) = entry.take("timeout") {
            let why = "versions of Zed disagree whether it counts seconds or milliseconds";
            entry.lose("timeout", why, &timeout.at);
        }
        Some(entry.enabled().finish())
    })
}

/// Converts the older form, in which the command is an object.
fn old_command<'a>(entry: &mut EntryBuilder<'a>, theirs: &'a ConfigNode) {
    let Some(command) = theirs.get("command") else { return };
    entry.pass_over(&["command"]);
    let mut inner = EntryBuilder::new(command, ReferenceSyntax::Literal);
    inner.copy_as("path", "command").copy_members(&["args", "env"]);
    entry.merge("command", inner.finish());
}
