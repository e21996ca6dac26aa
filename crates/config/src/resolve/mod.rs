//! Resolving: from the loaded scopes to the desired state.
//!
//! Used by `sources`, `workspace` and every command that lists servers. The order of the checks is fixed: is
//! the entry valid, does policy allow it, was it rejected, is it disabled, was it approved, does every
//! variable have a value, does every secret. Only an entry that passes all of them is expanded, so no other
//! entry can be started by mistake or learn a secret.

mod agent;
mod approval_gate;
mod connectors;
mod desired;
mod discovered;
mod policy;
mod principals;
mod rules;
mod secrets;
mod servers;
mod settings;

pub use approval_gate::UndecidedItem;
pub use desired::{
    ClassifierCommand, Desired, DesiredServer, EffectiveHook, EffectiveSettings, NotReadyReason,
    PermissionRule, PermissionRules, SecretVisibility, ServerReadiness, ShadowedEntry,
};
pub use discovered::{
    BUILTIN_SERVER, DiscoveredServer, EDITOR_SERVER, PLUGINS_SERVER, native_plugin_paths,
};
pub(crate) use servers::setting_item;
pub use settings::read_limits;

use std::path::PathBuf;

use crate::approval::{ApprovalStore, Approvals};
use crate::host_context::{HostContext, ResolveOptions};
use crate::load::{self, LoadedConfig};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::secret::SecretProvider;
use crate::source::{SourceLocation, SourceOrigin};
use approval_gate::ApprovalGate;

/// Reads every scope and decides which servers are desired.
///
/// `switchboard_sources` calls this whenever one of [`Desired::watched`] changes, and fetches the connector
/// catalog that [`EffectiveSettings::connectors`] names: resolve once, fetch, then resolve again with the
/// text in [`ResolveOptions::connectors`]. A file that broke since shows as a [`ConfigProblem`] of kind
/// `malformed` or `unreadable` with its location, so that the last good state can be kept.
pub fn resolve_desired(surroundings: &HostContext, asked: &ResolveOptions) -> Desired {
    let mut loaded = load::load_scopes(surroundings, asked);
    let store = ApprovalStore::new(&surroundings.state_dir);
    let mut problems = std::mem::take(&mut loaded.problems);
    let approvals = store.load().unwrap_or_else(|error| {
        problems.push(unreadable(&store, &error));
        Approvals::default()
    });
    let mut desired =
        build_desired(&loaded, ApprovalGate::new(approvals), surroundings, asked, problems);
    desired.watched = loaded.shelf.into_paths();
    desired.watched.push(store.path());
    desired.watched.extend(native_plugin_paths(&desired.settings, surroundings));
    desired.watched.extend(surroundings.secrets.watched_files());
    desired.watched.extend(secret_files(&desired.settings));
    desired
}

/// The files that provide secrets.
fn secret_files(settings: &EffectiveSettings) -> impl Iterator<Item = PathBuf> {
    settings.secret_providers.values().filter_map(|provider| match &provider.value {
        SecretProvider::File(path) => Some(path.clone()),
        SecretProvider::Command(_) | SecretProvider::OnePassword(_) => None,
    })
}

/// The problem of an unreadable record of approvals, with which nothing counts as approved.
fn unreadable(store: &ApprovalStore, error: &crate::error::Error) -> ConfigProblem {
    let message = format!("nothing counts as approved: {error}");
    ConfigProblem::error(ConfigProblemKind::ApprovalsUnreadable, message).in_file(&store.path())
}

fn build_desired(
    loaded: &LoadedConfig,
    mut gate: ApprovalGate,
    surroundings: &HostContext,
    asked: &ResolveOptions,
    mut problems: Vec<ConfigProblem>,
) -> Desired {
    let effective = settings::effective_settings(loaded, surroundings, &mut gate, &mut problems);
    let rules = rules::collect_rules(loaded, &mut gate, &mut problems);
    let hooks = settings::collect_hooks(loaded, &mut gate);
    let choice = agent::choose_agent(loaded, asked, &mut gate, &mut problems);
    let policy = policy::collect_policy(loaded);
    let bench = servers::ServerResolver::new(loaded, surroundings, &effective, &policy, &choice);
    let (servers, shadowed) = bench.resolve_servers(&mut gate, &mut problems);
    let skipped_folders = bench.skipped_folders(&servers);
    let mut desired = Desired {
        root: loaded.root.clone(),
        exclusive: loaded.exclusive,
        variables: servers::collect_variables(loaded),
        servers,
        shadowed,
        rules,
        hooks,
        settings: effective,
        agent: None,
        pending: Vec::new(),
        problems,
        skipped_folders,
        watched: Vec::new(),
        exclusive_at: loaded.exclusive.then(|| managed_servers_file(surroundings)),
        switched_off: discovered::disabled_names(loaded, &gate),
        policy,
    };
    let may_be_found = !asked.strict && !desired.exclusive;
    if let Some(plugins) =
        discovered::native_plugins(&desired.settings, surroundings).filter(|_| may_be_found)
    {
        desired.add_discovered(plugins);
    }
    if may_be_found {
        desired.problems.extend(discovered::missing_plugins(&desired.settings, surroundings));
    }
    agent::apply_agent(&choice, &mut desired);
    desired.pending = gate.into_pending();
    desired
}

/// The administrator's file that makes its servers, if it has any, the only ones.
fn managed_servers_file(surroundings: &HostContext) -> SourceLocation {
    SourceOrigin::file(surroundings.managed_dir.join("managed-mcp.json")).start()
}
