//! Loading of all scopes: which files exist, and their entries and settings.
//!
//! Used by `resolve` and `workspace`. It decides nothing: the result is a list of candidates and of settings,
//! each with its location; an unreadable file is a problem beside the others.

mod managed;
mod project;
mod user;

use std::path::{Path, PathBuf};

use crate::agent::AgentFile;
use crate::approval::{ApprovalItem, ApprovalItemKind};
use crate::host_context::{HostContext, ResolveOptions};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::settings::{ServerEntries, Settings, decode_settings};
use crate::source::{
    ConfigNode, FileOwnership, FileReadResult, FileReader, ObjectFields, SourceLocation,
    SourceOrigin, jsonc,
};

pub use project::project_root;
pub(crate) use user::PLUGIN_ROOT_VARIABLE;

/// One server entry, as written in a file.
#[derive(Debug, Clone)]
pub(crate) struct EntryCandidate {
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) at: SourceLocation,
    pub(crate) node: ConfigNode,
    /// The item to approve before the entry may be used; absent if the user or the administrator wrote it.
    pub(crate) item: Option<ApprovalItem>,
    /// The folder that the entry was approved or written for: its process starts there.
    pub(crate) start_folder: PathBuf,
    /// Variables for this entry only.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// One settings file.
#[derive(Debug, Clone)]
pub(crate) struct SettingsLayer {
    pub(crate) scope: Scope,
    /// The folder in which its hooks and other commands start.
    pub(crate) start_folder: PathBuf,
    pub(crate) settings: Settings,
}

/// The loaded files of all scopes.
#[derive(Debug, Default)]
pub(crate) struct LoadedConfig {
    pub(crate) root: PathBuf,
    /// The root, if it is a project: `${workspaceFolder}` in entries.
    pub(crate) project: Option<PathBuf>,
    /// The caller's home.
    pub(crate) home: PathBuf,
    /// The caller's working directory.
    pub(crate) cwd: PathBuf,
    /// The server entries, greatest precedence first.
    pub(crate) candidates: Vec<EntryCandidate>,
    /// The settings files, least precedence first.
    pub(crate) layers: Vec<SettingsLayer>,
    /// The agent files, the project's before the user's.
    pub(crate) agents: Vec<AgentFile>,
    /// Why no server may run at all.
    pub(crate) closed: Option<ConfigProblem>,
    /// Whether the administrator's servers are the only ones.
    pub(crate) exclusive: bool,
    /// Where a settings file cannot be parsed: its rules and hooks are not known.
    pub(crate) unclear_restrictions: Option<SourceLocation>,
    pub(crate) problems: Vec<ConfigProblem>,
    pub(crate) shelf: FileReader,
}

/// Loads all scopes.
pub(crate) fn load_scopes(surroundings: &HostContext, asked: &ResolveOptions) -> LoadedConfig {
    let mut loaded = LoadedConfig {
        root: project_root(surroundings),
        project: project::find_project(surroundings),
        home: surroundings.home.clone(),
        cwd: surroundings.cwd.clone(),
        ..LoadedConfig::default()
    };
    loaded.load_user(surroundings);
    loaded.load_project(surroundings);
    loaded.load_dynamic(asked);
    loaded.load_connectors(asked);
    loaded.load_plugins(surroundings);
    loaded.load_inherited(surroundings);
    if asked.strict {
        loaded.candidates.retain(|candidate| candidate.scope == Scope::Dynamic);
    }
    loaded.load_managed(surroundings);
    // A stable sort: within a scope, the nearest file and the last argument stay first.
    loaded.candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.scope));
    loaded.layers.sort_by_key(|layer| layer.scope);
    loaded
}

/// Loads the settings files of the user and of the administrator alone.
pub(crate) fn load_owned_settings(surroundings: &HostContext) -> LoadedConfig {
    let mut loaded = LoadedConfig { home: surroundings.home.clone(), ..LoadedConfig::default() };
    loaded.load_user(surroundings);
    loaded.load_managed(surroundings);
    loaded.layers.retain(|layer| matches!(layer.scope, Scope::User | Scope::Enterprise));
    loaded.layers.sort_by_key(|layer| layer.scope);
    loaded
}

