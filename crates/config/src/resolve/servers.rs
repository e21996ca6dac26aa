//! Resolving servers: the state of every candidate, and which of several with one name is used.
//!
//! Used by `resolve`. Policy, approvals and settings are checked through `policy`, `approval_gate` and
//! `settings`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::agent::AgentChoice;
use super::approval_gate::ApprovalGate;
use super::connectors;
use super::desired::{
    DesiredServer, EffectiveSettings, NotReadyReason, ServerReadiness, ShadowedEntry,
};
use super::principals;
use super::secrets::{EntryValues, SecretSources};
use crate::approval::{ApprovalChange, ApprovalItem, ApprovalItemKind, ItemVerdict};
use crate::entry::{Entry, ServerSignature, Transport};
use crate::entry_check::{decode, decode_literally, missing_variable_problem};
use crate::expand::{
    self, MissingReference, PROJECT_NAME_VARIABLE, PROJECT_ROOT_VARIABLE, ReferenceKind,
};
use crate::host_context::{EnvironmentVariables, HostContext};
use crate::load::{EntryCandidate, LoadedConfig, SettingsLayer, server_item};
use crate::policy::Policy;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;
use crate::search_path::{FolderSkipReason, SearchPath, is_bare_command};
use crate::secret::{collect_secret_names, secret_form_problem};
use crate::source::{LocatedValue, SourceLocation};

/// The variable that lists the folders in which commands are looked up.
const PATH_VARIABLE: &str = "PATH";

/// Collects the variables that entries name.
pub(super) fn collect_variables(loaded: &LoadedConfig) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let expanded = loaded.candidates.iter().filter(|candidate| candidate.scope.is_expanded());
    expanded.for_each(|candidate| expand::collect_variables(&candidate.node, &mut names));
    names
}

/// The inputs for deciding a candidate's state.
pub(super) struct ServerResolver<'a> {
    loaded: &'a LoadedConfig,
    policy: &'a Policy,
    inline: Vec<EntryCandidate>,
    env: EnvironmentVariables,
    secrets: SecretSources<'a>,
}

/// A decoded candidate, with the variables that have no value and the secrets that it names.
struct DecodedEntry {
    entry: Entry,
    missing_variables: Vec<MissingReference>,
    secret_names: BTreeSet<String>,
    item: Option<ApprovalItem>,
}

impl<'a> ServerResolver<'a> {
    pub(super) fn new(
        loaded: &'a LoadedConfig,
        surroundings: &'a HostContext,
        effective: &'a EffectiveSettings,
        policy: &'a Policy,
        choice: &AgentChoice<'_>,
    ) -> Self {
        let mut env = surroundings.env.clone();
        env.extend(effective.env.iter().map(|(name, value)| (name.clone(), value.value.clone())));
        let secrets = SecretSources {
            lookup: &*surroundings.secrets,
            providers: &effective.secret_providers,
        };
        Self { loaded, policy, inline: choice.inline(), env, secrets }
    }

    /// Decides all candidates, greatest precedence first.
    pub(super) fn resolve_servers(
        &self,
        gate: &mut ApprovalGate,
        problems: &mut Vec<ConfigProblem>,
    ) -> (Vec<DesiredServer>, Vec<ShadowedEntry>) {
        let mut servers: Vec<DesiredServer> = Vec::new();
        let mut shadowed = Vec::new();
        let mut taken = BTreeSet::new();
        for candidate in self.inline.iter().chain(&self.loaded.candidates) {
            if taken.contains(&*candidate.name) {
                shadowed.push(shadowed_entry(candidate, &candidate.name));
                continue;
            }
            let server = self.server(candidate, gate, problems);
            if let Some(same) = find_same_server(&server, &servers) {
                shadowed.push(shadowed_entry(candidate, same));
                continue;
            }
            if server.state.shadows() {
                taken.insert(&*candidate.name);
            }
            servers.push(server);
        }
        (servers, shadowed)
    }

