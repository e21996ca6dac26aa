//! The plan of an import: which servers would be added, and which skipped.
//!
//! Used by `switchboard import` through `ConfigWorkspace`. It does not write entries (`workspace`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::identity::{ComparedEntry, IdentityContext, UnreadableSecret};
use super::{ClientApp, ClientServers, ImportCandidate, ImportIdentity};
use crate::host_context::HostContext;
use crate::install::is_switchboard_entry;
use crate::problem::ConfigProblem;
use crate::scope::Scope;
use crate::secret::SecretProvider;
use crate::source::{ConfigNode, LocatedValue, SourceLocation};
use crate::{check_entry, server_name};

/// The plan of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportPlan {
    /// The entries to write, under free names.
    pub add: Vec<PlannedImport>,
    /// The servers that are skipped.
    pub skip: Vec<SkippedImport>,
    /// The problems of reading the files.
    pub problems: Vec<ConfigProblem>,
}

/// A server that an import adds.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedImport {
    /// The name that the entry gets here.
    pub name: String,
    /// The scope that the entry is written to.
    pub scope: Scope,
    /// The server in the client's file.
    pub candidate: ImportCandidate,
}

/// A skipped server.
#[derive(Debug, Clone, PartialEq)]
pub struct SkippedImport {
    /// The server in the client's file.
    pub candidate: ImportCandidate,
    /// The reason.
    pub reason: ImportSkipReason,
}

/// Why a server is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportSkipReason {
    /// The server is this program.
    ThisProgram,
    /// The entry is not usable; the plan's problems say why.
    Unusable,
    /// The server equals another one.
    Same(SameServer),
    /// The server may be the same as another one, whose secret cannot be opened now.
    Undecided(SameServer, UnreadableSecret),
    /// The server stands in a file that this program reads itself.
    ReadFromProject,
}

/// The server that a skipped one equals: configured already, or added by the same plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameServer {
    /// Its name here.
    pub name: String,
    /// Where it stands: in a file of ours, or in the client's file that it is added from.
    pub at: SourceLocation,
}

/// A server that is configured here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingServer {
    /// Its name.
    pub name: String,
    /// Its scope.
    pub scope: Scope,
    /// Where it stands.
    pub at: SourceLocation,
    /// Its entry; absent if it is not usable, or awaits a person's decision.
    pub(crate) entry: Option<ComparedEntry>,
}

/// The target of an import, with its present servers.
#[derive(Debug, Clone, Copy)]
pub struct ImportTarget<'a> {
    /// The caller.
    pub surroundings: &'a HostContext,
    /// The project root, in which entries of the local and the project scope start.
    pub root: &'a Path,
    /// The scope of all entries; if absent, servers of a project go to the local scope, others to the user's.
    pub scope: Option<Scope>,
    /// The servers that are configured.
    pub existing: &'a [ExistingServer],
    /// The providers of secrets in the settings.
    pub secret_providers: &'a BTreeMap<String, LocatedValue<SecretProvider>>,
}

/// Plans to import every usable server that is not configured here yet, under whatever name.
///
/// The servers may come from several clients. The plan does not depend on their order. What goes to the user
/// scope does not depend on the project that the caller is in.
pub fn plan_import(read: ClientServers, target: &ImportTarget<'_>) -> ImportPlan {
    let ClientServers { mut servers, mut problems } = read;
    let existing = target.existing.iter().filter(|existing| !is_inherited_from(existing, &servers));
    let existing = existing.collect();
    servers.sort_by(|one, other| order(one).cmp(&order(other)));
    problems.sort_by(|one, other| (&one.at, &one.message).cmp(&(&other.at, &other.message)));
    let plan = ImportPlan { problems, ..ImportPlan::default() };
    let mut planner = ImportPlanner { target, existing, plan, added: BTreeMap::new() };
    for candidate in servers {
        planner.place(candidate);
    }
    planner.plan
}

