//! The project tree: untrusted, all of it.

use std::path::{Path, PathBuf};

use super::{Loaded, servers_only};
use crate::agent;
use crate::scope::Scope;
use crate::source::{Found, Origin, is_owned};
use crate::surroundings::Surroundings;

/// The nearest ancestor of the working directory that has `.switchboard`, `.mcp.json` or `.git`, else the directory
/// itself. A marker that another user put there does not count.
pub fn project_root(surroundings: &Surroundings) -> PathBuf {
    let ownership = surroundings.ownership();
    let marks = [".switchboard", ".mcp.json", ".git"];
    let is_root = |folder: &&Path| marks.iter().any(|mark| is_owned(&folder.join(mark), ownership));
    surroundings.cwd.ancestors().find(is_root).unwrap_or(&surroundings.cwd).to_owned()
}

impl Loaded {
    pub(super) fn project(&mut self, surroundings: &Surroundings) {
        let ownership = surroundings.ownership();
        for folder in surroundings.cwd.ancestors() {
            if let Some(node) = self.json(&folder.join(".mcp.json"), ownership) {
                let servers = servers_only(&node, &mut self.problems);
                self.add_servers(servers, Scope::Project);
            }
        }
        let folder = self.root.join(".switchboard");
        if let Some(node) = self.json(&folder.join("settings.json"), ownership) {
            self.layer(&node, Scope::Project);
        }
        if let Some(node) = self.json(&folder.join("settings.local.json"), ownership) {
            let servers = self.layer(&node, Scope::Local);
            self.add_servers(servers, Scope::Local);
        }
        self.agents(&folder.join("agents"), Scope::Project, surroundings);
        self.agents(&surroundings.config_dir.join("agents"), Scope::User, surroundings);
    }

    /// The entries of a folder; one that cannot be read is a problem and counts as empty.
    pub(super) fn listed(&mut self, folder: &Path) -> Vec<PathBuf> {
        self.shelf.list(folder).unwrap_or_else(|problem| {
            self.problems.push(problem);
            Vec::new()
        })
    }

    fn agents(&mut self, folder: &Path, scope: Scope, surroundings: &Surroundings) {
        let ownership = if scope.is_trusted() {
            crate::source::Ownership::Any
        } else {
            surroundings.ownership()
        };
        for path in self.listed(folder) {
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            match self.shelf.read(&path, ownership) {
                Found::Text(text) => {
                    let agent =
                        agent::parse(&Origin::file(&path), &text, scope, &mut self.problems);
                    self.agents.extend(agent);
                }
                Found::Nothing => {}
                Found::Unusable(problem) => self.problems.push(problem),
            }
        }
    }
}
