//! The one tool of a server that somebody has to sign in to first. It is ours, under the server's name.

use std::sync::{Arc, LazyLock};

use serde_json::json;
use switchboard_wire::json::Raw;

use super::{ParsedList, ServerLists, Tool};

const AUTHENTICATE_TOOL_NAME: &str = "authenticate";
const DESCRIPTION: &str = "Somebody has to sign in before this server can be used. Call this to begin: it answers at \
    once with the address of a page. Show that address to the user, who signs in there in their browser. The tools of \
    the server take the place of this one as soon as they have.";

/// Nothing in it comes from a server, so there is nothing in it that could fail to be read.
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

/// What a server offers that somebody has to sign in to.
pub(crate) fn sign_in_lists(before: &ServerLists) -> ServerLists {
    before.with_tools(ParsedList { items: TOOL.iter().cloned().collect(), problems: Vec::new() })
}

/// Whether it is that tool, and not one that a server calls the same.
pub(crate) fn is_authenticate_tool(tool: &Tool) -> bool {
    TOOL.as_ref().is_some_and(|ours| std::ptr::eq(&raw const **ours, tool))
}
