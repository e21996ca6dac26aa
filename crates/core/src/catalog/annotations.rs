//! The annotations of a tool: the server's hints about its effects.
//!
//! Used by `permission` (modes and classifier) and by the fronts. They are the server's claim: they may make a call
//! easier to allow, but never override a rule.

use serde::{Deserialize, Serialize};
use switchboard_wire::json::Raw;

/// The hints of a tool. An absent hint has the default of the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// A repeated call has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches beyond a closed world, for example the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

// === impl ToolAnnotations ===

impl ToolAnnotations {
    /// Reads the hints from a tool's definition. A hint that is not a boolean counts as absent, which is the more
    /// careful reading.
    pub fn from_tool(tool: &Raw) -> Self {
        let hint = |name| flag(tool, &["annotations", name]);
        Self {
            read_only_hint: hint("readOnlyHint"),
            destructive_hint: hint("destructiveHint"),
            idempotent_hint: hint("idempotentHint"),
            open_world_hint: hint("openWorldHint"),
        }
    }

    /// Whether the tool changes nothing; by default no.
    pub fn is_read_only(self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may destroy something; by default yes, unless it only reads.
    pub fn is_destructive(self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether a repeated call has no further effect; by default no.
    pub fn is_idempotent(self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool reaches beyond a closed world; by default yes.
    pub fn is_open_world(self) -> bool {
        self.open_world_hint.unwrap_or(true)
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
    fn an_absent_or_broken_hint_is_read_carefully() {
        let check = |definition: &str, read_only, destructive, open_world| {
            let hints = ToolAnnotations::from_tool(&Raw::parse(definition.to_owned()).unwrap());
            let found = (hints.is_read_only(), hints.is_destructive(), hints.is_open_world());
            assert_eq!(found, (read_only, destructive, open_world), "{definition}");
        };
        check("{}", false, true, true);
        check(r#"{"annotations":{"readOnlyHint":true}}"#, true, false, true);
        check(r#"{"annotations":{"readOnlyHint":true,"destructiveHint":true}}"#, true, false, true);
        check(r#"{"annotations":{"destructiveHint":false}}"#, false, false, true);
        check(r#"{"annotations":{"openWorldHint":false}}"#, false, true, false);
        check(r#"{"annotations":{"readOnlyHint":"yes","openWorldHint":0}}"#, false, true, true);
        check(r#"{"annotations":{"readOnlyHint":true,"readOnlyHint":false}}"#, false, true, true);
    }
}
