//! What the commands do: add, remove, switch, approve.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::check::check;
use crate::edit::{self, EditError, Privacy, update};
use crate::entry::{Entry, Signature};
use crate::error::Error;
use crate::import::{self, Client, Plan};
use crate::load::{self, Candidate, server_item};
use crate::name;
use crate::resolve::{
    self, BUILTIN_SERVER, Desired, EDITOR_SERVER, PLUGINS_SERVER, Server, setting_item,
};
use crate::scope::Scope;
use crate::settings::IdentityProvider;
use crate::source::{Location, Node, Origin};
use crate::surroundings::{Asked, Surroundings};
use crate::trust::{ApprovalStore, Item};

/// The member of settings that names an identity provider.
const IDENTITY_PROVIDER: &str = "xaaIdp";

/// One caller's view of the configuration, and the changes they can make to it.
#[derive(Debug, Clone)]
pub struct Workspace {
    surroundings: Surroundings,
    asked: Asked,
    root: PathBuf,
}

/// Whether an entry may take the place of one with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// No: it is an error.
    Keep,
    /// Yes.
    Replace,
}

/// Whether a server is switched on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl Workspace {
    /// The workspace of a caller.
    pub fn new(surroundings: Surroundings, asked: Asked) -> Self {
        let root = load::project_root(&surroundings);
        Self { surroundings, asked, root }
    }

    /// The project root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads everything and decides which servers are desired.
    pub fn desired(&self) -> Desired {
        resolve::resolve(&self.surroundings, &self.asked)
    }

    /// The file that a scope's servers are written to.
    pub fn file(&self, scope: Scope) -> Result<PathBuf, Error> {
        match scope {
            Scope::User => Ok(self.surroundings.config_dir.join("settings.json")),
            Scope::Project => Ok(self.root.join(".mcp.json")),
            Scope::Local => Ok(self.root.join(".switchboard/settings.local.json")),
            scope => Err(Error::ReadOnly { scope }),
        }
    }

    /// Writes a server, and approves exactly what it wrote. Gives back the file.
    pub fn add(
        &self,
        scope: Scope,
        name: &str,
        entry: &Value,
        existing: Existing,
    ) -> Result<PathBuf, Error> {
        name::check(name)?;
        let path = self.file(scope)?;
        self.permit(name, entry, &path)?;
        let text_origin = Origin::file(&path);
        self.change(scope, &path, |text| {
            if existing == Existing::Keep && edit::get(text, &["mcpServers", name])?.is_some() {
                return Ok(None);
            }
            edit::set(text, &["mcpServers", name], entry).map(Some)
        })?
        .then_some(())
        .ok_or_else(|| self.exists(scope, name, &text_origin))?;
        self.bless(scope, &[written_item(name, entry, &path)])?;
        Ok(path)
    }

    /// Puts another entry in the place of one, wherever that stands, and approves it.
    pub fn replace(
        &self,
        scope: Scope,
        path: &Path,
        name: &str,
        entry: &Value,
    ) -> Result<(), Error> {
        self.permit(name, entry, path)?;
        self.change(scope, path, |text| edit::set(text, &["mcpServers", name], entry).map(Some))?;
        self.bless(scope, &[written_item(name, entry, path)])
    }

    /// Takes a server away, and with the last of its name the switches for that name. Without a scope there must be only
    /// one that can be meant. Gives back where it stood.
    pub fn remove(&self, name: &str, scope: Option<Scope>) -> Result<(Scope, PathBuf), Error> {
        let (scope, path) = self.find(name, scope)?;
        self.change(scope, &path, |text| edit::remove(text, &["mcpServers", name]).map(Some))?;
        if self.desired().named(name).next().is_none() {
            self.clear_switches(scope, name)?;
        }
        Ok((scope, path))
    }

    /// Forgets that a name was switched on or off. What is switched off everywhere stays so while other projects may have
    /// a server of that name: only removing it from the user's servers ends that.
    fn clear_switches(&self, removed_from: Scope, name: &str) -> Result<(), Error> {
        let scopes: &[Scope] = match removed_from {
            Scope::User => &[Scope::User, Scope::Local],
            _ => &[Scope::Local],
        };
        let loaded = load::load(&self.surroundings, &self.asked);
        for scope in scopes {
            let path = self.file(*scope)?;
            for layer in &loaded.layers {
                let settings = &layer.settings;
                let lists = [
                    ("disabledMcpServers", &settings.disabled_mcp_servers),
                    ("enabledMcpServers", &settings.enabled_mcp_servers),
                ];
                for (list, names) in lists {
                    let is_there = names.iter().any(|each| {
                        each.value == name && each.at.origin.path() == Some(path.as_path())
                    });
                    if is_there {
                        self.change(*scope, &path, |text| {
                            edit::remove_from_list(text, &[list], name).map(Some)
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the entry of a server stands that can be changed.
    pub fn find(&self, name: &str, scope: Option<Scope>) -> Result<(Scope, PathBuf), Error> {
        let loaded = load::load(&self.surroundings, &self.asked);
        let is_meant = |candidate: &&Candidate| {
            candidate.name == name && scope.is_none_or(|scope| candidate.scope == scope)
        };
        let all: Vec<_> = loaded.candidates.iter().filter(is_meant).collect();
        let mut writable: Vec<_> =
            all.iter().filter(|candidate| candidate.scope.is_writable()).collect();
        // Of several files of one scope the nearest counts, and it comes first.
        writable.dedup_by_key(|candidate| candidate.scope);
        match (&*writable, all.first()) {
            ([only], _) => {
                let path = only.at.origin.path().map(Path::to_owned);
                path.map(|path| (only.scope, path)).ok_or(Error::ReadOnly { scope: only.scope })
            }
            ([], Some(other)) => Err(Error::ReadOnly { scope: other.scope }),
            ([], None) => Err(Error::NoServer { name: name.to_owned() }),
            (several, _) => Err(Error::Ambiguous {
                name: name.to_owned(),
                scopes: several.iter().map(|candidate| candidate.scope).collect(),
            }),
        }
    }

    /// Switches a server on or off: for this project (`Local`), or everywhere (`User`). Gives back the file.
    pub fn switch(&self, scope: Scope, name: &str, switch: Switch) -> Result<PathBuf, Error> {
        if scope == Scope::Project {
            return Err(Error::ReadOnly { scope });
        }
        let is_found = [PLUGINS_SERVER, EDITOR_SERVER, BUILTIN_SERVER].contains(&name);
        if !is_found && self.desired().named(name).next().is_none() {
            return Err(Error::NoServer { name: name.to_owned() });
        }
        let path = self.file(scope)?;
        let (from, to) = match switch {
            Switch::On => ("disabledMcpServers", "enabledMcpServers"),
            Switch::Off => ("enabledMcpServers", "disabledMcpServers"),
        };
        self.change(scope, &path, |text| edit::remove_from_list(text, &[from], name).map(Some))?;
        if self.is_switched(name, switch) {
            return Ok(path);
        }
        self.change(scope, &path, |text| edit::add_to_list(text, &[to], name).map(Some))?;
        if switch == Switch::On {
            let at = Origin::file(&path).start();
            self.bless(scope, &[setting_item(to, Some(name), &at)])?;
        }
        Ok(path)
    }

    /// Writes the organisation's identity provider into the user's settings. Gives back the file.
    pub fn set_identity_provider(&self, provider: &IdentityProvider) -> Result<PathBuf, Error> {
        let path = self.file(Scope::User)?;
        // Strings and numbers: there is nothing in it that could fail.
        let value = serde_json::to_value(provider).unwrap_or_default();
        self.change(Scope::User, &path, |text| {
            edit::set(text, &[IDENTITY_PROVIDER], &value).map(Some)
        })?;
        Ok(path)
    }

    /// Takes it out of the user's settings; nothing if it does not stand there.
    pub fn remove_identity_provider(&self) -> Result<Option<PathBuf>, Error> {
        let path = self.file(Scope::User)?;
        let removed =
            self.change(Scope::User, &path, |text| match edit::get(text, &[IDENTITY_PROVIDER])? {
                Some(_) => edit::remove(text, &[IDENTITY_PROVIDER]).map(Some),
                None => Ok(None),
            })?;
        Ok(removed.then_some(path))
    }

    /// What importing the servers of another client would do; [`Workspace::add`] does it.
    pub fn plan_import(&self, client: Client) -> Plan {
        let read = import::gather(client, &self.surroundings, &self.root);
        let desired = self.desired();
        let mut known = desired.signatures();
        // A variable may have no value today; what was imported before is there all the same.
        for server in &desired.servers {
            if let Some(entry) = self.decoded(server) {
                known.entry(server.name.clone()).or_insert_with(|| Signature::of(&entry));
            }
        }
        import::plan(read, &known, &self.surroundings.env)
    }

    /// The entry of a server as far as its variables have values.
    fn decoded(&self, server: &Server) -> Option<Entry> {
        let template = server.template.to_json();
        check(&server.name, &template, &server.at, &self.surroundings.env).entry
    }

    /// Records that a person agreed to these items.
    pub fn approve(&self, items: &[Item]) -> Result<(), Error> {
        self.store().approve(items, self.surroundings.now)
    }

    /// Records that a person refused these items.
    pub fn reject(&self, items: &[Item]) -> Result<(), Error> {
        self.store().reject(items, self.surroundings.now)
    }

    /// Forgets every decision about this project, and says how many there were.
    pub fn reset(&self) -> Result<usize, Error> {
        self.store().reset(&self.root)
    }

    fn store(&self) -> ApprovalStore {
        ApprovalStore::new(&self.surroundings.state_dir)
    }

    /// Whether a server is on or off already, so that nothing has to be written.
    fn is_switched(&self, name: &str, switch: Switch) -> bool {
        let desired = self.desired();
        let is_off = desired.named(name).all(|server| server.state.name() == "disabled");
        match switch {
            Switch::On if desired.named(name).next().is_none() => {
                !desired.switched_off.contains_key(name)
            }
            Switch::On => !desired.named(name).any(|server| server.state.name() == "disabled"),
            Switch::Off => is_off && desired.named(name).next().is_some(),
        }
    }

    fn permit(&self, name: &str, entry: &Value, path: &Path) -> Result<(), Error> {
        let desired = self.desired();
        if desired.exclusive {
            return Err(Error::Managed {
                path: self.surroundings.managed_dir.join("managed-mcp.json"),
            });
        }
        let checked = check(name, entry, &Origin::file(path).start(), &self.surroundings.env);
        let Some(decoded) = &checked.entry else {
            return Err(Error::Entry { name: name.to_owned(), problems: checked.problems });
        };
        let judged = checked.is_complete.then_some(decoded);
        desired.policy.judge(name, judged).map_err(|blocked| Error::Blocked {
            name: name.to_owned(),
            why: blocked.why,
            by: blocked.by,
        })
    }

    /// Changes a file; `false` where `change` refused.
    fn change(
        &self,
        scope: Scope,
        path: &Path,
        change: impl Fn(&str) -> Result<Option<String>, EditError>,
    ) -> Result<bool, Error> {
        if scope == Scope::Local {
            self.keep_out_of_git(path)?;
        }
        self.stay_inside(scope, path)?;
        let mut done = true;
        let privacy = if scope == Scope::Project { Privacy::Shared } else { Privacy::Private };
        update(path, &self.surroundings.state_dir, privacy, |text| {
            let changed =
                change(text).map_err(|source| Error::Edit { path: path.to_owned(), source })?;
            done = changed.is_some();
            Ok(changed.unwrap_or_else(|| text.to_owned()))
        })?;
        Ok(done)
    }

    /// Links are followed, but a project's own must not make us write into the user's files. In `.switchboard` they
    /// are not even read.
    fn stay_inside(&self, scope: Scope, path: &Path) -> Result<(), Error> {
        if scope == Scope::Local {
            let folder = self.root.join(".switchboard");
            let is_link = |path: &&Path| path.is_symlink();
            if let Some(link) = [folder.as_path(), path].into_iter().find(is_link) {
                return Err(Error::LinkNotFollowed { path: link.to_owned() });
            }
        }
        let folder = match scope {
            Scope::Local => Some(self.root.as_path()),
            Scope::Project => path.parent(),
            _ => None,
        };
        let Some(folder) = folder.and_then(|folder| folder.canonicalize().ok()) else {
            return Ok(());
        };
        let target = edit::follow(path)?;
        if target.starts_with(&folder) {
            return Ok(());
        }
        Err(Error::LeadsOut { path: path.to_owned(), target })
    }

    fn keep_out_of_git(&self, path: &Path) -> Result<(), Error> {
        let Some(folder) = path.parent() else {
            return Ok(());
        };
        let ignored = "settings.local.json";
        self.stay_inside(Scope::Local, &folder.join(".gitignore"))?;
        update(&folder.join(".gitignore"), &self.surroundings.state_dir, Privacy::Shared, |text| {
            if text.lines().any(|line| matches!(line.trim(), "settings.local.json" | "*")) {
                return Ok(text.to_owned());
            }
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            Ok(format!("{text}{gap}{ignored}\n"))
        })
    }

    /// Our own commands approve what they write, and nothing else of that file.
    fn bless(&self, scope: Scope, items: &[Item]) -> Result<(), Error> {
        if scope.is_trusted() { Ok(()) } else { self.approve(items) }
    }

    fn exists(&self, scope: Scope, name: &str, origin: &Origin) -> Error {
        let desired = self.desired();
        let servers = desired.servers.iter().map(|server| (&server.name, server.scope, &server.at));
        let shadowed = desired.shadowed.iter().map(|entry| (&entry.name, entry.scope, &entry.at));
        let found = servers.chain(shadowed).find(|(other, at, _)| *other == name && *at == scope);
        let at: Location = found.map_or_else(|| origin.start(), |(_, _, at)| at.clone());
        Error::Exists { name: name.to_owned(), scope, at }
    }
}

/// The item that an entry is once it stands in a file.
fn written_item(name: &str, entry: &Value, path: &Path) -> Item {
    let at = Origin::file(path).start();
    server_item(name, &Node::from_json(entry, &at), &at)
}