    fn server(
        &self,
        candidate: &EntryCandidate,
        gate: &mut ApprovalGate,
        problems: &mut Vec<ConfigProblem>,
    ) -> DesiredServer {
        let env = self.environment_for(candidate);
        let mut values = EntryValues { env: &env, secrets: BTreeMap::new() };
        let secret_names = secret_names(candidate);
        let item = candidate.item.clone().or_else(|| bundle_item(candidate, &secret_names));
        let before = problems.len();
        if candidate.scope.is_expanded() {
            problems.extend(secret_form_problem(&candidate.name, &candidate.node, &candidate.at));
        }
        let is_formed = problems.len() == before;
        let (mut entry, missing) = if candidate.scope.is_expanded() {
            decode(&candidate.name, &candidate.node, &values, problems)
        } else {
            problems.extend(connectors::unexpanded_problem(candidate));
            (decode_literally(&candidate.name, &candidate.node, problems), Vec::new())
        };
        if let Some(entry) = &mut entry {
            problems.extend(principals::refuse_sharing(entry, candidate));
        }
        let mut signature =
            entry.as_ref().filter(|_| missing.is_empty()).map(ServerSignature::of_entry);
        let is_variable = |missing: &MissingReference| missing.kind == ReferenceKind::Variable;
        let missing_variables = missing.into_iter().filter(is_variable).collect();
        let state = match entry.filter(|_| is_formed) {
            Some(entry) => {
                let decoded =
                    DecodedEntry { entry, missing_variables, secret_names, item: item.clone() };
                self.decide_state(candidate, decoded, &mut values, gate, problems)
            }
            None => ServerReadiness::Invalid(first_reason(&problems[before..], candidate)),
        };
        if let ServerReadiness::Ready(entry) = &state {
            signature = Some(ServerSignature::of_entry(entry));
        }
        DesiredServer {
            name: candidate.name.clone(),
            scope: candidate.scope,
            at: candidate.at.clone(),
            state,
            template: candidate.node.clone(),
            working_dir: candidate.start_folder.clone(),
            item,
            signature,
            secrets: values.secrets,
        }
    }

