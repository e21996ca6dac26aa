//! Resolving for an agent: its inline servers, and the filter of servers and tools.
//!
//! Used by `resolve`. Agent files are parsed in `agent`.

use super::approval_gate::ApprovalGate;
use super::desired::{Desired, ServerReadiness};
use crate::agent::{AgentFile, AgentServer, SelectedAgent};
use crate::approval::ItemVerdict;
use crate::host_context::ResolveOptions;
use crate::load::{EntryCandidate, LoadedConfig};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::scope::Scope;

/// The requested agent, and whether it was found.
#[derive(Debug)]
pub(super) enum AgentChoice<'a> {
    /// No agent was requested.
    Nobody,
    /// There is no agent with that name, so no server is desired.
    NotFound,
    /// The chosen agent. An untrusted one can only restrict.
    Chosen { file: &'a AgentFile, trusted: bool, may_define: bool },
}

/// Finds the agent; an approved one of the project comes before the user's, an unapproved one after it.
pub(super) fn choose_agent<'a>(
    loaded: &'a LoadedConfig,
    asked: &ResolveOptions,
    gate: &mut ApprovalGate,
    problems: &mut Vec<ConfigProblem>,
) -> AgentChoice<'a> {
    let mut untrusted = None;
    let mut trusted = None;
    for file in &loaded.agents {
        let is_asked = asked.agent.as_deref() == Some(&*file.name);
        let verdict = file.item.as_ref().map_or(ItemVerdict::Approved, |item| gate.verdict(item));
        match verdict {
            ItemVerdict::Approved if is_asked => drop(trusted.get_or_insert(file)),
            ItemVerdict::Unknown { changes } => {
                if let Some(item) = &file.item {
                    gate.ask(item, changes);
                }
                if is_asked {
                    untrusted.get_or_insert(file);
                }
            }
            ItemVerdict::Approved | ItemVerdict::Rejected => {}
        }
    }
    let may_define = !loaded.exclusive && !asked.strict;
    match (&asked.agent, trusted, untrusted) {
        (None, ..) => AgentChoice::Nobody,
        (_, Some(file), _) => AgentChoice::Chosen { file, trusted: true, may_define },
        (_, None, Some(file)) => {
            problems.push(untrusted_agent(file));
            AgentChoice::Chosen { file, trusted: false, may_define }
        }
        (Some(name), None, None) => {
            let message = format!("there is no agent `{name}`");
            problems.push(ConfigProblem::error(ConfigProblemKind::AgentNotFound, message));
            AgentChoice::NotFound
        }
    }
}

fn untrusted_agent(file: &AgentFile) -> ConfigProblem {
    let message =
        format!("the agent `{}` awaits approval; until then it only takes away", file.name);
    let problem =
        ConfigProblem::warning(ConfigProblemKind::AwaitingApproval, message).at(file.at.clone());
    problem.hint(ProblemHint::Approve(file.name.clone()))
}

impl AgentChoice<'_> {
    /// The agent's inline servers.
    pub(super) fn inline(&self) -> Vec<EntryCandidate> {
        let AgentChoice::Chosen { file, may_define: true, .. } = self else {
            return Vec::new();
        };
        let candidate = |server: &AgentServer| match server {
            AgentServer::ByName(_) => None,
            AgentServer::Inline(member) => Some(EntryCandidate {
                name: member.key.clone(),
                scope: Scope::Agent,
                at: member.at.clone(),
                node: member.value.clone(),
                item: file.item.clone(),
                start_folder: file.start_folder.clone(),
                variables: Vec::new(),
            }),
        };
        file.servers.iter().flatten().filter_map(candidate).collect()
    }
}

/// Keeps only the agent's servers, and reports the missing ones.
pub(super) fn apply_agent(choice: &AgentChoice<'_>, desired: &mut Desired) {
    let (file, trusted) = match choice {
        AgentChoice::Nobody => return,
        AgentChoice::NotFound => return desired.servers.clear(),
        AgentChoice::Chosen { file, trusted, .. } => (file, *trusted),
    };
    mention_required(file, desired);
    if let Some(servers) = &file.servers {
        mention_unknown(servers, desired);
        let names = servers
            .iter()
            .map(AgentServer::name)
            .chain(file.required.iter().map(|name| &*name.value));
        let names: Vec<_> = names.collect();
        desired.servers.retain(|server| names.contains(&&*server.name));
    }
    desired.agent = Some(SelectedAgent {
        name: file.name.clone(),
        at: file.at.clone(),
        tools: file.tools.clone(),
        prompt: trusted.then(|| file.prompt.clone()),
    });
}

fn mention_unknown(servers: &[AgentServer], desired: &mut Desired) {
    for server in servers {
        if let AgentServer::ByName(name) = server
            && desired.servers_named(&name.value).next().is_none()
        {
            let message =
                format!("the agent names the server `{}`, which is not configured", name.value);
            let problem = ConfigProblem::warning(ConfigProblemKind::RequiredServer, message)
                .at(name.at.clone());
            desired.problems.push(problem.hint(ProblemHint::AddServer(name.value.clone())));
        }
    }
}

fn mention_required(file: &AgentFile, desired: &mut Desired) {
    for name in &file.required {
        let states: Vec<_> =
            desired.servers_named(&name.value).map(|server| &server.state).collect();
        if states.iter().any(|state| matches!(state, ServerReadiness::Ready(_))) {
            continue;
        }
        let why = states.first().map_or("not configured", |state| state.name());
        let message = format!(
            "the agent `{}` requires the server `{}`, which is {why}",
            file.name, name.value
        );
        let problem =
            ConfigProblem::error(ConfigProblemKind::RequiredServer, message).at(name.at.clone());
        desired.problems.push(problem.of_server(&name.value));
    }
}

impl AgentServer {
    fn name(&self) -> &str {
        match self {
            Self::ByName(name) => &name.value,
            Self::Inline(member) => &member.key,
        }
    }
}