/// A plan in the making.
struct ImportPlanner<'a> {
    target: &'a ImportTarget<'a>,
    /// The servers that candidates are compared with.
    existing: Vec<&'a ExistingServer>,
    plan: ImportPlan,
    /// The servers that the plan adds so far.
    added: BTreeMap<ImportIdentity, SameServer>,
}

/// Whether an entry is inherited from a file that is imported: it is one of the candidates itself. An import under the
/// same name stands in for it.
fn is_inherited_from(existing: &ExistingServer, candidates: &[ImportCandidate]) -> bool {
    existing.scope == Scope::Inherited
        && candidates.iter().any(|candidate| candidate.at.origin == existing.at.origin)
}

/// The order in which candidates get their names: the user's before a project's, then by client and location.
fn order(candidate: &ImportCandidate) -> (bool, ClientApp, &SourceLocation, &str) {
    (candidate.project.is_some(), candidate.client, &candidate.at, &candidate.name)
}

// === impl ImportPlan ===

impl ImportPlan {
    /// The skipped servers that may be the same as a configured one, whose secret cannot be opened now.
    pub fn undecided(&self) -> impl Iterator<Item = &SkippedImport> {
        let is_undecided =
            |skipped: &&SkippedImport| matches!(skipped.reason, ImportSkipReason::Undecided(..));
        self.skip.iter().filter(is_undecided)
    }

    /// The members that are lost by carrying out the plan: those of added servers, and of servers that are the
    /// same as an added one.
    pub fn losses(&self) -> impl Iterator<Item = &ConfigProblem> {
        let is_merged = |skipped: &&SkippedImport| {
            matches!(&skipped.reason, ImportSkipReason::Same(same)
                if self.add.iter().any(|planned| planned.name == same.name))
        };
        let merged = self.skip.iter().filter(is_merged).map(|skipped| &skipped.candidate);
        let added = self.add.iter().map(|planned| &planned.candidate);
        added.chain(merged).flat_map(|candidate| &candidate.losses)
    }
}

// === impl ImportPlanner ===

impl ImportPlanner<'_> {
    fn place(&mut self, candidate: ImportCandidate) {
        let scope = self.target.scope_of(&candidate);
        let entry = match self.compared_entry(&candidate, scope) {
            Ok(entry) => entry,
            Err(reason) => return self.plan.skip.push(SkippedImport { candidate, reason }),
        };
        let identity = entry.identity();
        let same = self.find_same(&identity, scope).map(ImportSkipReason::Same);
        if let Some(reason) = same.or_else(|| self.find_undecided(&entry, scope)) {
            return self.plan.skip.push(SkippedImport { candidate, reason });
        }
        let name = free_name(&candidate.name, &self.taken_names(scope));
        let same = SameServer { name: name.clone(), at: candidate.at.clone() };
        self.added.insert(identity, same);
        self.plan.add.push(PlannedImport { name, scope, candidate });
    }

    /// The entry of a candidate, or why it cannot be added at all.
    fn compared_entry(
        &mut self,
        candidate: &ImportCandidate,
        scope: Scope,
    ) -> Result<ComparedEntry, ImportSkipReason> {
        if is_switchboard_entry(&candidate.entry) {
            return Err(ImportSkipReason::ThisProgram);
        }
        if is_read_from_project(candidate) {
            return Err(ImportSkipReason::ReadFromProject);
        }
        let ImportCandidate { name, entry, at, .. } = candidate;
        let checked = check_entry(name, entry, at, &self.target.surroundings.env);
        let compared = checked.entry.and_then(|_| self.target.compared_entry(candidate, scope));
        compared.ok_or_else(|| {
            self.plan.problems.extend(checked.problems);
            ImportSkipReason::Unusable
        })
    }

    fn find_same(&self, identity: &ImportIdentity, scope: Scope) -> Option<SameServer> {
        let existing = self.visible_entries(scope).find(|(_, entry)| entry.identity() == *identity);
        match existing {
            Some((server, _)) => Some(server.into()),
            None => self.added.get(identity).cloned(),
        }
    }

    /// The server that a candidate may equal, if a secret could be opened.
    fn find_undecided(&self, candidate: &ComparedEntry, scope: Scope) -> Option<ImportSkipReason> {
        self.visible_entries(scope).find_map(|(server, entry)| {
            let secret = entry.undecided_by(candidate)?;
            Some(ImportSkipReason::Undecided(server.into(), secret.clone()))
        })
    }

    /// The configured servers that an import into `scope` is compared with.
    fn visible_entries(
        &self,
        scope: Scope,
    ) -> impl Iterator<Item = (&ExistingServer, &ComparedEntry)> {
        let visible = self.existing.iter().filter(move |server| is_visible(server.scope, scope));
        visible.filter_map(|server| Some((*server, server.entry.as_ref()?)))
    }

    fn taken_names(&self, scope: Scope) -> BTreeSet<&str> {
        let existing = self.existing.iter().filter(|server| {
            // A file holds a name once. An entry elsewhere that awaits a decision has no say.
            server.scope == scope
                || is_visible(server.scope, scope)
                    && (server.scope.is_trusted() || server.entry.is_some())
        });
        let existing = existing.map(|server| &*server.name);
        existing.chain(self.plan.add.iter().map(|planned| &*planned.name)).collect()
    }
}