    /// The variables that an entry may name.
    fn environment_for(&self, candidate: &EntryCandidate) -> EnvironmentVariables {
        let mut env = self.env.clone();
        self.set_project_variables(&mut env);
        // An entry that names `${PATH}` gets only the folders in which it may look.
        if let Some(path) =
            self.search_path(&candidate.start_folder).and_then(|path| path.restricted_value())
        {
            env.insert(PATH_VARIABLE.to_owned(), path.to_string_lossy().into_owned());
        }
        env.extend(
            candidate.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        env
    }

    /// Sets the references to the project. A variable of the environment with such a name does not count.
    fn set_project_variables(&self, env: &mut EnvironmentVariables) {
        let root = self.loaded.project.as_deref();
        let name = root.and_then(Path::file_name).map(Path::new);
        for (variable, value) in [(PROJECT_ROOT_VARIABLE, root), (PROJECT_NAME_VARIABLE, name)] {
            match value.and_then(Path::to_str) {
                Some(text) => env.insert(variable.to_owned(), text.to_owned()),
                None => env.remove(variable),
            };
        }
    }

    fn decide_state(
        &self,
        candidate: &EntryCandidate,
        decoded: DecodedEntry,
        values: &mut EntryValues<'_>,
        gate: &mut ApprovalGate,
        problems: &mut Vec<ConfigProblem>,
    ) -> ServerReadiness {
        let DecodedEntry { entry, missing_variables: missing, secret_names, item } = decoded;
        if candidate.scope == Scope::Connectors
            && let Some(why) = connectors::refusal(&entry)
        {
            return ServerReadiness::Invalid(NotReadyReason::new(why, Some(candidate.at.clone())));
        }
        let is_expanded = missing.is_empty() && secret_names.is_empty();
        let judged = is_expanded.then_some(&entry);
        if let Err(blocked) = self.policy.judge(&candidate.name, judged) {
            return ServerReadiness::Blocked(NotReadyReason::new(blocked.why, blocked.by));
        }
        if let Some(by) = self.rejected_by_setting(candidate) {
            return ServerReadiness::Rejected(NotReadyReason::new(
                "rejected in settings",
                Some(by),
            ));
        }
        let verdict = item.as_ref().map_or(ItemVerdict::Approved, |item| {
            gate.server_verdict(item, || self.start_changes(candidate, &entry))
        });
        if verdict == ItemVerdict::Rejected {
            return ServerReadiness::Rejected(NotReadyReason::new("rejected by you", None));
        }
        if let Some(by) = self.disabled_by(candidate, &entry, gate) {
            return ServerReadiness::Disabled(NotReadyReason::new("disabled", Some(by)));
        }
        // A setting may enable a server without approval, but gives it no secret.
        if let (ItemVerdict::Unknown { changes }, Some(item)) = (verdict, &item)
            && (!secret_names.is_empty() || !self.enabled_by_setting(candidate, gate))
        {
            let redacted = |changes: &Vec<ApprovalChange>| {
                changes.iter().map(ApprovalChange::to_redacted).collect()
            };
            let shown = changes.as_ref().map(redacted);
            gate.ask(item, changes);
            return ServerReadiness::AwaitingApproval { changes: shown };
        }
        match missing.first() {
            None if !secret_names.is_empty() => {
                self.admit_with_secrets(candidate, &secret_names, values, problems)
            }
            None => match self.policy.admit(&candidate.name, entry) {
                Ok(entry) => ServerReadiness::Ready(Box::new(entry)),
                Err(blocked) => {
                    ServerReadiness::Blocked(NotReadyReason::new(blocked.why, blocked.by))
                }
            },
            Some(first) => {
                problems.extend(
                    missing
                        .iter()
                        .map(|missing| missing_variable_problem(&candidate.name, missing)),
                );
                let why = if first.is_project() {
                    format!("`${{{}}}` needs a project, and this folder is in none", first.name)
                } else {
                    format!("the variable `{}` is not set", first.name)
                };
                ServerReadiness::Invalid(NotReadyReason::new(why, Some(first.at.clone())))
            }
        }
    }

    /// Looks up the secrets of an entry that everything else permits, and expands the entry with them.
    fn admit_with_secrets(
        &self,
        candidate: &EntryCandidate,
        secret_names: &BTreeSet<String>,
        values: &mut EntryValues<'_>,
        problems: &mut Vec<ConfigProblem>,
    ) -> ServerReadiness {
        match self.secrets.find_all(secret_names) {
            Ok(secrets) => values.secrets = secrets,
            Err(missing) => {
                problems.push(missing.problem(candidate));
                let at = Some(missing.location(candidate));
                return ServerReadiness::Invalid(NotReadyReason::new(missing.reason(), at));
            }
        }
        let mut found = Vec::new();
        let (entry, _) = decode(&candidate.name, &candidate.node, values, &mut found);
        let found: Vec<_> =
            found.into_iter().map(|problem| values.redact_problem(problem)).collect();
        let Some(mut entry) = entry else {
            let reason = first_reason(&found, candidate);
            problems.extend(found);
            return ServerReadiness::Invalid(reason);
        };
        // Those that do not depend on a secret were found before.
        let new = found.into_iter().filter(|problem| !problems.contains(problem));
        problems.extend(new.collect::<Vec<_>>());
        let _ = principals::refuse_sharing(&mut entry, candidate);
        match self.policy.admit(&candidate.name, entry) {
            Ok(entry) => ServerReadiness::Ready(Box::new(entry)),
            Err(blocked) => {
                let why = values.redact_text(blocked.why);
                ServerReadiness::Blocked(NotReadyReason::new(why, blocked.by))
            }
        }
    }

    /// The setting that rejects a server. `disabledMcpjsonServers` only restricts, so it counts in every
    /// scope.
    fn rejected_by_setting(&self, candidate: &EntryCandidate) -> Option<SourceLocation> {
        if candidate.scope != Scope::Project {
            return None;
        }
        let lists =
            self.loaded.layers.iter().flat_map(|layer| &layer.settings.disabled_mcpjson_servers);
        find_named(lists, &candidate.name)
    }

    /// Whether a setting enables a server. `enabledMcpjsonServers` and `enableAllProjectMcpServers` permit,
    /// so in a project file they need approval.
    fn enabled_by_setting(&self, candidate: &EntryCandidate, gate: &mut ApprovalGate) -> bool {
        if candidate.scope != Scope::Project {
            return false;
        }
        let may_enable = |layer: &&SettingsLayer| {
            matches!(layer.scope, Scope::User | Scope::Local | Scope::Enterprise)
        };
        self.loaded.layers.iter().filter(may_enable).any(|layer| {
            let settings = &layer.settings;
            let all = settings.enable_all_project_mcp_servers.as_ref().filter(|flag| flag.value);
            let all = all.map(|flag| setting_item("enableAllProjectMcpServers", None, &flag.at));
            let one = find_named(&settings.enabled_mcpjson_servers, &candidate.name)
                .map(|at| setting_item("enabledMcpjsonServers", Some(&candidate.name), &at));
            [all, one]
                .into_iter()
                .flatten()
                .any(|item| layer.scope.is_trusted() || gate.check_or_ask(&item))
        })
    }

    /// The setting that disables a server. The nearest scope that mentions the name decides; the entry's own
    /// member comes last.
    fn disabled_by(
        &self,
        candidate: &EntryCandidate,
        entry: &Entry,
        gate: &mut ApprovalGate,
    ) -> Option<SourceLocation> {
        for layer in self.loaded.layers.iter().rev().filter(|layer| layer.scope != Scope::Dynamic) {
            if let Some(at) = find_named(&layer.settings.disabled_mcp_servers, &candidate.name) {
                return Some(at);
            }
            if let Some(at) = find_named(&layer.settings.enabled_mcp_servers, &candidate.name) {
                let item = setting_item("enabledMcpServers", Some(&candidate.name), &at);
                if layer.scope.is_trusted() || gate.check_or_ask(&item) {
                    return None;
                }
            }
        }
        let at = || {
            candidate
                .node
                .get("disabled")
                .map_or_else(|| candidate.at.clone(), |node| node.at.clone())
        };
        entry.disabled.then(at)
    }

    /// The caller's `PATH`, checked for a start folder.
    fn search_path(&self, start_folder: &Path) -> Option<SearchPath> {
        let path = self.env.get(PATH_VARIABLE)?;
        Some(SearchPath::new(path.as_ref(), start_folder, &self.loaded.root))
    }

    /// How an entry starts differently since start folders are fixed: before, it started in the project's
    /// root, and its command was looked up in all of `PATH`.
    fn start_changes(&self, candidate: &EntryCandidate, entry: &Entry) -> Vec<ApprovalChange> {
        let (before, after) = (&self.loaded.root, &candidate.start_folder);
        let mut changes = Vec::new();
        if before.canonicalize().ok() != after.canonicalize().ok() {
            changes.push(ApprovalChange::of_paths("start folder", before, Some(after)));
        }
        if let Transport::Stdio(stdio) = &entry.transport
            && is_bare_command(&stdio.command)
            && let Some(path) = self.search_path(after)
            && let Some(program) = path.skipped_program(&stdio.command, before)
        {
            changes.push(ApprovalChange::of_paths("program", &program, None));
        }
        changes
    }

    /// The folders of `PATH` in which the commands of ready servers are not looked up.
    pub(super) fn skipped_folders(&self, servers: &[DesiredServer]) -> Vec<ConfigProblem> {
        let mut skipped: BTreeMap<(PathBuf, FolderSkipReason), Vec<&str>> = BTreeMap::new();
        for server in servers {
            let Some(Transport::Stdio(stdio)) = server.entry().map(|entry| &entry.transport) else {
                continue;
            };
            if !is_bare_command(&stdio.command) {
                continue;
            }
            let start_folder = &server.working_dir;
            let own = stdio.env.get(PATH_VARIABLE);
            let own = own.map(|path| SearchPath::new(path.as_ref(), start_folder, start_folder));
            let callers = names_callers_path(server).then(|| self.search_path(start_folder));
            let paths = own.into_iter().chain(callers.flatten());
            for (folder, reason) in paths.collect::<Vec<_>>().iter().flat_map(SearchPath::skipped) {
                skipped.entry((folder.to_owned(), reason)).or_default().push(&server.name);
            }
        }
        skipped
            .iter()
            .map(|((folder, reason), names)| skipped_folder(folder, *reason, names))
            .collect()
    }
}

/// The secrets that a candidate names; none where nothing is expanded.
fn secret_names(candidate: &EntryCandidate) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if candidate.scope.is_expanded() {
        collect_secret_names(&candidate.node, &mut names);
    }
    names
}

