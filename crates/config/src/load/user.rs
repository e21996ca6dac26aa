//! Loading the user's own choices: settings, bundles, arguments of the run, connector catalogs, other
//! clients' files.
//!
//! Used by `load`.

use std::path::Path;

use super::{EntryCandidate, LoadedConfig, servers_only};
use crate::host_context::{DynamicConfig, HostContext, ResolveOptions};
use crate::import::{self, ClientApp, ClientServers, ImportCandidate};
use crate::install::is_switchboard_entry;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::settings::ServerEntries;
use crate::source::{ConfigNode, ConfigValue, FileOwnership, FileReadResult, SourceOrigin, jsonc};

/// The variable that expands to a bundle's folder in the bundle's entries.
pub(crate) const PLUGIN_ROOT_VARIABLE: &str = "SWITCHBOARD_PLUGIN_ROOT";

impl LoadedConfig {
    pub(super) fn load_user(&mut self, surroundings: &HostContext) {
        let path = surroundings.config_dir.join("settings.json");
        if let Some(node) = self.read_settings(&path, FileOwnership::Any) {
            let servers = self.add_layer(&node, Scope::User);
            self.add_servers(servers, Scope::User);
        }
    }

    /// Loads `--mcp-config`. The later of two arguments wins, so its servers go first.
    pub(super) fn load_dynamic(&mut self, asked: &ResolveOptions) {
        for (index, dynamic) in asked.dynamic.iter().enumerate() {
            let node = match dynamic {
                DynamicConfig::File(path) => self.read_named_file(path),
                DynamicConfig::Text(text) => {
                    let origin = SourceOrigin::text(format!("--mcp-config #{}", index + 1));
                    self.note_problem(jsonc::parse(&origin, text))
                }
            };
            if let Some(node) = node {
                let seen = self.problems.len();
                let servers = self.add_layer(&node, Scope::Dynamic);
                if let Some(problem) = no_servers_member(&node, &self.problems[seen..]) {
                    self.problems.push(problem);
                }
                let earlier = std::mem::take(&mut self.candidates);
                self.add_servers(servers, Scope::Dynamic);
                self.candidates.extend(earlier);
            }
        }
    }

    /// Reads a file that an argument names, which must exist.
    fn read_named_file(&mut self, path: &Path) -> Option<ConfigNode> {
        let node = self.read_json(path, FileOwnership::Any);
        if node.is_none() && !path.exists() {
            let message = format!("cannot read {}: there is no such file", path.display());
            self.problems
                .push(ConfigProblem::error(ConfigProblemKind::Unreadable, message).in_file(path));
        }
        node
    }

    /// Loads connector catalogs. They are text from the network: an entry that would start a process is
    /// refused in `resolve`.
    pub(super) fn load_connectors(&mut self, asked: &ResolveOptions) {
        for fetched in &asked.connectors {
            let Some(node) = self.note_problem(jsonc::parse(&fetched.origin, &fetched.text)) else {
                continue;
            };
            if let Some(servers) = catalogue(&node) {
                self.add_servers(servers, Scope::Connectors);
            } else {
                let message = format!("{} is not a list of servers", fetched.origin);
                self.problems
                    .push(ConfigProblem::error(ConfigProblemKind::WrongType, message).at(node.at));
            }
        }
    }

    pub(super) fn load_plugins(&mut self, surroundings: &HostContext) {
        let folder = surroundings.config_dir.join("plugins");
        for bundle in self.list_folder(&folder) {
            let Some(name) = bundle.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let Some(root) = bundle.to_str() else {
                continue;
            };
            let path = bundle.join(".mcp.json");
            let Some(node) = self.read_json(&path, FileOwnership::Any) else {
                continue;
            };
            for member in bundle_servers(&node, &mut self.problems).0 {
                self.candidates.push(EntryCandidate {
                    name: format!("plugin:{name}:{}", member.key),
                    scope: Scope::Plugin,
                    at: member.at,
                    node: member.value,
                    item: None,
                    start_folder: self.start_folder(Scope::Plugin),
                    variables: vec![(PLUGIN_ROOT_VARIABLE, root.to_owned())],
                });
            }
        }
    }

    /// Loads other clients' files that the user's settings name. They are only read.
    pub(super) fn load_inherited(&mut self, surroundings: &HostContext) {
        let user = self.layers.iter().filter(|layer| layer.scope == Scope::User);
        let names: Vec<_> = user.flat_map(|layer| layer.settings.inherit.clone()).collect();
        for name in names {
            match name.value.parse::<ClientApp>() {
                Ok(client) => self.inherit(client, surroundings),
                Err(error) => {
                    let message = format!("cannot inherit servers: {error}");
                    self.problems.push(
                        ConfigProblem::warning(ConfigProblemKind::CannotInherit, message)
                            .at(name.at),
                    );
                }
            }
        }
    }

