//! The operations of the commands on configuration files: add, remove, switch, approve, import.
//!
//! Used by `cli`, `hub::admin::files`, `rule_edit` and `sources::workspace`. It does not print and does not start servers.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::approval::{ApprovalItem, ApprovalStore, ItemVerdict};
use crate::edit::{self, EditError, FilePrivacy, update_file};
use crate::entry_check::check_entry;
use crate::error::Error;
use crate::host_context::{HostContext, ResolveOptions};
use crate::import::{self, ClientApp, ClientFileOwner, ClientServers, ImportPlan, ImportTarget};
use crate::load::{self, EntryCandidate, server_item};
use crate::resolve::{self, BUILTIN_SERVER, Desired, EDITOR_SERVER, PLUGINS_SERVER, setting_item};
use crate::scope::Scope;
use crate::server_name;
use crate::settings::IdentityProvider;
use crate::source::{ConfigNode, SourceLocation, SourceOrigin};

/// The member of settings that names an identity provider.
const IDENTITY_PROVIDER_MEMBER: &str = "xaaIdp";

/// One caller's view of the configuration, with the changes that the caller can make.
#[derive(Debug, Clone)]
pub struct ConfigWorkspace {
    surroundings: HostContext,
    asked: ResolveOptions,
    root: PathBuf,
}

/// An entry of a configuration file that no person rejected.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredEntry {
    /// The name of its server.
    pub name: String,
    /// Its scope.
    pub scope: Scope,
    /// The folder in which its process starts.
    pub start_folder: PathBuf,
    /// The entry as written.
    pub entry: Value,
}

/// Whether an entry may replace one with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExistingEntry {
    /// No: an existing entry is an error.
    Keep,
    /// Yes.
    Replace,
}

/// Whether a server is enabled or disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSwitch {
    /// On.
    On,
    /// Off.
    Off,
}

impl ConfigWorkspace {
    /// The workspace of a caller.
    pub fn new(surroundings: HostContext, asked: ResolveOptions) -> Self {
        let root = load::project_root(&surroundings);
        Self { surroundings, asked, root }
    }

    /// The caller's folders and environment.
    pub fn host(&self) -> &HostContext {
        &self.surroundings
    }

    /// The project root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads everything and decides which servers are desired.
    pub fn desired(&self) -> Desired {
        resolve::resolve_desired(&self.surroundings, &self.asked)
    }

    /// The entries of all files, those among them that another entry shadows, without those that a person rejected.
    pub fn configured_entries(&self) -> Vec<ConfiguredEntry> {
        // A record that cannot be read rejects nothing.
        let approvals = self.store().load().unwrap_or_default();
        let is_rejected =
            |item: &ApprovalItem| matches!(approvals.verdict(item), ItemVerdict::Rejected);
        let loaded = load::load_scopes(&self.surroundings, &self.asked);
        let candidates = loaded.candidates.into_iter();
        let entries =
            candidates.filter(|candidate| !candidate.item.as_ref().is_some_and(is_rejected));
        let entries = entries.map(|candidate| ConfiguredEntry {
            name: candidate.name,
            scope: candidate.scope,
            start_folder: candidate.start_folder,
            entry: candidate.node.to_json(),
        });
        entries.collect()
    }

    /// The file that a scope's servers are written to.
    pub fn file_of_scope(&self, scope: Scope) -> Result<PathBuf, Error> {
        match scope {
            Scope::User => Ok(self.surroundings.config_dir.join("settings.json")),
            Scope::Project => Ok(self.root.join(".mcp.json")),
            Scope::Local => Ok(self.root.join(".switchboard/settings.local.json")),
            scope => Err(Error::ReadOnly { scope }),
        }
    }

