//! Judging every candidate, and which of one name counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::agent::Choice;
use super::connectors;
use super::desired::{Effective, Reason, Server, Shadowed, State};
use super::gate::Gate;
use super::principals;
use crate::check::{decode, decode_literally, missing_variable};
use crate::entry::{Entry, Signature, Transport};
use crate::expand::{self, Missing};
use crate::load::{Candidate, Layer, Loaded};
use crate::policy::Policy;
use crate::problem::{Hint, Kind, Problem};
use crate::scope::Scope;
use crate::search_path::{SearchPath, SkipReason, is_bare};
use crate::source::{Located, Location};
use crate::surroundings::{Environment, Surroundings};
use crate::trust::{Change, Item, ItemKind, Verdict};

/// The variable that lists the folders in which commands are looked up.
const PATH: &str = "PATH";

/// The variables that any entry names.
pub(super) fn variables(loaded: &Loaded) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let expanded = loaded.candidates.iter().filter(|candidate| candidate.scope.is_expanded());
    expanded.for_each(|candidate| expand::named(&candidate.node, &mut names));
    names
}

/// Everything a candidate is judged by.
pub(super) struct Bench<'a> {
    loaded: &'a Loaded,
    policy: &'a Policy,
    inline: Vec<Candidate>,
    env: Environment,
}

