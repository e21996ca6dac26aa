//! Whether a principal could use a tool at all, whatever the arguments are: lists leave out what it could not.
//!
//! Used by `engine::snapshot::build` for lists, and by `permission::explain`. A tool that a hook or a remembered answer
//! could allow stays listed. The local principal also sees what its mode refuses: a person can type a call or choose
//! another mode. Calls are judged by `permission::judge` alone, also those of tools that are not listed.

use switchboard_config::PermissionMode;

use super::{RulePrincipal, ToolAnnotations, ToolInteraction, ToolMemory, WorkspacePermissions};
use crate::principal::LOCAL_PRINCIPAL;

/// The facts about a tool and a principal that decide whether the principal could use the tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolUseSubject<'a> {
    /// The rules and the mode.
    pub permissions: &'a WorkspacePermissions,
    /// The server's name, normalised and not cut.
    pub server: &'a str,
    /// The tool's name, normalised and not cut.
    pub tool: &'a str,
    /// The principal.
    pub principal: &'a RulePrincipal,
    /// The tool's annotations.
    pub annotations: ToolAnnotations,
    /// Whether the tool requires that a person looks at each call.
    pub interaction: ToolInteraction,
    /// Whether a hook runs before calls of the tool.
    pub has_hook: bool,
}

/// Whether the lists of a principal depend on this mode.
pub(crate) fn hides_by_mode(mode: PermissionMode, principal: &RulePrincipal) -> bool {
    matches!(mode, PermissionMode::Plan | PermissionMode::DontAsk)
        && *principal.id != *LOCAL_PRINCIPAL
}

// === impl ToolUseSubject ===

impl ToolUseSubject<'_> {
    /// Whether the mode leaves a way for a call of the tool to happen. `remembered` returns the answers about the tool.
    pub fn is_usable_in_mode(&self, remembered: impl FnOnce() -> ToolMemory) -> bool {
        let mode = self.permissions.mode();
        if !hides_by_mode(mode, self.principal) {
            return true;
        }
        if mode == PermissionMode::Plan {
            return self.annotations.is_read_only();
        }
        let (server, tool, principal) = (self.server, self.tool, self.principal);
        let is_always_asked = self.permissions.always_asks(server, tool, principal);
        let is_allowed = self.has_hook || self.permissions.could_allow(server, tool, principal);
        match self.interaction {
            ToolInteraction::Required => false,
            ToolInteraction::Free => is_allowed && !is_always_asked || remembered().has_yes(),
        }
    }
}
