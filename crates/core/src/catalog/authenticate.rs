//! The `authenticate` tool that stands in for the tools of a server that needs a sign-in.
//!
//! Used by `engine::snapshot::build`, which lists it under the server's name, and by `dispatch::tool`, which
//! answers its calls. Signing in itself is in `connection::sign_in`.

use std::sync::{Arc, LazyLock};

use serde_json::json;
use switchboard_wire::json::Raw;

use super::{ParsedList, ServerLists, Tool};

const AUTHENTICATE_TOOL_NAME: &str = "authenticate";
const DESCRIPTION: &str = "A person has to sign in before this server can be used. Call this to begin: it answers at \
    once with the address of a page. Show that address to the user, who signs in there in their browser. The tools of \
    the server take the place of this one as soon as the user has signed in.";

/// The tool. Its definition is constant, so parsing does not fail.
static TOOL: LazyLock<Option<Arc<Tool>>> = LazyLock::new(|| {
    let item = json!({
        "name": AUTHENTICATE_TOOL_NAME,
        "title": "Sign in",
        "description": DESCRIPTION,
        "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
        "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true },
        "_meta": { "anthropic/alwaysLoad": true },
    });
    let tool = Tool::parse(&Raw::from(&item), &|_| Ok(())).ok()?;
    Some(Arc::new(tool))
});

/// The lists of a server that needs a sign-in: its former lists, with this tool as the only one.
pub(crate) fn sign_in_lists(before: &ServerLists) -> ServerLists {
    before.with_tools(ParsedList { items: TOOL.iter().cloned().collect(), problems: Vec::new() })
}

/// Whether `tool` is this tool, and not a server's tool of an equal name.
pub(crate) fn is_authenticate_tool(tool: &Tool) -> bool {
    TOOL.as_ref().is_some_and(|ours| std::ptr::eq(&raw const **ours, tool))
}
