//! The collection of policy rules from the scopes that may set them.
//!
//! Used by `resolve`. The rules are applied in `policy`.

use crate::load::LoadedConfig;
use crate::policy::Policy;
use crate::scope::Scope;

/// Collects the rules. Deny rules count from every scope, because they only restrict. Allow rules count from
/// the user and the administrator, or from the administrator alone if their settings say so; an allow list of
/// a project could widen the user's own.
pub(super) fn collect_policy(loaded: &LoadedConfig) -> Policy {
    let mut policy = Policy::default();
    if let Some(problem) = &loaded.closed {
        policy.close(problem.clone());
    }
    let managed_only = loaded.layers.iter().any(|layer| {
        let flag = &layer.settings.allow_managed_mcp_servers_only;
        layer.scope == Scope::Enterprise && flag.as_ref().is_some_and(|flag| flag.value)
    });
    for layer in &loaded.layers {
        policy.deny(&layer.settings.denied_mcp_servers);
        let may_allow =
            layer.scope == Scope::Enterprise || (layer.scope == Scope::User && !managed_only);
        if let Some(rules) = layer.settings.allowed_mcp_servers.as_ref().filter(|_| may_allow) {
            policy.allow(&rules.value, &rules.at);
        }
    }
    policy
}
