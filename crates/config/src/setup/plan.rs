//! The plan of a setup: which servers are imported, which clients get our entry, and which files change.
//!
//! Used by `switchboard setup`, and by `status` and `doctor` for servers that a client has twice. It reads files
//! and changes none (`setup::carry_out`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client_overview::ClientOverview;
use super::file_change::{MemberValue, PlannedFile};
use crate::edit;
use crate::error::Error;
use crate::host_context::{HostContext, Platform};
use crate::import::{
    ClientApp, ClientFileOwner, ClientServers, ImportCandidate, ImportPlan, ImportSkipReason,
};
use crate::install::{self, ClientFileFormat, ClientInstallation, InstalledEntry, LaunchCommand};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::scope::Scope;
use crate::workspace::ConfigWorkspace;

/// The options of a setup.
#[derive(Debug, Clone)]
pub struct SetupOptions {
    /// The clients; if empty, all that are on this machine.
    pub clients: Vec<ClientApp>,
    /// The name of our entry.
    pub name: String,
    /// The command of our entry.
    pub launch: LaunchCommand,
    /// The platform of the machine.
    pub platform: Platform,
}

/// The changes that a setup would make.
#[derive(Debug)]
pub struct SetupPlan {
    /// The clients, each with what becomes of it.
    pub clients: Vec<ClientPlan>,
    /// The servers of all user files, merged.
    pub import: ImportPlan,
    /// The entries of our user scope, by name, from which secrets can move; none if single clients were named.
    pub present: Map<String, Value>,
    /// The servers of the project's files, which stay where they are.
    pub project: ClientServers,
    /// The file of our user scope.
    pub settings: PathBuf,
}

