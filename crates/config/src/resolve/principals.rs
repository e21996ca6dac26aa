//! The check of `sharePrincipals` and `signIn`: only the user or the administrator may let principals share a
//! connection with the server's memory, or lend them a sign-in.
//!
//! Used by `resolve::servers`. How connections and sign-ins are shared is decided in `core`.

use crate::entry::{Entry, SignInOwner};
use crate::load::EntryCandidate;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;

/// Clears what shares something between principals in an entry of any other scope, and returns the problems.
pub(super) fn refuse_sharing(entry: &mut Entry, candidate: &EntryCandidate) -> Vec<ConfigProblem> {
    if matches!(candidate.scope, Scope::User | Scope::Enterprise) {
        return Vec::new();
    }
    let mut refused = Vec::new();
    if std::mem::take(&mut entry.share_principals) {
        refused.push(without_effect("sharePrincipals", candidate));
    }
    if std::mem::take(&mut entry.sign_in) == SignInOwner::Shared {
        refused.push(without_effect("signIn", candidate));
    }
    refused
}

fn without_effect(member: &str, candidate: &EntryCandidate) -> ConfigProblem {
    let EntryCandidate { name, scope, node, at, .. } = candidate;
    let message = format!("`{member}` of server `{name}` has no effect in the {scope} scope");
    let at = node.get(member).map_or(at, |member| &member.at).clone();
    let hint =
        ProblemHint::Other("move the entry to your own settings, or leave it out".to_owned());
    ConfigProblem::warning(ConfigProblemKind::NotHonoured, message)
        .at(at)
        .of_server(name)
        .hint(hint)
}
