//! Loading the project tree, all of which is untrusted.
//!
//! Used by `load`; [`project_root`] also by `workspace`. It does not decide what is approved
//! (`resolve::approval_gate`).

use std::path::{Path, PathBuf};

use super::{LoadedConfig, servers_only};
use crate::agent;
use crate::host_context::HostContext;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::source::{FileReadResult, SourceOrigin, is_owned};

/// The nearest ancestor of the working directory with `.switchboard`, `.mcp.json` or `.git`, otherwise the
/// directory itself. A marker that belongs to another user does not count.
pub fn project_root(surroundings: &HostContext) -> PathBuf {
    marked_ancestor(surroundings).unwrap_or(&surroundings.cwd).to_owned()
}

/// The project that the caller is in: a marked folder that is neither the caller's home nor above it.
/// `.git` in a home holds the user's dotfiles, not a project.
pub(super) fn find_project(surroundings: &HostContext) -> Option<PathBuf> {
    let root = marked_ancestor(surroundings)?;
    let home = &surroundings.home;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let holds_home = home.starts_with(root) || real(home).starts_with(real(root));
    (!holds_home).then(|| root.to_owned())
}

fn marked_ancestor(surroundings: &HostContext) -> Option<&Path> {
    let ownership = surroundings.ownership();
    let marks = [".switchboard", ".mcp.json", ".git"];
    let is_root = |folder: &&Path| marks.iter().any(|mark| is_owned(&folder.join(mark), ownership));
    surroundings.cwd.ancestors().find(is_root)
}

impl LoadedConfig {
    pub(super) fn load_project(&mut self, surroundings: &HostContext) {
        let ownership = surroundings.ownership();
        for folder in surroundings.cwd.ancestors() {
            if let Some(node) = self.read_json(&folder.join(".mcp.json"), ownership) {
                let servers = servers_only(&node, &mut self.problems);
                self.add_servers_in(folder, servers, Scope::Project);
            }
        }
        let folder = self.root.join(".switchboard");
        if !self.is_link(&folder) {
            self.settings_folder(&folder, surroundings);
        }
        self.load_agents(&surroundings.config_dir.join("agents"), Scope::User, surroundings);
    }

    /// Loads the project's own settings. They apply to the folder that holds them, so no file in it may be a
    /// link: a clone could otherwise present another project's approved files as its own.
    fn settings_folder(&mut self, folder: &Path, surroundings: &HostContext) {
        let ownership = surroundings.ownership();
        let file = folder.join("settings.json");
        if !self.is_link(&file)
            && let Some(node) = self.read_settings(&file, ownership)
        {
            self.add_layer(&node, Scope::Project);
        }
        let file = folder.join("settings.local.json");
        if !self.is_link(&file)
            && let Some(node) = self.read_settings(&file, ownership)
        {
            let servers = self.add_layer(&node, Scope::Local);
            self.add_servers(servers, Scope::Local);
        }
        let agents = folder.join("agents");
        if !self.is_link(&agents) {
            self.load_agents(&agents, Scope::Project, surroundings);
        }
    }

    /// Whether a project's file or folder is a link, which is reported and not followed.
    fn is_link(&mut self, path: &Path) -> bool {
        let is_link = self.shelf.is_link(path);
        if is_link {
            let message = format!("skipped {}: it is a link", path.display());
            let hint =
                "links in a project's `.switchboard` are not followed; put the file itself there";
            let problem =
                ConfigProblem::warning(ConfigProblemKind::LinkNotFollowed, message).in_file(path);
            self.problems.push(problem.hint(ProblemHint::Other(hint.to_owned())));
        }
        is_link
    }

    /// The entries of a folder; an unreadable folder is a problem and counts as empty.
    pub(super) fn list_folder(&mut self, folder: &Path) -> Vec<PathBuf> {
        self.shelf.list(folder).unwrap_or_else(|problem| {
            self.problems.push(problem);
            Vec::new()
        })
    }

    fn load_agents(&mut self, folder: &Path, scope: Scope, surroundings: &HostContext) {
        let ownership = if scope.is_trusted() {
            crate::source::FileOwnership::Any
        } else {
            surroundings.ownership()
        };
        for path in self.list_folder(folder) {
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            if !scope.is_trusted() && self.is_link(&path) {
                continue;
            }
            match self.shelf.read(&path, ownership) {
                FileReadResult::Text(text) => {
                    let start_folder = self.start_folder(scope);
                    let origin = SourceOrigin::file(&path);
                    let agent = agent::parse_agent_file(
                        &origin,
                        &text,
                        scope,
                        start_folder,
                        &mut self.problems,
                    );
                    self.agents.extend(agent);
                }
                FileReadResult::Nothing => {}
                FileReadResult::Unusable(problem) => self.problems.push(problem),
            }
        }
    }
}