/// Where a server of a client is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPlace<'a> {
    /// In our settings, under this name.
    Present(&'a str),
    /// The plan adds it under this name.
    Planned(&'a str),
    /// Not in our settings.
    Elsewhere,
}

/// What becomes of one client.
#[derive(Debug)]
pub struct ClientPlan {
    /// The client, as it is now.
    pub overview: ClientOverview,
    /// The servers of its user files, besides ours.
    pub servers: Vec<ImportCandidate>,
    /// The changes of its files.
    pub files: Vec<PlannedFile>,
    /// Why its files do not change.
    pub obstacle: Option<SetupObstacle>,
    /// Problems of single servers of its files.
    problems: Vec<ConfigProblem>,
}

/// Why the files of a client do not change.
#[derive(Debug)]
pub enum SetupObstacle {
    /// A file of the client cannot be read.
    Unreadable(ConfigProblem),
    /// A file of the client cannot be edited.
    Uneditable(Error),
    /// Another program has the name of our entry.
    NameInUse {
        /// The client's file.
        file: PathBuf,
        /// The other entry.
        entry: Value,
    },
    /// Our entry cannot be written for this client; its servers are only copied.
    NotInstallable,
}

/// The servers that a client has in its own files, by name, and also through us, under the second name.
pub type ServerCopies = BTreeMap<String, String>;

/// Plans a setup.
pub fn plan_setup(
    workspace: &ConfigWorkspace,
    host: &HostContext,
    options: &SetupOptions,
) -> SetupPlan {
    let clients: Vec<_> = ClientApp::ALL
        .into_iter()
        .filter(|client| options.clients.is_empty() || options.clients.contains(client))
        .map(|client| ClientPlan::inspect(client, workspace, host, options))
        .filter(|plan| !options.clients.is_empty() || plan.is_proposed())
        .collect();
    let mut read = ClientServers::default();
    for plan in clients.iter().filter(|plan| plan.is_imported()) {
        read.servers.extend(plan.for_all_projects().cloned());
        read.problems.extend(plan.problems.iter().cloned());
    }
    let import = workspace.plan_import(read, Some(Scope::User));
    let of_project: Vec<_> = clients.iter().map(|plan| plan.overview.client).collect();
    let project = workspace.read_client_files(&of_project, ClientFileOwner::Project);
    let settings = host.config_dir.join("settings.json");
    let present = if options.clients.is_empty() { read_entries(&settings) } else { Map::default() };
    let mut plan = SetupPlan { clients, import, present, project, settings };
    plan.plan_removals();
    plan
}

// === impl SetupPlan ===

impl SetupPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.import.add.is_empty() && self.clients.iter().all(|client| client.files.is_empty())
    }

    /// The first file of which `now`, a later plan for the same options, imports or changes something else.
    pub(super) fn changed_since(&self, now: &Self) -> Option<PathBuf> {
        let import = first_difference(self.imports(), now.imports()).map(|(file, ..)| file);
        let change = || first_difference(self.file_changes(), now.file_changes());
        import.or_else(|| change().map(|change| &*change.file)).map(Path::to_owned)
    }

    /// The entries that are imported: the client's file, the name here, the entry.
    fn imports(&self) -> impl Iterator<Item = (&Path, &str, &Value)> {
        self.import.add.iter().filter_map(|planned| {
            let file = planned.candidate.at.origin.path()?;
            Some((file, &*planned.name, &planned.candidate.entry))
        })
    }

    /// The changes of clients' files.
    pub(super) fn file_changes(&self) -> impl Iterator<Item = &PlannedFile> {
        self.clients.iter().flat_map(|client| &client.files)
    }

    /// The servers that each client has in its own files and through us, for clients that have our entry.
    pub fn copies(
        &self,
        workspace: &ConfigWorkspace,
    ) -> impl Iterator<Item = (ClientApp, ServerCopies)> {
        let mut servers = workspace.desired().servers;
        servers.retain(|server| server.scope == Scope::Inherited);
        let with_us = self.clients.iter().filter(|plan| !plan.overview.entries.is_empty());
        with_us.map(move |plan| {
            let copies = plan.for_all_projects().filter_map(|server| {
                let inherited = servers.iter().find(|inherited| inherited.at == server.at);
                let name = match (self.place(server), inherited) {
                    (ServerPlace::Present(name), _) => name,
                    (_, Some(inherited)) => &inherited.name,
                    _ => return None,
                };
                Some((server.name.clone(), name.to_owned()))
            });
            (plan.overview.client, copies.collect())
        })
    }

    /// The servers that each client has in the caller's project, in its own files and through us, for clients that have
    /// our entry. A setup takes none of them out.
    pub fn project_copies(
        &self,
        workspace: &ConfigWorkspace,
    ) -> impl Iterator<Item = (ClientApp, ServerCopies)> {
        let with_us = self.clients.iter().filter(|plan| !plan.overview.entries.is_empty());
        with_us.filter_map(|plan| {
            let client = plan.overview.client;
            let in_user_files = plan.servers.iter().filter(|server| server.project.is_some());
            let in_project = self.project.servers.iter().filter(|server| server.client == client);
            let servers: Vec<_> = in_user_files.chain(in_project).cloned().collect();
            if servers.is_empty() {
                return None;
            }
            let read = ClientServers { servers, problems: Vec::new() };
            let import = workspace.plan_import(read, Some(Scope::Local));
            let is_added = |name: &str| import.add.iter().any(|planned| planned.name == name);
            let copies = import.skip.iter().filter_map(|skipped| match &skipped.reason {
                ImportSkipReason::Same(same) if !is_added(&same.name) => {
                    Some((skipped.candidate.name.clone(), same.name.clone()))
                }
                _ => None,
            });
            Some((client, copies.collect()))
        })
    }

    /// Where a server of a client is here, or will be.
    pub fn place(&self, server: &ImportCandidate) -> ServerPlace<'_> {
        let is_same =
            |other: &ImportCandidate| other.at == server.at && other.client == server.client;
        if let Some(planned) = self.import.add.iter().find(|planned| is_same(&planned.candidate)) {
            return ServerPlace::Planned(&planned.name);
        }
        let is_added = |name: &str| self.import.add.iter().any(|planned| planned.name == name);
        let skipped = self.import.skip.iter().find(|skipped| is_same(&skipped.candidate));
        match skipped.map(|skipped| &skipped.reason) {
            Some(ImportSkipReason::Same(same)) if same.at.origin.path() == Some(&self.settings) => {
                ServerPlace::Present(&same.name)
            }
            Some(ImportSkipReason::Same(same)) if is_added(&same.name) => {
                ServerPlace::Planned(&same.name)
            }
            _ => ServerPlace::Elsewhere,
        }
    }

    /// Plans to remove from clients' files the servers that are in our settings, or will be.
    fn plan_removals(&mut self) {
        let mut clients = std::mem::take(&mut self.clients);
        for plan in clients.iter_mut().filter(|plan| plan.obstacle.is_none()) {
            let is_ours = |server: &&ImportCandidate| self.place(server) != ServerPlace::Elsewhere;
            let members: Vec<_> =
                plan.for_all_projects().filter(is_ours).filter_map(find_member).collect();
            for (file, format, member) in members {
                plan.file_mut(file, format).remove.push(member);
            }
        }
        self.clients = clients;
    }
}

// === impl ClientPlan ===

