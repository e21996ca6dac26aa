//! The reader for Cursor: `mcp.json` in our form, with references in the syntax of editors.
//!
//! Used by `import`.

use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers};
use crate::source::ConfigNode;

/// The members of `auth`, with our names for them.
const AUTH_MEMBERS: [(&str, &str); 3] =
    [("CLIENT_ID", "clientId"), ("CLIENT_SECRET", "clientSecret"), ("scopes", "scopes")];

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    read_each(client, node.get("mcpServers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Editor);
        if entry.has("url") && !entry.has("type") {
            entry.set("type", "http");
        }
        entry.copy_members(&[
            "type", "command", "args", "env", "cwd", "envFile", "url", "headers", "disabled",
        ]);
        entry.copy_nested("auth", "oauth", &AUTH_MEMBERS).pass_over(&["description"]);
        Some(entry.finish())
    })
}