/// The item of a bundle's entry that names secrets: the user installed the bundle and did not write it, so it
/// gets a secret only by approval.
fn bundle_item(
    candidate: &EntryCandidate,
    secret_names: &BTreeSet<String>,
) -> Option<ApprovalItem> {
    let is_asking = candidate.scope == Scope::Plugin && !secret_names.is_empty();
    is_asking.then(|| server_item(&candidate.name, &candidate.node, &candidate.at))
}

/// Whether a command is looked up in the caller's `PATH`: an entry may set another, with or without the
/// caller's in it.
fn names_callers_path(server: &DesiredServer) -> bool {
    let own = server
        .template
        .get("env")
        .and_then(|env| env.get(PATH_VARIABLE))
        .and_then(|path| path.as_str());
    own.is_none_or(|own| own.contains("${PATH"))
}

fn skipped_folder(folder: &Path, reason: FolderSkipReason, servers: &[&str]) -> ConfigProblem {
    let commands = if servers.len() == 1 { "the command of" } else { "the commands of" };
    let servers: Vec<_> = servers.iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "{commands} {} {} not looked up in the PATH folder `{}`: {reason}",
        servers.join(", "),
        if servers.len() == 1 { "is" } else { "are" },
        folder.display(),
    );
    let hint = "to run a program from there, write its absolute path in `command`";
    ConfigProblem::note(ConfigProblemKind::SkippedPathFolder, message)
        .hint(ProblemHint::Other(hint.to_owned()))
}