impl LoadedConfig {
    /// Reads a JSON file; on failure, records a problem and returns `None`.
    fn read_json(&mut self, path: &Path, ownership: FileOwnership) -> Option<ConfigNode> {
        match self.shelf.read(path, ownership) {
            FileReadResult::Nothing => None,
            FileReadResult::Text(text) => {
                self.note_problem(jsonc::parse(&SourceOrigin::file(path), &text))
            }
            FileReadResult::Unusable(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// Reads a settings file. One that exists and cannot be read may hold rules that refuse calls.
    fn read_settings(&mut self, path: &Path, ownership: FileOwnership) -> Option<ConfigNode> {
        let problems_before = self.problems.len();
        let node = self.read_json(path, ownership);
        let is_unusable = |problem: &&ConfigProblem| {
            matches!(problem.kind, ConfigProblemKind::Malformed | ConfigProblemKind::Unreadable)
        };
        let unusable = self.problems[problems_before..].iter().find(is_unusable);
        if let Some(problem) = unusable {
            let start = || SourceOrigin::file(path).start();
            self.unclear_restrictions = Some(problem.at.clone().unwrap_or_else(start));
        }
        node
    }

    fn note_problem<T>(&mut self, result: Result<T, ConfigProblem>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// Adds a settings file as a layer, and returns its servers.
    fn add_layer(&mut self, node: &ConfigNode, scope: Scope) -> ServerEntries {
        let origin = node.at.origin.clone();
        mention_not_honoured(node, scope, &mut self.problems);
        let mut settings = decode_settings(node, &origin.to_string(), &mut self.problems);
        let servers = std::mem::take(&mut settings.mcp_servers);
        self.layers.push(SettingsLayer { scope, start_folder: self.start_folder(scope), settings });
        servers
    }

    /// The folder in which the commands of a settings file start: for a project, the folder that holds
    /// `.switchboard`.
    fn start_folder(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::Project | Scope::Local | Scope::Agent => self.root.clone(),
            Scope::Dynamic => self.cwd.clone(),
            Scope::Connectors
            | Scope::Plugin
            | Scope::Inherited
            | Scope::User
            | Scope::Enterprise => self.home.clone(),
        }
    }

    /// Adds servers that start in the folder of their scope's settings.
    fn add_servers(&mut self, servers: ServerEntries, scope: Scope) {
        self.add_servers_in(&self.start_folder(scope), servers, scope);
    }

    fn add_servers_in(&mut self, start_folder: &Path, servers: ServerEntries, scope: Scope) {
        for member in servers.0 {
            let item =
                (!scope.is_trusted()).then(|| server_item(&member.key, &member.value, &member.at));
            self.candidates.push(EntryCandidate {
                name: member.key,
                scope,
                at: member.at,
                node: member.value,
                item,
                start_folder: start_folder.to_owned(),
                variables: Vec::new(),
            });
        }
    }
}

/// The approval item of a server entry.
pub(crate) fn server_item(name: &str, entry: &ConfigNode, at: &SourceLocation) -> ApprovalItem {
    ApprovalItem::new(ApprovalItemKind::Server, name, entry.to_json(), at.clone())
}

/// The servers of a file that holds nothing else, such as `.mcp.json`.
fn servers_only(node: &ConfigNode, problems: &mut Vec<ConfigProblem>) -> ServerEntries {
    let mut fields = ObjectFields::new(node, &node.at.origin.to_string(), problems);
    fields.allow(&["$schema"]);
    let servers = crate::settings::decode_servers(&mut fields);
    fields.finish();
    servers
}

/// Whether a member has an effect in a scope.
pub(crate) fn scope_honours(scope: Scope, member: &str) -> bool {
    match member {
        "mcpServers" => matches!(scope, Scope::User | Scope::Local | Scope::Dynamic),
        "hooks"
        | "env"
        | "disabledMcpjsonServers"
        | "enabledMcpServers"
        | "disabledMcpServers"
        | "deniedMcpServers" => scope != Scope::Dynamic,
        "enabledMcpjsonServers" | "enableAllProjectMcpServers" => {
            matches!(scope, Scope::User | Scope::Local | Scope::Enterprise)
        }
        "allowManagedMcpServersOnly" => scope == Scope::Enterprise,
        "allowedMcpServers" | "connectors" | "xaaIdp" | "secretProviders" | "admins"
        | "nativePlugins" | "plugins" | "ideTools" | "questions" | "start" | "checkArguments"
        | "limits" => {
            matches!(scope, Scope::User | Scope::Enterprise)
        }
        "inherit" => scope == Scope::User,
        // `permissions` and `$schema` are for all scopes; unknown members are reported elsewhere.
        _ => true,
    }
}

fn mention_not_honoured(node: &ConfigNode, scope: Scope, problems: &mut Vec<ConfigProblem>) {
    for member in node.members().iter().filter(|member| !scope_honours(scope, &member.key)) {
        let message = format!("`{}` has no effect in the {scope} scope", member.key);
        let mut problem =
            ConfigProblem::warning(ConfigProblemKind::NotHonoured, message).at(member.at.clone());
        if scope == Scope::Project && member.key == "mcpServers" {
            problem = problem
                .hint(ProblemHint::Other("put servers of a project into `.mcp.json`".to_owned()));
        } else if scope_honours(Scope::User, &member.key) {
            problem = problem.hint(ProblemHint::MoveToUserSettings);
        }
        problems.push(problem);
    }
}
