//! The words of permission questions: the sentence that asks, the answers, and what a tool's annotations mean.
//!
//! Used by the command line, the terminal UI and the forms of clients (`gateway::bridge`). The console has the same words
//! in `questions.js`; a test compares them. It does not decide about calls (`permission::judge`).

use switchboard_wire::sanitize;

use super::{AnswerLifetime, ToolAnnotations};

/// An answer to a permission question, as a person chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The call may happen.
    AllowOnce,
    /// Calls may happen until the client's session ends.
    AllowForSession,
    /// Calls may happen in this project.
    AllowInProject,
    /// Calls may happen everywhere.
    AllowAlways,
    /// The call may not happen.
    Deny,
    /// No such call may happen, anywhere.
    DenyAlways,
}

/// The question as a sentence. The names come from a client and a server, and are sanitized here.
pub fn permission_sentence(client: Option<&str>, tool: &str, server: &str) -> String {
    let [client, tool, server] =
        [client.unwrap_or("A client"), tool, server].map(sanitize::sanitize_line);
    format!("{client} wants to call {tool} on {server}.")
}

/// What the annotations of a tool mean for a person who decides; for absent ones, the worst case that the protocol
/// assumes.
pub fn describe_annotations(annotations: ToolAnnotations) -> String {
    let claims = [
        (annotations.is_destructive(), "may delete or overwrite"),
        (annotations.is_read_only(), "says that it only reads"),
        (annotations.open_world_hint == Some(true), "reaches beyond this machine"),
    ];
    let claims = claims.into_iter().filter(|(applies, _)| *applies).map(|(_, claim)| claim);
    claims.collect::<Vec<_>>().join(", ")
}

// === impl PermissionAnswer ===

impl PermissionAnswer {
    /// All answers, in the order in which people see them.
    pub const ALL: [Self; 6] = [
        Self::AllowOnce,
        Self::AllowForSession,
        Self::AllowInProject,
        Self::AllowAlways,
        Self::Deny,
        Self::DenyAlways,
    ];

    /// The words on the button.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AllowOnce => "Allow once",
            Self::AllowForSession => "Allow for this session",
            Self::AllowInProject => "Always allow in this project",
            Self::AllowAlways => "Always allow",
            Self::Deny => "Deny",
            Self::DenyAlways => "Always deny",
        }
    }

    /// Whether the call may happen.
    pub const fn allows(self) -> bool {
        !matches!(self, Self::Deny | Self::DenyAlways)
    }

    /// For how long the answer counts.
    pub const fn lifetime(self) -> AnswerLifetime {
        match self {
            Self::AllowOnce | Self::Deny => AnswerLifetime::Once,
            Self::AllowForSession => AnswerLifetime::Session,
            Self::AllowInProject => AnswerLifetime::Project,
            Self::AllowAlways => AnswerLifetime::Always,
            Self::DenyAlways => AnswerLifetime::Never,
        }
    }
}

impl From<AnswerLifetime> for PermissionAnswer {
    /// The answer that is remembered with this lifetime. A denial is remembered only if it is for good.
    fn from(lifetime: AnswerLifetime) -> Self {
        match lifetime {
            AnswerLifetime::Once => Self::AllowOnce,
            AnswerLifetime::Session => Self::AllowForSession,
            AnswerLifetime::Project => Self::AllowInProject,
            AnswerLifetime::Always => Self::AllowAlways,
            AnswerLifetime::Never => Self::DenyAlways,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_client_tool_and_server_in_safe_letters() {
        let sentence = permission_sentence(Some("ada\u{1b}[2J"), "mcp__kiosk__order", "kiosk");
        assert!(!sentence.contains('\u{1b}'), "{sentence:?}");
        assert!(sentence.ends_with(" wants to call mcp__kiosk__order on kiosk."), "{sentence}");
        assert_eq!(permission_sentence(None, "t", "s"), "A client wants to call t on s.");
    }

    #[test]
    fn a_remembered_answer_has_the_words_of_its_button() {
        for answer in PermissionAnswer::ALL {
            let is_remembered = answer != PermissionAnswer::Deny;
            let found = PermissionAnswer::from(answer.lifetime());
            assert_eq!(found == answer, is_remembered, "{answer:?}");
            assert_eq!(answer.allows(), answer.label().to_lowercase().contains("allow"));
        }
    }

    #[test]
    fn annotations_say_the_worst_case() {
        let hints = |read_only_hint, destructive_hint, open_world_hint| {
            let idempotent_hint = None;
            describe_annotations(ToolAnnotations {
                read_only_hint,
                destructive_hint,
                idempotent_hint,
                open_world_hint,
            })
        };
        assert_eq!(hints(None, None, None), "may delete or overwrite");
        assert_eq!(hints(Some(true), Some(true), None), "says that it only reads");
        assert_eq!(hints(None, Some(false), Some(true)), "reaches beyond this machine");
    }
}