impl ClientPlan {
    fn inspect(
        client: ClientApp,
        workspace: &ConfigWorkspace,
        host: &HostContext,
        options: &SetupOptions,
    ) -> Self {
        let read = workspace.read_client_files(&[client], ClientFileOwner::User);
        let program = &options.launch.program;
        let overview = ClientOverview::new(client, &read.servers, program, host);
        let is_other =
            |server: &ImportCandidate| !install::is_entry_of_program(&server.entry, program);
        let mut plan = Self {
            servers: read.servers.into_iter().filter(is_other).collect(),
            files: Vec::new(),
            obstacle: None,
            problems: read.problems,
            overview,
        };
        let is_fatal = |problem: &ConfigProblem| {
            use ConfigProblemKind::{Malformed, Unreadable};
            matches!(problem.kind, Malformed | Unreadable)
        };
        match plan.problems.iter().position(is_fatal) {
            Some(at) => {
                plan.obstacle = Some(SetupObstacle::Unreadable(plan.problems.swap_remove(at)));
            }
            None => plan.plan_entry(host, options),
        }
        plan
    }

    /// Plans our entry in the client's file.
    fn plan_entry(&mut self, host: &HostContext, options: &SetupOptions) {
        let client = self.overview.client;
        let launch = options.launch.for_client(client);
        let found = ClientInstallation::inspect(
            client,
            &options.name,
            &launch.program,
            host,
            options.platform,
        );
        let found = match found {
            None => return self.obstacle = Some(SetupObstacle::NotInstallable),
            Some(Err(error)) => return self.obstacle = Some(SetupObstacle::Uneditable(error)),
            Some(Ok(found)) => found,
        };
        let is_there_under_another_name =
            !self.overview.entries.is_empty() && !matches!(found.current, InstalledEntry::Ours(_));
        match &found.current {
            _ if is_there_under_another_name => {}
            InstalledEntry::Other(entry) => {
                let (file, entry) = (found.file.clone(), entry.clone());
                self.obstacle = Some(SetupObstacle::NameInUse { file, entry });
            }
            standing => {
                let entry = found.entry(&launch);
                if standing.value() != Some(&entry) {
                    let member = MemberValue::new(&[found.member], &options.name, entry);
                    let file = found.file.clone();
                    self.files.push(PlannedFile {
                        set: vec![member],
                        ..PlannedFile::new(Some(client), file, found.format())
                    });
                }
            }
        }
    }

    /// The planned change of a file.
    fn file_mut(&mut self, file: PathBuf, format: ClientFileFormat) -> &mut PlannedFile {
        let at = self.files.iter().position(|planned| planned.file == file);
        let at = at.unwrap_or_else(|| {
            self.files.push(PlannedFile::new(Some(self.overview.client), file, format));
            self.files.len() - 1
        });
        &mut self.files[at]
    }

    /// The servers that do not belong to one project.
    fn for_all_projects(&self) -> impl Iterator<Item = &ImportCandidate> {
        self.servers.iter().filter(|server| server.project.is_none())
    }

    /// Whether the client is part of a setup that names no clients: it is on this machine, and there is something to
    /// install in it or to copy from it.
    fn is_proposed(&self) -> bool {
        let is_installable = !matches!(self.obstacle, Some(SetupObstacle::NotInstallable));
        self.overview.presence.is_some() && (is_installable || !self.servers.is_empty())
    }

    /// Whether the servers of the client are imported.
    fn is_imported(&self) -> bool {
        matches!(self.obstacle, None | Some(SetupObstacle::NotInstallable))
    }
}

/// The first element that differs between the sequences.
fn first_difference<T: PartialEq>(
    one: impl Iterator<Item = T>,
    mut other: impl Iterator<Item = T>,
) -> Option<T> {
    for element in one {
        if other.next().as_ref() != Some(&element) {
            return Some(element);
        }
    }
    other.next()
}

/// The entries of our settings. Settings that cannot be read have none here; `import` reports their problems.
fn read_entries(settings: &Path) -> Map<String, Value> {
    let text = std::fs::read_to_string(settings).unwrap_or_default();
    match edit::get_member(&text, &["mcpServers"]) {
        Ok(Some(Value::Object(entries))) => entries,
        _ => Map::default(),
    }
}

/// The member of the client's file that holds a server, as it stands there.
fn find_member(server: &ImportCandidate) -> Option<(PathBuf, ClientFileFormat, MemberValue)> {
    let file = server.at.origin.path()?;
    let text = std::fs::read_to_string(file).ok()?;
    let (format, path) = install::servers_path(server.client, file, &text)?;
    let mut member = MemberValue::new(&path, &server.name, Value::Null);
    member.value = format.get(&text, &member.keys()).ok()??;
    Some((file.to_owned(), format, member))
}
