//! Servers that are found instead of configured: native plugins, open editors, servers inside this process.
//!
//! No file holds their entries, so nobody approves them; the user's plugin folder and the user's own editor are the
//! user's choice. Everything else that can stop a configured server stops them too: the administrator's exclusive file,
//! policy, and the settings that switch servers off. One that may not run is shown as such.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::approval_gate::ApprovalGate;
use super::desired::{
    Desired, DesiredServer, EffectiveSettings, NotReadyReason, ServerReadiness, ShadowedEntry,
};
use super::servers::setting_item;
use crate::approval::ItemVerdict;
use crate::entry::{Entry, Transport};
use crate::host_context::HostContext;
use crate::load::LoadedConfig;
use crate::policy::AdmittedEntry;
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::scope::Scope;
use crate::source::{ConfigNode, Located, SourceLocation, SourceOrigin};

/// The name of the server that all native plugins are together.
pub const PLUGINS_SERVER: &str = "plugins";
/// The name of the server that an open editor becomes.
pub const EDITOR_SERVER: &str = "ide";
/// The name of the server that is part of the program.
pub const BUILTIN_SERVER: &str = "builtin";

/// A server that was found.
#[derive(Debug, Clone)]
pub struct DiscoveredServer {
    /// Its name, which rules of a policy and switches mean.
    pub name: String,
    /// Where it comes from.
    pub scope: Scope,
    /// Where it was found.
    pub at: SourceLocation,
    /// The entry as it would be written, without secrets.
    pub template: ConfigNode,
    /// The entry.
    pub entry: Entry,
}

// === impl DiscoveredServer ===

impl DiscoveredServer {
    /// A server inside this process, or one that this process stands in front of. It has neither a URL nor a command, so
    /// rules mean it by its name alone.
    pub fn in_process(name: impl Into<String>, scope: Scope, at: SourceLocation) -> Self {
        let template = ConfigNode::from_json(&json!({ "type": "sdk" }), &at);
        let entry = Entry::new(Transport::Sdk);
        Self { name: name.into(), scope, at, template, entry }
    }
}

// === impl Desired ===

impl Desired {
    /// Adds a server that was found: to be started, or shown with the reason why it is not. A configured one of its name
    /// stands in for it, and the administrator's exclusive file leaves no room for it.
    pub fn add_discovered(&mut self, found: DiscoveredServer) {
        let DiscoveredServer { name, scope, at, template, entry } = found;
        if self.servers_named(&name).any(|server| server.state.shadows()) {
            self.shadowed.push(ShadowedEntry { behind: name.clone(), name, scope, at });
            return;
        }
        let admitted = self.admit(&name, entry);
        let state =
            admitted.map_or_else(|state| state, |entry| ServerReadiness::Ready(Box::new(entry)));
        let working_dir = self.root.clone();
        let (item, signature) = (None, None);
        self.servers.push(DesiredServer {
            name,
            scope,
            at,
            state,
            template,
            working_dir,
            item,
            signature,
        });
    }

    /// Whether a server that was found may run; if not, the state that it is in.
    pub fn admit(&self, name: &str, entry: Entry) -> Result<AdmittedEntry, ServerReadiness> {
        let admitted = self.policy.admit(name, entry);
        let admitted = admitted.map_err(|blocked| {
            ServerReadiness::Blocked(NotReadyReason::new(blocked.why, blocked.by))
        })?;
        if let Some(by) = &self.exclusive_at {
            let why = "the administrator's servers are the only ones";
            return Err(ServerReadiness::Blocked(NotReadyReason::new(why, Some(by.clone()))));
        }
        match self.switched_off.get(name) {
            Some(by) => {
                Err(ServerReadiness::Disabled(NotReadyReason::new("disabled", Some(by.clone()))))
            }
            None => Ok(admitted),
        }
    }

    /// The user's native plugins, where there are any and they may run.
    pub fn native_plugins(&self) -> Option<&AdmittedEntry> {
        self.servers_named(PLUGINS_SERVER).find_map(|server| match &server.state {
            ServerReadiness::Ready(entry) if matches!(entry.transport, Transport::Sdk) => {
                Some(&**entry)
            }
            _ => None,
        })
    }
}

/// Every place where native plugins of the user may be, there or not: their folder, and what settings name.
pub fn native_plugin_paths(
    settings: &EffectiveSettings,
    surroundings: &HostContext,
) -> Vec<PathBuf> {
    let named = settings.native_plugins.iter();
    let named = named.map(|path| surroundings.home.join(&path.value));
    std::iter::once(surroundings.config_dir.join("native")).chain(named).collect()
}

/// The server that the user's native plugins are, where there is any place with some.
pub(super) fn native_plugins(
    settings: &EffectiveSettings,
    surroundings: &HostContext,
) -> Option<DiscoveredServer> {
    let mut paths = native_plugin_paths(settings, surroundings).into_iter();
    let path = paths.find(|path| path.exists())?;
    Some(DiscoveredServer::in_process(
        PLUGINS_SERVER,
        Scope::Plugin,
        SourceOrigin::file(&path).start(),
    ))
}

/// Files and folders of `nativePlugins` that do not exist.
pub(super) fn missing_plugins(
    settings: &EffectiveSettings,
    surroundings: &HostContext,
) -> Vec<ConfigProblem> {
    let named = settings.native_plugins.iter();
    let missing = named.filter(|path| !surroundings.home.join(&path.value).exists());
    let problem = |path: &Located<String>| {
        let message = format!("`nativePlugins` names `{}`, which does not exist", path.value);
        ConfigProblem::warning(ConfigProblemKind::BadValue, message).at(path.at.clone())
    };
    missing.map(problem).collect()
}

/// The names that settings switch off, each with the place that does. The nearest scope that mentions a name decides. What
/// a project switches on counts once it was approved; nothing is asked here, since most names are of no server.
pub(super) fn disabled_names(
    loaded: &LoadedConfig,
    gate: &ApprovalGate,
) -> BTreeMap<String, SourceLocation> {
    let mut decided: BTreeMap<String, Option<SourceLocation>> = BTreeMap::new();
    for layer in loaded.layers.iter().rev().filter(|layer| layer.scope != Scope::Dynamic) {
        for off in &layer.settings.disabled_mcp_servers {
            decided.entry(off.value.clone()).or_insert_with(|| Some(off.at.clone()));
        }
        for on in &layer.settings.enabled_mcp_servers {
            let item = setting_item("enabledMcpServers", Some(&on.value), &on.at);
            if layer.scope.is_trusted() || gate.verdict(&item) == ItemVerdict::Approved {
                decided.entry(on.value.clone()).or_insert(None);
            }
        }
    }
    decided.into_iter().filter_map(|(name, off)| Some((name, off?))).collect()
}