/// What is known of a candidate that decodes.
struct Sound {
    entry: Entry,
    missing: Vec<Missing>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        loaded: &'a Loaded,
        surroundings: &'a Surroundings,
        effective: &Effective,
        policy: &'a Policy,
        choice: &Choice<'_>,
    ) -> Self {
        let mut env = surroundings.env.clone();
        env.extend(effective.env.iter().map(|(name, value)| (name.clone(), value.value.clone())));
        Self { loaded, policy, inline: choice.inline(), env }
    }

    /// Judges all of them, greatest precedence first.
    pub(super) fn judge(
        &self,
        gate: &mut Gate,
        problems: &mut Vec<Problem>,
    ) -> (Vec<Server>, Vec<Shadowed>) {
        let mut servers: Vec<Server> = Vec::new();
        let mut shadowed = Vec::new();
        let mut taken = BTreeSet::new();
        for candidate in self.inline.iter().chain(&self.loaded.candidates) {
            if taken.contains(&*candidate.name) {
                shadowed.push(behind(candidate, &candidate.name));
                continue;
            }
            let server = self.server(candidate, gate, problems);
            if let Some(same) = same_server(&server, &servers) {
                shadowed.push(behind(candidate, same));
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
        candidate: &Candidate,
        gate: &mut Gate,
        problems: &mut Vec<Problem>,
    ) -> Server {
        let mut env = self.env.clone();
        // An entry that names `${PATH}` gets the folders that it may look in.
        if let Some(path) =
            self.search_path(&candidate.start_folder).and_then(|path| path.narrowed())
        {
            env.insert(PATH.to_owned(), path.to_string_lossy().into_owned());
        }
        env.extend(
            candidate.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        let before = problems.len();
        let (mut entry, missing) = if candidate.scope.is_expanded() {
            decode(&candidate.name, &candidate.node, &env, problems)
        } else {
            problems.extend(connectors::unexpanded(candidate));
            (decode_literally(&candidate.name, &candidate.node, problems), Vec::new())
        };
        if let Some(entry) = &mut entry {
            problems.extend(principals::refuse_sharing(entry, candidate));
        }
        let is_complete = missing.is_empty();
        let signature = entry.as_ref().filter(|_| is_complete).map(Signature::of);
        let state = match entry {
            Some(entry) => self.state(candidate, Sound { entry, missing }, gate, problems),
            None => State::Invalid(first_reason(&problems[before..], candidate)),
        };
        Server {
            name: candidate.name.clone(),
            scope: candidate.scope,
            at: candidate.at.clone(),
            state,
            template: candidate.node.clone(),
            working_dir: candidate.start_folder.clone(),
            item: candidate.item.clone(),
            signature,
        }
    }

    fn state(
        &self,
        candidate: &Candidate,
        sound: Sound,
        gate: &mut Gate,
        problems: &mut Vec<Problem>,
    ) -> State {
        let Sound { entry, missing } = sound;
        if candidate.scope == Scope::Connectors
            && let Some(why) = connectors::refusal(&entry)
        {
            return State::Invalid(Reason::new(why, Some(candidate.at.clone())));
        }
        let judged = missing.is_empty().then_some(&entry);
        if let Err(blocked) = self.policy.judge(&candidate.name, judged) {
            return State::Blocked(Reason::new(blocked.why, blocked.by));
        }
        if let Some(by) = self.rejected_by_setting(candidate) {
            return State::Rejected(Reason::new("rejected in settings", Some(by)));
        }
        let verdict = candidate.item.as_ref().map_or(Verdict::Approved, |item| {
            gate.server_verdict(item, || self.start_changes(candidate, &entry))
        });
        if verdict == Verdict::Rejected {
            return State::Rejected(Reason::new("rejected by you", None));
        }
        if let Some(by) = self.disabled_by(candidate, &entry, gate) {
            return State::Disabled(Reason::new("disabled", Some(by)));
        }
        if let (Verdict::Unknown { changes }, Some(item)) = (verdict, &candidate.item)
            && !self.enabled_by_setting(candidate, gate)
        {
            let redacted =
                |changes: &Vec<Change>| changes.iter().map(Change::to_redacted).collect();
            let shown = changes.as_ref().map(redacted);
            gate.ask(item, changes);
            return State::AwaitingApproval { changes: shown };
        }
        match missing.first() {
            None => match self.policy.admit(&candidate.name, entry) {
                Ok(entry) => State::Ready(Box::new(entry)),
                Err(blocked) => State::Blocked(Reason::new(blocked.why, blocked.by)),
            },
            Some(first) => {
                problems.extend(
                    missing.iter().map(|missing| missing_variable(&candidate.name, missing)),
                );
                let why = format!("the variable `{}` is not set", first.variable);
                State::Invalid(Reason::new(why, Some(first.at.clone())))
            }
        }
    }

    /// `disabledMcpjsonServers` takes away, so it counts wherever it stands.
    fn rejected_by_setting(&self, candidate: &Candidate) -> Option<Location> {
        if candidate.scope != Scope::Project {
            return None;
        }
        let lists =
            self.loaded.layers.iter().flat_map(|layer| &layer.settings.disabled_mcpjson_servers);
        named(lists, &candidate.name)
    }

    /// `enabledMcpjsonServers` and `enableAllProjectMcpServers` permit, so in a project file they are asked about.
    fn enabled_by_setting(&self, candidate: &Candidate, gate: &mut Gate) -> bool {
        if candidate.scope != Scope::Project {
            return false;
        }
        let may_enable =
            |layer: &&Layer| matches!(layer.scope, Scope::User | Scope::Local | Scope::Enterprise);
        self.loaded.layers.iter().filter(may_enable).any(|layer| {
            let settings = &layer.settings;
            let all = settings.enable_all_project_mcp_servers.as_ref().filter(|flag| flag.value);
            let all = all.map(|flag| setting_item("enableAllProjectMcpServers", None, &flag.at));
            let one = named(&settings.enabled_mcpjson_servers, &candidate.name)
                .map(|at| setting_item("enabledMcpjsonServers", Some(&candidate.name), &at));
            [all, one]
                .into_iter()
                .flatten()
                .any(|item| layer.scope.is_trusted() || gate.lets_pass(&item))
        })
    }

    /// The nearest scope that says something about the name decides; the entry itself comes last.
    fn disabled_by(
        &self,
        candidate: &Candidate,
        entry: &Entry,
        gate: &mut Gate,
    ) -> Option<Location> {
        for layer in self.loaded.layers.iter().rev().filter(|layer| layer.scope != Scope::Dynamic) {
            if let Some(at) = named(&layer.settings.disabled_mcp_servers, &candidate.name) {
                return Some(at);
            }
            if let Some(at) = named(&layer.settings.enabled_mcp_servers, &candidate.name) {
                let item = setting_item("enabledMcpServers", Some(&candidate.name), &at);
                if layer.scope.is_trusted() || gate.lets_pass(&item) {
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

    /// The caller's `PATH`, judged for a start folder.
    fn search_path(&self, start_folder: &Path) -> Option<SearchPath> {
        let path = self.env.get(PATH)?;
        Some(SearchPath::new(path.as_ref(), start_folder, &self.loaded.root))
    }

    /// How an entry starts otherwise than before start folders were fixed: then it started in the project's root, and
    /// its command was looked up in all of `PATH`.
    fn start_changes(&self, candidate: &Candidate, entry: &Entry) -> Vec<Change> {
        let (before, after) = (&self.loaded.root, &candidate.start_folder);
        let mut changes = Vec::new();
        if before.canonicalize().ok() != after.canonicalize().ok() {
            changes.push(Change::of_paths("start folder", before, Some(after)));
        }
        if let Transport::Stdio(stdio) = &entry.transport
            && is_bare(&stdio.command)
            && let Some(path) = self.search_path(after)
            && let Some(program) = path.skipped_program(&stdio.command, before)
        {
            changes.push(Change::of_paths("program", &program, None));
        }
        changes
    }

    /// The folders of `PATH` in which the commands of ready servers are not looked up.
    pub(super) fn skipped_folders(&self, servers: &[Server]) -> Vec<Problem> {
        let mut skipped: BTreeMap<(PathBuf, SkipReason), Vec<&str>> = BTreeMap::new();
        for server in servers {
            let Some(Transport::Stdio(stdio)) = server.entry().map(|entry| &entry.transport) else {
                continue;
            };
            if !is_bare(&stdio.command) {
                continue;
            }
            let start_folder = &server.working_dir;
            let own = stdio.env.get(PATH);
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

/// Whether a command is looked up in the caller's `PATH`: an entry may bring another, with or without the caller's in it.
fn names_callers_path(server: &Server) -> bool {
    let own =
        server.template.get("env").and_then(|env| env.get(PATH)).and_then(|path| path.as_str());
    own.is_none_or(|own| own.contains("${PATH"))
}

fn skipped_folder(folder: &Path, reason: SkipReason, servers: &[&str]) -> Problem {
    let commands = if servers.len() == 1 { "the command of" } else { "the commands of" };
    let servers: Vec<_> = servers.iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "{commands} {} {} not looked up in the PATH folder `{}`: {reason}",
        servers.join(", "),
        if servers.len() == 1 { "is" } else { "are" },
        folder.display(),
    );
    let hint = "to run a program from there, write its absolute path in `command`";
    Problem::note(Kind::SkippedPathFolder, message).hint(Hint::Other(hint.to_owned()))
}

/// The item that a setting about a server is.
pub(crate) fn setting_item(setting: &str, server: Option<&str>, at: &Location) -> Item {
    let name = server.map_or_else(|| setting.to_owned(), |server| format!("{setting}: {server}"));
    let content = server.map_or(json!(true), |server| json!(server));
    Item::new(ItemKind::Setting, name, content, at.clone())
}

fn named<'a>(list: impl IntoIterator<Item = &'a Located<String>>, name: &str) -> Option<Location> {
    list.into_iter().find(|entry| entry.value == name).map(|entry| entry.at.clone())
}

fn behind(candidate: &Candidate, server: &str) -> Shadowed {
    Shadowed {
        name: candidate.name.clone(),
        scope: candidate.scope,
        at: candidate.at.clone(),
        behind: server.to_owned(),
    }
}

/// A bundle or a catalogue often brings what the user has; one of a greater scope that is to run makes it redundant.
fn same_server<'a>(server: &Server, before: &'a [Server]) -> Option<&'a str> {
    if !matches!(server.scope, Scope::Plugin | Scope::Connectors) || server.entry().is_none() {
        return None;
    }
    let is_same = |other: &&Server| other.entry().is_some() && other.signature == server.signature;
    before.iter().find(is_same).map(|other| &*other.name)
}

fn first_reason(problems: &[Problem], candidate: &Candidate) -> Reason {
    let error = problems.iter().find(|problem| problem.severity == crate::problem::Severity::Error);
    match error {
        Some(problem) => Reason::new(problem.message.clone(), problem.at.clone()),
        None => Reason::new("its entry cannot be used", Some(candidate.at.clone())),
    }
}