    /// Writes a server, and approves exactly the written entry. Returns the file.
    pub fn add(
        &self,
        scope: Scope,
        name: &str,
        entry: &Value,
        existing: OnExistingEntry,
    ) -> Result<PathBuf, Error> {
        server_name::check_server_name(name)?;
        let path = self.file_of_scope(scope)?;
        self.check_policy(name, entry, &path)?;
        let text_origin = SourceOrigin::file(&path);
        self.change_file(scope, &path, |text| {
            if existing == OnExistingEntry::Keep
                && edit::get_member(text, &["mcpServers", name])?.is_some()
            {
                return Ok(None);
            }
            edit::set_member(text, &["mcpServers", name], entry).map(Some)
        })?
        .then_some(())
        .ok_or_else(|| self.exists(scope, name, &text_origin))?;
        self.approve_written(scope, &[written_item(name, entry, &path)])?;
        Ok(path)
    }

    /// Replaces an entry, in whichever scope it stands, and approves the new one.
    pub fn replace(
        &self,
        scope: Scope,
        path: &Path,
        name: &str,
        entry: &Value,
    ) -> Result<(), Error> {
        self.check_policy(name, entry, path)?;
        self.change_file(scope, path, |text| {
            edit::set_member(text, &["mcpServers", name], entry).map(Some)
        })?;
        self.approve_written(scope, &[written_item(name, entry, path)])
    }

    /// Removes a server, and with the last one of its name the switches for that name. Without a scope, only
    /// one scope may have it. Returns where it stood.
    pub fn remove(&self, name: &str, scope: Option<Scope>) -> Result<(Scope, PathBuf), Error> {
        let (scope, path) = self.find(name, scope)?;
        self.change_file(scope, &path, |text| {
            edit::remove_member(text, &["mcpServers", name]).map(Some)
        })?;
        if self.desired().servers_named(name).next().is_none() {
            self.clear_switches(scope, name)?;
        }
        Ok((scope, path))
    }

