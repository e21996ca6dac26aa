//! What the user chose: their settings, their plugins, flags, catalogues, other clients' files.

use std::path::Path;

use super::{Candidate, Loaded, servers_only};
use crate::import::{self, Client};
use crate::problem::{Kind, Problem};
use crate::scope::Scope;
use crate::settings::Servers;
use crate::source::{Found, Node, Origin, Ownership, Value, jsonc};
use crate::surroundings::{Asked, Dynamic, Surroundings};

/// Expands to the folder of a bundle in that bundle's entries.
const PLUGIN_ROOT: &str = "SWITCHBOARD_PLUGIN_ROOT";

impl Loaded {
    pub(super) fn user(&mut self, surroundings: &Surroundings) {
        let path = surroundings.config_dir.join("settings.json");
        if let Some(node) = self.json(&path, Ownership::Any) {
            let servers = self.layer(&node, Scope::User);
            self.add_servers(servers, Scope::User);
        }
    }

    /// The later of two arguments wins, so its servers go in front.
    pub(super) fn dynamic(&mut self, asked: &Asked) {
        for (index, dynamic) in asked.dynamic.iter().enumerate() {
            let node = match dynamic {
                Dynamic::File(path) => self.named(path),
                Dynamic::Text(text) => {
                    let origin = Origin::text(format!("--mcp-config #{}", index + 1));
                    self.noted(jsonc::parse(&origin, text))
                }
            };
            if let Some(node) = node {
                let servers = self.layer(&node, Scope::Dynamic);
                let earlier = std::mem::take(&mut self.candidates);
                self.add_servers(servers, Scope::Dynamic);
                self.candidates.extend(earlier);
            }
        }
    }

    /// A file that somebody named has to be there.
    fn named(&mut self, path: &Path) -> Option<Node> {
        let node = self.json(path, Ownership::Any);
        if node.is_none() && !path.exists() {
            let message = format!("cannot read {}: there is no such file", path.display());
            self.problems.push(Problem::error(Kind::Unreadable, message).in_file(path));
        }
        node
    }

    /// Catalogues are text from the network: an entry of theirs that would start a process is refused later.
    pub(super) fn connectors(&mut self, asked: &Asked) {
        for fetched in &asked.connectors {
            let Some(node) = self.noted(jsonc::parse(&fetched.origin, &fetched.text)) else {
                continue;
            };
            if let Some(servers) = catalogue(&node) {
                self.add_servers(servers, Scope::Connectors);
            } else {
                let message = format!("{} is not a list of servers", fetched.origin);
                self.problems.push(Problem::error(Kind::WrongType, message).at(node.at));
            }
        }
    }

    pub(super) fn plugins(&mut self, surroundings: &Surroundings) {
        let folder = surroundings.config_dir.join("plugins");
        for bundle in self.listed(&folder) {
            let Some(name) = bundle.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let Some(root) = bundle.to_str() else {
                continue;
            };
            let path = bundle.join(".mcp.json");
            let Some(node) = self.json(&path, Ownership::Any) else {
                continue;
            };
            for member in bundle_servers(&node, &mut self.problems).0 {
                self.candidates.push(Candidate {
                    name: format!("plugin:{name}:{}", member.key),
                    scope: Scope::Plugin,
                    at: member.at,
                    node: member.value,
                    item: None,
                    start_folder: self.start_folder(Scope::Plugin),
                    variables: vec![(PLUGIN_ROOT, root.to_owned())],
                });
            }
        }
    }

    /// Other clients' files, which the user named in their own settings. They are only ever read.
    pub(super) fn inherited(&mut self, surroundings: &Surroundings) {
        let user = self.layers.iter().filter(|layer| layer.scope == Scope::User);
        let names: Vec<_> = user.flat_map(|layer| layer.settings.inherit.clone()).collect();
        for name in names {
            match name.value.parse::<Client>() {
                Ok(client) => self.inherit(client, surroundings),
                Err(error) => {
                    let message = format!("cannot inherit servers: {error}");
                    self.problems.push(Problem::warning(Kind::CannotInherit, message).at(name.at));
                }
            }
        }
    }

    fn inherit(&mut self, client: Client, surroundings: &Surroundings) {
        for path in client.user_files(surroundings) {
            match self.shelf.read(&path, Ownership::Any) {
                Found::Nothing => {}
                Found::Unusable(problem) => self.problems.push(problem),
                Found::Text(text) => {
                    let read = import::read(client, &Origin::file(&path), &text);
                    self.problems.extend(read.problems);
                    let root = self.root.clone();
                    let start_folder = self.start_folder(Scope::Inherited);
                    let servers = read.servers.into_iter();
                    let here = servers
                        .filter(|server| server.project.as_ref().is_none_or(|at| *at == root));
                    self.candidates.extend(here.map(|server| Candidate {
                        node: Node::from_json(&server.entry, &server.at),
                        name: server.name,
                        scope: Scope::Inherited,
                        at: server.at,
                        item: None,
                        start_folder: start_folder.clone(),
                        variables: Vec::new(),
                    }));
                }
            }
        }
    }
}

/// Bundles made for other hosts leave out the outer member.
fn bundle_servers(node: &Node, problems: &mut Vec<Problem>) -> Servers {
    let is_bare = node.get("mcpServers").is_none()
        && node.members().iter().all(|member| matches!(member.value.value, Value::Object(_)));
    if is_bare {
        Servers(crate::settings::last_of_each(node))
    } else {
        servers_only(node, problems)
    }
}

/// A catalogue is an object of entries by name, or a list of entries that carry their names.
fn catalogue(node: &Node) -> Option<Servers> {
    let list = node.get("mcpServers").or_else(|| node.get("servers")).unwrap_or(node);
    match &list.value {
        Value::Object(members) => Some(Servers(members.clone())),
        Value::List(elements) => Some(Servers(elements.iter().filter_map(named_entry).collect())),
        _ => None,
    }
}

fn named_entry(node: &Node) -> Option<crate::source::Member> {
    let key = node.get("name")?.as_str()?.to_owned();
    let members = node.members().iter().filter(|member| member.key != "name").cloned().collect();
    let value = Node { value: Value::Object(members), at: node.at.clone() };
    Some(crate::source::Member { key, at: node.at.clone(), value })
}
