//! Whether a tool wants a person to look at each call. It is the server's word, and only ever asks for more.

use switchboard_wire::json::Raw;

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
