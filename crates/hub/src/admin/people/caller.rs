//! The caller of a request to the console for people: a principal, as a user or as an administrator.
//!
//! Made by `people::identify`, used by every handler. It does not read sessions or settings.

use serde::Serialize;
use switchboard_core::principal::Principal;

use super::super::problem::AdminProblem;

/// The principal that a browser belongs to, and what it may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConsoleCaller {
    pub(super) principal: Principal,
    pub(super) role: ConsoleRole,
}

/// What a caller may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ConsoleRole {
    /// What is their own.
    User,
    /// The metadata of all.
    Admin,
}

// === impl ConsoleCaller ===

impl ConsoleCaller {
    /// Whether the caller sees the metadata of what belongs to the principal with this id.
    pub(super) fn sees(&self, principal: &str) -> bool {
        self.role == ConsoleRole::Admin || self.is(principal)
    }

    /// Whether the caller is the principal with this id.
    pub(super) fn is(&self, principal: &str) -> bool {
        **self.principal.id() == *principal
    }

    pub(super) fn require_admin(&self) -> Result<(), AdminProblem> {
        match self.role {
            ConsoleRole::Admin => Ok(()),
            ConsoleRole::User => Err(super::not_for_users()),
        }
    }
}