// === impl ImportTarget ===

impl ImportTarget<'_> {
    fn scope_of(&self, candidate: &ImportCandidate) -> Scope {
        let default = if candidate.project.is_some() { Scope::Local } else { Scope::User };
        self.scope.unwrap_or(default)
    }

    fn compared_entry(&self, candidate: &ImportCandidate, scope: Scope) -> Option<ComparedEntry> {
        let folder = if scope == Scope::User { &self.surroundings.home } else { self.root };
        let context = IdentityContext { host: self.surroundings, providers: self.secret_providers };
        let entry = ConfigNode::from_json(&candidate.entry, &candidate.at);
        ComparedEntry::new(&entry, folder, &context)
    }
}

// === impl SameServer ===

impl From<&ExistingServer> for SameServer {
    fn from(server: &ExistingServer) -> Self {
        Self { name: server.name.clone(), at: server.at.clone() }
    }
}

// === impl ImportSkipReason ===

impl ImportSkipReason {
    /// The configured server that the skipped one equals, or may equal.
    pub fn same_server(&self) -> Option<&SameServer> {
        match self {
            Self::Same(same) | Self::Undecided(same, _) => Some(same),
            Self::ThisProgram | Self::Unusable | Self::ReadFromProject => None,
        }
    }

    /// A stable word for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ThisProgram => "this-program",
            Self::Unusable => "unusable",
            Self::Same(_) => "same",
            Self::Undecided(..) => "undecided",
            Self::ReadFromProject => "read-from-project",
        }
    }
}

impl fmt::Display for ImportSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThisProgram => f.write_str("it is this program"),
            Self::Unusable => f.write_str("its entry is not usable"),
            Self::Same(same) => write!(f, "it is the same server as `{}`", same.name),
            Self::Undecided(same, UnreadableSecret { name, why }) => write!(
                f,
                "it may be the same server as `{}`, whose secret `{name}` cannot be read: {why}",
                same.name
            ),
            Self::ReadFromProject => f.write_str("this program reads that file itself"),
        }
    }
}

/// Whether an entry of one scope counts for an import into another. For an import into the user scope, only
/// entries count that are there in every project.
fn is_visible(existing: Scope, destination: Scope) -> bool {
    destination != Scope::User || !matches!(existing, Scope::Project | Scope::Local)
}

fn is_read_from_project(candidate: &ImportCandidate) -> bool {
    let file = candidate.at.origin.path().and_then(Path::file_name);
    candidate.client == ClientApp::ClaudeCode && file.is_some_and(|file| file == ".mcp.json")
}

/// A valid server name that is not taken.
fn free_name(wanted: &str, taken: &BTreeSet<&str>) -> String {
    let wanted = server_name::normalize_server_name(wanted);
    let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
    let mut names = std::iter::once(wanted.clone()).chain(numbered);
    names.find(|name| !taken.contains(&**name)).unwrap_or(wanted)
}
