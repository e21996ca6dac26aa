//! Whether a tool's definition requires that a person looks at each call (`anthropic/requiresUserInteraction`).
//!
//! Used by `dispatch::consent` and `permission::judge`. It is the server's claim, and can only add questions, never
//! remove one.

use switchboard_wire::json::Raw;

use crate::catalog::Tool;

/// Whether a tool requires that a person looks at each call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolInteraction {
    /// The tool requires it.
    Required,
    /// The tool does not require it.
    #[default]
    Free,
}

const INTERACTION_META_KEY: &str = "anthropic/requiresUserInteraction";

// === impl ToolInteraction ===

impl ToolInteraction {
    /// Returns what the definition of a listed tool says.
    pub(crate) fn of_tool(tool: &Tool) -> Self {
        if tool.meta.requires_user_interaction { Self::Required } else { Self::Free }
    }

    /// Reads the flag from a tool's definition.
    pub fn from_tool(tool: &Raw) -> Self {
        match flag(tool, &["_meta", INTERACTION_META_KEY]) {
            Some(true) => Self::Required,
            _ => Self::Free,
        }
    }
}

/// Reads a boolean. A key that occurs twice counts as absent.
fn flag(tool: &Raw, path: &[&str]) -> Option<bool> {
    tool.get_path(path).ok().flatten()?.decode().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interaction_is_asked_for_by_a_true_alone() {
        let check = |meta: &str, expected| {
            let tool = Raw::parse(format!(r#"{{"_meta":{meta}}}"#)).unwrap();
            assert_eq!(ToolInteraction::from_tool(&tool), expected, "{meta}");
        };
        check(r#"{"anthropic/requiresUserInteraction":true}"#, ToolInteraction::Required);
        check(r#"{"anthropic/requiresUserInteraction":false}"#, ToolInteraction::Free);
        check("{}", ToolInteraction::Free);
    }
}