    fn inherit(&mut self, client: ClientApp, surroundings: &HostContext) {
        let (files, problems) =
            import::list_client_files(client.user_files(surroundings), &mut self.shelf);
        self.problems.extend(problems);
        let mut read = ClientServers::default();
        for path in files {
            match self.shelf.read_client_file(&path) {
                FileReadResult::Nothing => {}
                FileReadResult::Unusable(problem) => self.problems.push(problem),
                FileReadResult::Text(text) => {
                    let origin = SourceOrigin::file(&path);
                    read.append(import::read_client_file(client, &origin, &text));
                }
            }
        }
        import::apply_switches(client, surroundings, &mut self.shelf, &mut read);
        self.problems.extend(read.problems);
        let root = self.root.clone();
        let start_folder = self.start_folder(Scope::Inherited);
        let is_here =
            |server: &ImportCandidate| server.project.as_ref().is_none_or(|at| *at == root);
        let here = read.servers.into_iter().filter(is_here);
        let (ours, here): (Vec<_>, Vec<_>) =
            here.partition(|server| is_switchboard_entry(&server.entry));
        self.problems.extend(ours.iter().map(own_entry_note));
        self.candidates.extend(here.into_iter().map(|server| EntryCandidate {
            node: ConfigNode::from_json(&server.entry, &server.at),
            name: server.name,
            scope: Scope::Inherited,
            at: server.at,
            item: None,
            start_folder: start_folder.clone(),
            variables: Vec::new(),
        }));
    }
}

/// The note about this program's own entry in another client's file, which would start it beneath itself.
fn own_entry_note(server: &ImportCandidate) -> ConfigProblem {
    let ImportCandidate { client, name, at, .. } = server;
    let message = format!("`{name}` of {client} is not inherited: it is this program");
    ConfigProblem::note(ConfigProblemKind::CannotInherit, message).at(at.clone())
}

/// The problem of a `--mcp-config` without `mcpServers`. One with only settings, such as `permissions`, is
/// valid; an empty one, or one with only unknown members, was meant to hold servers.
fn no_servers_member(node: &ConfigNode, found: &[ConfigProblem]) -> Option<ConfigProblem> {
    let ConfigValue::Object(members) = &node.value else { return None };
    let has_servers =
        node.get("mcpServers").is_some_and(|servers| servers.value != ConfigValue::Null);
    let is_unknown = |problem: &ConfigProblem| {
        problem.kind == ConfigProblemKind::UnknownMember
            && members.iter().any(|member| problem.at.as_ref() == Some(&member.at))
    };
    if has_servers || !members.is_empty() && !found.iter().any(is_unknown) {
        return None;
    }
    let keys: Vec<_> = members.iter().map(|member| format!("`{}`", member.key)).collect();
    let keys = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
    let message = format!("{} has no `mcpServers`; it has {keys}", node.at.origin);
    let problem = ConfigProblem::error(ConfigProblemKind::MissingMember, message);
    Some(problem.at(node.at.clone()).hint(ProblemHint::AddMember("mcpServers".to_owned())))
}

/// The servers of a bundle; bundles made for other hosts leave out the outer member.
fn bundle_servers(node: &ConfigNode, problems: &mut Vec<ConfigProblem>) -> ServerEntries {
    let is_bare = node.get("mcpServers").is_none()
        && node.members().iter().all(|member| matches!(member.value.value, ConfigValue::Object(_)));
    if is_bare {
        ServerEntries(crate::settings::last_of_each(node))
    } else {
        servers_only(node, problems)
    }
}

/// The servers of a connector catalog: an object of entries by name, or a list of entries that carry their
/// names.
fn catalogue(node: &ConfigNode) -> Option<ServerEntries> {
    let list = node.get("mcpServers").or_else(|| node.get("servers")).unwrap_or(node);
    match &list.value {
        ConfigValue::Object(members) => Some(ServerEntries(members.clone())),
        ConfigValue::List(elements) => {
            Some(ServerEntries(elements.iter().filter_map(named_entry).collect()))
        }
        _ => None,
    }
}

fn named_entry(node: &ConfigNode) -> Option<crate::source::ConfigMember> {
    let key = node.get("name")?.as_str()?.to_owned();
    let members = node.members().iter().filter(|member| member.key != "name").cloned().collect();
    let value = ConfigNode { value: ConfigValue::Object(members), at: node.at.clone() };
    Some(crate::source::ConfigMember { key, at: node.at.clone(), value })
}
