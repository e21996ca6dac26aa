//! What a tool says about itself, as far as permission cares. It is the server's word: it may make a
//! call easier to allow, never override a rule.

use serde::Serialize;
use switchboard_wire::json::Raw;

use crate::catalog;

/// The hints of a tool. An absent hint means what the protocol says it means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// It reaches beyond a closed world, such as the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Whether a tool wants a person to look at each call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interaction {
    /// It does.
    Required,
    /// It does not care.
    #[default]
    Free,
}

const INTERACTION: &str = "anthropic/requiresUserInteraction";

// === impl Annotations ===

impl Annotations {
    /// The hints in a tool's definition. One that is not a boolean counts as absent, which is the more
    /// careful reading of each.
    pub fn of(tool: &Raw) -> Self {
        let hint = |name| flag(tool, &["annotations", name]);
        Self {
            read_only_hint: hint("readOnlyHint"),
            destructive_hint: hint("destructiveHint"),
            open_world_hint: hint("openWorldHint"),
        }
    }

    /// Whether it changes nothing; assumed not.
    pub fn is_read_only(self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether it may destroy something; assumed so, unless it only reads.
    pub fn is_destructive(self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether it reaches beyond a closed world; assumed so.
    pub fn is_open_world(self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

impl From<catalog::Annotations> for Annotations {
    fn from(hints: catalog::Annotations) -> Self {
        Self {
            read_only_hint: Some(hints.read_only),
            destructive_hint: Some(hints.destructive),
            open_world_hint: Some(hints.open_world),
        }
    }
}

// === impl Interaction ===

impl Interaction {
    /// What a tool's definition asks for.
    pub fn of(tool: &Raw) -> Self {
        match flag(tool, &["_meta", INTERACTION]) {
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
    fn an_absent_or_broken_hint_is_read_carefully() {
        let check = |definition: &str, read_only, destructive, open_world| {
            let hints = Annotations::of(&Raw::parse(definition.to_owned()).unwrap());
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

    #[test]
    fn interaction_is_asked_for_by_a_true_alone() {
        let check = |meta: &str, expected| {
            let tool = Raw::parse(format!(r#"{{"_meta":{meta}}}"#)).unwrap();
            assert_eq!(Interaction::of(&tool), expected, "{meta}");
        };
        check(r#"{"anthropic/requiresUserInteraction":true}"#, Interaction::Required);
        check(r#"{"anthropic/requiresUserInteraction":false}"#, Interaction::Free);
        check("{}", Interaction::Free);
    }
}
