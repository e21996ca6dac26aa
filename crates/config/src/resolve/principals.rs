//! The check of `sharePrincipals`: only the user or the administrator may let principals share one connection
//! and the server's memory.
//!
//! Used by `resolve::servers`. How connections are shared is decided in `core`.

use crate::entry::Entry;
use crate::load::EntryCandidate;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;

/// Clears `sharePrincipals` in an entry of any other scope, and returns the problem.
pub(super) fn refuse_sharing(
    entry: &mut Entry,
    candidate: &EntryCandidate,
) -> Option<ConfigProblem> {
    let EntryCandidate { name, scope, node, at, .. } = candidate;
    if !entry.share_principals || matches!(scope, Scope::User | Scope::Enterprise) {
        return None;
    }
    entry.share_principals = false;
    let message =
        format!("`sharePrincipals` of server `{name}` has no effect in the {scope} scope");
    let at = node.get("sharePrincipals").map_or(at, |member| &member.at).clone();
    let hint =
        ProblemHint::Other("move the entry to your own settings, or leave it out".to_owned());
    Some(
        ConfigProblem::warning(ConfigProblemKind::NotHonoured, message)
            .at(at)
            .of_server(name)
            .hint(hint),
    )
}
