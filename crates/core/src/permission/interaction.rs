//! Whether a tool wants a person to look at each call. It is the server's word, and only ever asks for more.

use switchboard_wire::json::Raw;

/// Whether a tool wants a person to look at each call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolInteraction {
    /// It does.
    Required,
    /// It does not care.
    #[default]
    Free,
}

const INTERACTION_META_KEY: &str = "anthropic/requiresUserInteraction";

// === impl ToolInteraction ===

impl ToolInteraction {
    /// What a tool's definition asks for.
    pub fn from_tool(tool: &Raw) -> Self {
        match flag(tool, &["_meta", INTERACTION_META_KEY]) {
            Some(true) => Self::Required,
            _ => Self::Free,
        }
    }
}

/// A key that stands twice counts as absent.
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