/// The approval item of a setting about a server.
pub(crate) fn setting_item(
    setting: &str,
    server: Option<&str>,
    at: &SourceLocation,
) -> ApprovalItem {
    let name = server.map_or_else(|| setting.to_owned(), |server| format!("{setting}: {server}"));
    let content = server.map_or(json!(true), |server| json!(server));
    ApprovalItem::new(ApprovalItemKind::Setting, name, content, at.clone())
}

fn find_named<'a>(
    list: impl IntoIterator<Item = &'a LocatedValue<String>>,
    name: &str,
) -> Option<SourceLocation> {
    list.into_iter().find(|entry| entry.value == name).map(|entry| entry.at.clone())
}

fn shadowed_entry(candidate: &EntryCandidate, server: &str) -> ShadowedEntry {
    ShadowedEntry {
        name: candidate.name.clone(),
        scope: candidate.scope,
        at: candidate.at.clone(),
        behind: server.to_owned(),
    }
}

/// Finds an equal server of a greater scope that is ready: bundles and connector catalogs often repeat
/// servers that the user has.
fn find_same_server<'a>(server: &DesiredServer, before: &'a [DesiredServer]) -> Option<&'a str> {
    if !matches!(server.scope, Scope::Plugin | Scope::Connectors) || server.entry().is_none() {
        return None;
    }
    let is_same =
        |other: &&DesiredServer| other.entry().is_some() && other.signature == server.signature;
    before.iter().find(is_same).map(|other| &*other.name)
}

fn first_reason(problems: &[ConfigProblem], candidate: &EntryCandidate) -> NotReadyReason {
    let error =
        problems.iter().find(|problem| problem.severity == crate::problem::ProblemSeverity::Error);
    match error {
        Some(problem) => NotReadyReason::new(problem.message.clone(), problem.at.clone()),
        None => NotReadyReason::new("its entry cannot be used", Some(candidate.at.clone())),
    }
}