    /// Clears the switches of a name. A name that is disabled for all projects stays so while other projects
    /// may have a server with that name: only removing it from the user's servers clears that.
    fn clear_switches(&self, removed_from: Scope, name: &str) -> Result<(), Error> {
        let scopes: &[Scope] = match removed_from {
            Scope::User => &[Scope::User, Scope::Local],
            _ => &[Scope::Local],
        };
        let loaded = load::load_scopes(&self.surroundings, &self.asked);
        for scope in scopes {
            let path = self.file_of_scope(*scope)?;
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
                        self.change_file(*scope, &path, |text| {
                            edit::remove_from_list(text, &[list], name).map(Some)
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the writable entry of a server stands.
    pub fn find(&self, name: &str, scope: Option<Scope>) -> Result<(Scope, PathBuf), Error> {
        let loaded = load::load_scopes(&self.surroundings, &self.asked);
        let is_meant = |candidate: &&EntryCandidate| {
            candidate.name == name && scope.is_none_or(|scope| candidate.scope == scope)
        };
        let all: Vec<_> = loaded.candidates.iter().filter(is_meant).collect();
        let mut writable: Vec<_> =
            all.iter().filter(|candidate| candidate.scope.is_writable()).collect();
        // Of several files of one scope the nearest is used, and it comes first.
        writable.dedup_by_key(|candidate| candidate.scope);
        match (&*writable, all.first()) {
            ([only], _) => {
                let path = only.at.origin.path().map(Path::to_owned);
                path.map(|path| (only.scope, path)).ok_or(Error::ReadOnly { scope: only.scope })
            }
            ([], Some(other)) => Err(Error::ReadOnly { scope: other.scope }),
            ([], None) if is_discovered_name(name) => {
                Err(Error::NotConfigured { name: name.to_owned() })
            }
            ([], None) => Err(Error::NoServer { name: name.to_owned() }),
            (several, _) => Err(Error::Ambiguous {
                name: name.to_owned(),
                scopes: several.iter().map(|candidate| candidate.scope).collect(),
            }),
        }
    }

    /// Enables or disables a server: for this project (`Local`), or for all (`User`). Returns the file.
    pub fn switch(&self, scope: Scope, name: &str, switch: ServerSwitch) -> Result<PathBuf, Error> {
        if scope == Scope::Project {
            return Err(Error::ReadOnly { scope });
        }
        if !is_discovered_name(name) && self.desired().servers_named(name).next().is_none() {
            return Err(Error::NoServer { name: name.to_owned() });
        }
        let path = self.file_of_scope(scope)?;
        let (from, to) = match switch {
            ServerSwitch::On => ("disabledMcpServers", "enabledMcpServers"),
            ServerSwitch::Off => ("enabledMcpServers", "disabledMcpServers"),
        };
        self.change_file(scope, &path, |text| {
            edit::remove_from_list(text, &[from], name).map(Some)
        })?;
        if self.is_switched(name, switch) {
            return Ok(path);
        }
        self.change_file(scope, &path, |text| edit::add_to_list(text, &[to], name).map(Some))?;
        if switch == ServerSwitch::On {
            let at = SourceOrigin::file(&path).start();
            self.approve_written(scope, &[setting_item(to, Some(name), &at)])?;
        }
        Ok(path)
    }

    /// Writes the organisation's identity provider into the user's settings. Returns the file.
    pub fn set_identity_provider(&self, provider: &IdentityProvider) -> Result<PathBuf, Error> {
        let path = self.file_of_scope(Scope::User)?;
        let value = provider.to_json();
        self.change_file(Scope::User, &path, |text| {
            edit::set_member(text, &[IDENTITY_PROVIDER_MEMBER], &value).map(Some)
        })?;
        Ok(path)
    }

    /// Removes the identity provider from the user's settings; `None` if there is none.
    pub fn remove_identity_provider(&self) -> Result<Option<PathBuf>, Error> {
        let path = self.file_of_scope(Scope::User)?;
        let removed = self.change_file(Scope::User, &path, |text| {
            match edit::get_member(text, &[IDENTITY_PROVIDER_MEMBER])? {
                Some(_) => edit::remove_member(text, &[IDENTITY_PROVIDER_MEMBER]).map(Some),
                None => Ok(None),
            }
        })?;
        Ok(removed.then_some(path))
    }

    /// Reads the servers of other clients' files. Of servers that belong to one project, only those of this
    /// project are returned.
    pub fn read_client_files(
        &self,
        clients: &[ClientApp],
        owner: ClientFileOwner,
    ) -> ClientServers {
        let mut read = ClientServers::default();
        for client in clients {
            read.append(match owner {
                ClientFileOwner::User => {
                    import::read_user_files(*client, &self.surroundings, &self.root)
                }
                ClientFileOwner::Project => {
                    import::read_project_files(*client, &self.surroundings, &self.root)
                }
            });
        }
        read
    }

    /// Plans the import of other clients' servers; [`ConfigWorkspace::add`] carries it out. Without a scope,
    /// servers of a project go to the local scope, others to the user's.
    pub fn plan_import(&self, read: ClientServers, scope: Option<Scope>) -> ImportPlan {
        // A record that cannot be read approves nothing.
        let approvals = self.store().load().unwrap_or_default();
        let desired = self.desired();
        let existing = import::existing_servers(&self.surroundings, &desired, &approvals);
        import::plan_import(
            read,
            &ImportTarget {
                surroundings: &self.surroundings,
                root: &self.root,
                scope,
                existing: &existing,
                secret_providers: &desired.settings.secret_providers,
            },
        )
    }

    /// Records that a person approved these items.
    pub fn approve(&self, items: &[ApprovalItem]) -> Result<(), Error> {
        self.store().approve(items, self.surroundings.now)
    }

    /// Records that a person rejected these items.
    pub fn reject(&self, items: &[ApprovalItem]) -> Result<(), Error> {
        self.store().reject(items, self.surroundings.now)
    }

    /// Deletes every decision about this project, and returns their number.
    pub fn forget_approvals(&self) -> Result<usize, Error> {
        self.store().reset(&self.root)
    }

    fn store(&self) -> ApprovalStore {
        ApprovalStore::new(&self.surroundings.state_dir)
    }

    /// Whether a server is enabled or disabled already, so that nothing has to be written.
    fn is_switched(&self, name: &str, switch: ServerSwitch) -> bool {
        let desired = self.desired();
        let is_off = desired.servers_named(name).all(|server| server.state.name() == "disabled");
        match switch {
            ServerSwitch::On if desired.servers_named(name).next().is_none() => {
                !desired.switched_off.contains_key(name)
            }
            ServerSwitch::On => {
                !desired.servers_named(name).any(|server| server.state.name() == "disabled")
            }
            ServerSwitch::Off => is_off && desired.servers_named(name).next().is_some(),
        }
    }

    pub(crate) fn check_policy(&self, name: &str, entry: &Value, path: &Path) -> Result<(), Error> {
        let desired = self.desired();
        if desired.exclusive {
            return Err(Error::Managed {
                path: self.surroundings.managed_dir.join("managed-mcp.json"),
            });
        }
        let checked =
            check_entry(name, entry, &SourceOrigin::file(path).start(), &self.surroundings.env);
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

    /// Changes a file; returns `false` if `change` refused.
    pub(crate) fn change_file(
        &self,
        scope: Scope,
        path: &Path,
        change: impl Fn(&str) -> Result<Option<String>, EditError>,
    ) -> Result<bool, Error> {
        if scope == Scope::Local {
            self.keep_out_of_git(path)?;
        }
        self.check_stays_inside(scope, path)?;
        let mut done = true;
        let privacy =
            if scope == Scope::Project { FilePrivacy::Shared } else { FilePrivacy::Private };
        update_file(path, &self.surroundings.state_dir, privacy, |text| {
            let changed =
                change(text).map_err(|source| Error::Edit { path: path.to_owned(), source })?;
            done = changed.is_some();
            Ok(changed.unwrap_or_else(|| text.to_owned()))
        })?;
        Ok(done)
    }

    /// Checks a path before writing. Links are followed, but a project's link must not make us write into the
    /// user's files. In `.switchboard`, links are not even read.
    fn check_stays_inside(&self, scope: Scope, path: &Path) -> Result<(), Error> {
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
        let target = edit::follow_links(path)?;
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
        self.check_stays_inside(Scope::Local, &folder.join(".gitignore"))?;
        update_file(
            &folder.join(".gitignore"),
            &self.surroundings.state_dir,
            FilePrivacy::Shared,
            |text| {
                if text.lines().any(|line| matches!(line.trim(), "settings.local.json" | "*")) {
                    return Ok(text.to_owned());
                }
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                Ok(format!("{text}{gap}{ignored}\n"))
            },
        )
    }

    /// Approves the items that a command has written, and nothing else in that file.
    pub(crate) fn approve_written(
        &self,
        scope: Scope,
        items: &[ApprovalItem],
    ) -> Result<(), Error> {
        if scope.is_trusted() { Ok(()) } else { self.approve(items) }
    }

    fn exists(&self, scope: Scope, name: &str, origin: &SourceOrigin) -> Error {
        let desired = self.desired();
        let servers = desired.servers.iter().map(|server| (&server.name, server.scope, &server.at));
        let shadowed = desired.shadowed.iter().map(|entry| (&entry.name, entry.scope, &entry.at));
        let found = servers.chain(shadowed).find(|(other, at, _)| *other == name && *at == scope);
        let at: SourceLocation = found.map_or_else(|| origin.start(), |(_, _, at)| at.clone());
        Error::Exists { name: name.to_owned(), scope, at }
    }
}

/// The approval item of an entry that was written to a file.
fn written_item(name: &str, entry: &Value, path: &Path) -> ApprovalItem {
    let at = SourceOrigin::file(path).start();
    server_item(name, &ConfigNode::from_json(entry, &at), &at)
}

/// Whether a server with this name is discovered, without an entry in any file.
fn is_discovered_name(name: &str) -> bool {
    [PLUGINS_SERVER, EDITOR_SERVER, BUILTIN_SERVER].contains(&name)
}
