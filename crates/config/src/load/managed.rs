//! Loading the administrator's files. An unreadable file closes everything: an unreadable policy is not an
//! absent one.
//!
//! Used by `load`.

use std::path::Path;

use super::{LoadedConfig, SettingsLayer};
use crate::host_context::HostContext;
use crate::policy::failed_closed_problem;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemSeverity};
use crate::scope::Scope;
use crate::settings::{Settings, ToolPattern, decode_settings};
use crate::source::{ConfigNode, FileOwnership, FileReadResult, SourceOrigin, jsonc};

impl LoadedConfig {
    pub(super) fn load_managed(&mut self, surroundings: &HostContext) {
        let folder = &surroundings.managed_dir;
        self.managed_settings(&folder.join("managed-settings.json"));
        let pieces = self.shelf.list(&folder.join("managed-settings.d"));
        let pieces = pieces.unwrap_or_else(|problem| {
            self.fail_closed(&problem);
            Vec::new()
        });
        for path in pieces {
            if path.extension().is_some_and(|extension| extension == "json") {
                self.managed_settings(&path);
            }
        }
        self.managed_servers(&folder.join("managed-mcp.json"));
    }

    fn managed_settings(&mut self, path: &Path) {
        if let Some(node) = self.managed_json(path) {
            super::mention_not_honoured(&node, Scope::Enterprise, &mut self.problems);
            self.managed_layer(&node);
        }
    }

    /// Loads `managed-mcp.json`. A file with a policy and no servers restricts the other scopes; any other
    /// file replaces them.
    fn managed_servers(&mut self, path: &Path) {
        let before = self.closed.is_some();
        let node = self.managed_json(path);
        let failed = self.closed.is_some() && !before;
        let Some(node) = node else {
            if failed {
                self.exclusive = true;
                self.candidates.clear();
            }
            return;
        };
        let has = |member| node.get(member).is_some();
        let is_policy = has("allowedMcpServers") || has("deniedMcpServers");
        let mut layer = self.managed_layer(&node);
        if has("mcpServers") || !is_policy {
            self.exclusive = true;
            self.candidates.clear();
            self.add_servers(std::mem::take(&mut layer), Scope::Enterprise);
        }
    }

    fn managed_layer(&mut self, node: &ConfigNode) -> crate::settings::ServerEntries {
        let origin = node.at.origin.clone();
        let mut problems = Vec::new();
        let mut settings = decode_settings(node, &origin.to_string(), &mut problems);
        if let Some(problem) =
            problems.iter().find(|problem| problem.severity == ProblemSeverity::Error)
        {
            self.fail_closed(problem);
        }
        if let Some(problem) = unclear_rule(&settings) {
            self.fail_closed(&problem);
        }
        self.problems.extend(problems);
        let servers = std::mem::take(&mut settings.mcp_servers);
        let start_folder = self.start_folder(Scope::Enterprise);
        self.layers.push(SettingsLayer { scope: Scope::Enterprise, start_folder, settings });
        servers
    }

    fn managed_json(&mut self, path: &Path) -> Option<ConfigNode> {
        let result = match self.shelf.read(path, FileOwnership::Any) {
            FileReadResult::Nothing => return None,
            FileReadResult::Text(text) => jsonc::parse(&SourceOrigin::file(path), &text),
            FileReadResult::Unusable(problem) => Err(problem),
        };
        result.map_err(|problem| self.fail_closed(&problem)).ok()
    }

    fn fail_closed(&mut self, cause: &ConfigProblem) {
        let problem = failed_closed_problem(cause, Scope::Enterprise);
        self.problems.push(problem.clone());
        self.closed.get_or_insert(problem);
    }
}

/// Finds a deny or ask rule that does not parse: it would permit calls that the administrator wanted to stop.
fn unclear_rule(settings: &Settings) -> Option<ConfigProblem> {
    let permissions = &settings.permissions;
    permissions.deny.iter().chain(&permissions.ask).find_map(|written| {
        if let Some(problem) = written.value.problems.first() {
            return Some(problem.clone());
        }
        let error = ToolPattern::parse(&written.value.rule.rule).err()?;
        let problem = ConfigProblem::error(ConfigProblemKind::BadRule, error.to_string());
        Some(problem.at(written.at.clone()))
    })
}
