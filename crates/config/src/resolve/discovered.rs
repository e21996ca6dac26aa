//! Discovered servers: native plugins, open editors, and in-process servers, for which no file has an entry.
//!
//! Used by `resolve`, `core::ide`, `core::engine::supervisor` and `cli::plugins`. They need no approval,
//! because the user's plugin folder and the user's editor are the user's choice. Everything else that stops a
//! configured server stops them too: the administrator's exclusive file, policy, and settings that disable
//! servers. One that may not run is shown with the reason.

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
use crate::source::{ConfigNode, LocatedValue, SourceLocation, SourceOrigin};

/// The name of the server of all native plugins.
pub const PLUGINS_SERVER: &str = "plugins";
/// The name of the server of an open editor.
pub const EDITOR_SERVER: &str = "ide";
/// The name of the server that is built into the program.
pub const BUILTIN_SERVER: &str = "builtin";

/// A discovered server.
#[derive(Debug, Clone)]
pub struct DiscoveredServer {
    /// The server's name, by which policy rules and settings match it.
    pub name: String,
    /// The server's scope.
    pub scope: Scope,
    /// Where the server was found.
    pub at: SourceLocation,
    /// The entry as it would be written, without secrets.
    pub template: ConfigNode,
    /// The entry.
    pub entry: Entry,
}

// === impl DiscoveredServer ===

impl DiscoveredServer {
    /// An in-process server, or one that this process represents. It has neither a URL nor a command, so
    /// rules match it by its name only.
    pub fn in_process(name: impl Into<String>, scope: Scope, at: SourceLocation) -> Self {
        let template = ConfigNode::from_json(&json!({ "type": "sdk" }), &at);
        let entry = Entry::new(Transport::Sdk);
        Self { name: name.into(), scope, at, template, entry }
    }
}

// === impl Desired ===

impl Desired {
    /// Adds a discovered server: ready, or with the reason why it is not. A configured server with its name
    /// replaces it, and the administrator's exclusive file blocks it.
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
            secrets: BTreeMap::new(),
        });
    }

    /// Admits a discovered server; otherwise returns its state.
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

    /// The entry of the user's native plugins, if there are any and they may run.
    pub fn native_plugins(&self) -> Option<&AdmittedEntry> {
        self.servers_named(PLUGINS_SERVER).find_map(|server| match &server.state {
            ServerReadiness::Ready(entry) if matches!(entry.transport, Transport::Sdk) => {
                Some(&**entry)
            }
            _ => None,
        })
    }
}

/// The paths where native plugins of the user may be, existing or not: their folder, and the paths in
/// settings.
pub fn native_plugin_paths(
    settings: &EffectiveSettings,
    surroundings: &HostContext,
) -> Vec<PathBuf> {
    let named = settings.native_plugins.iter();
    let named = named.map(|path| surroundings.home.join(&path.value));
    std::iter::once(surroundings.config_dir.join("native")).chain(named).collect()
}

/// The server of the user's native plugins, if any of these paths exists.
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

/// The problems for paths in `nativePlugins` that do not exist.
pub(super) fn missing_plugins(
    settings: &EffectiveSettings,
    surroundings: &HostContext,
) -> Vec<ConfigProblem> {
    let named = settings.native_plugins.iter();
    let missing = named.filter(|path| !surroundings.home.join(&path.value).exists());
    let problem = |path: &LocatedValue<String>| {
        let message = format!("`nativePlugins` names `{}`, which does not exist", path.value);
        ConfigProblem::warning(ConfigProblemKind::BadValue, message).at(path.at.clone())
    };
    missing.map(problem).collect()
}

/// The names that settings disable, each with its location. The nearest scope that mentions a name decides. A
/// name that a project enables counts once the setting is approved; no approval is requested here, since most
/// names belong to no server.
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
