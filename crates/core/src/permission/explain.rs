//! Explanations: what would happen to a call, and which rules decide. The decision, without the call.
//!
//! Used by `switchboard permissions explain` and `test`, and by the admin API. It makes the same decision as a call, from
//! the configuration alone: no server is started, no hook runs, and no person is asked.

use std::borrow::Cow;

use serde::Serialize;
use switchboard_config::server_name::normalize_server_name;
use switchboard_config::{CallVerdict, Desired, DesiredServer, HookEvent, PermissionMode};
use switchboard_wire::json::Raw;

use super::{
    AnswerTarget, ConsideredRule, DecisionReason, HookVerdict, JudgedCall, METHOD_PREFIX,
    PermissionMemory, PermissionSubject, PermissionVerdict, RulePrincipal, ToolInteraction,
    ToolMemory, ToolOrigin, ToolUseSubject, UserConsent, WorkspacePermissions, judge_call,
};
use crate::catalog::{ConfiguredServer, ToolAnnotations, normalize_configured_server};
use crate::engine::GuestAccess;
use crate::principal::LOCAL_PRINCIPAL;

/// A call to explain.
#[derive(Debug, Clone)]
pub struct CallToExplain<'a> {
    /// The tool: `server/tool` or `mcp__server__tool`.
    pub tool: &'a str,
    /// The arguments that the server would get.
    pub arguments: &'a Raw,
    /// Who calls.
    pub principal: &'a RulePrincipal,
    /// The mode of the session, where it names one.
    pub mode: Option<PermissionMode>,
    /// The tool's annotations, where its server was asked.
    pub annotations: Option<ToolAnnotations>,
}

/// What would happen to a call, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The tool's full name.
    pub tool: String,
    /// The name of its server, as configured.
    pub server: String,
    /// The id of the principal.
    pub principal: String,
    /// The groups of the principal.
    pub groups: Vec<String>,
    /// The mode for calls that nothing else decides.
    pub mode: PermissionMode,
    /// What would happen.
    pub verdict: CallVerdict,
    /// The reason, for programs.
    pub because: DecisionReason,
    /// The reason, for people.
    pub reason: String,
    /// Whether the tool is in the lists of this principal.
    pub listed: bool,
    /// Whether the annotations of the tool are known: mode `plan` lets tools run that only read. A method has none.
    pub annotated: bool,
    /// How many hooks run before calls. They can decide otherwise, and change the arguments.
    pub hooks: usize,
    /// The rules about the tool, the strongest list first, and whether each counts for this call.
    pub rules: Vec<ConsideredRule>,
}

/// The error for a name that cannot be explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownTool {
    /// No configured server fits the name.
    #[error("no configured server has a tool `{0}`")]
    NoServer(String),
    /// The name names no server.
    #[error("`{0}` does not say which server")]
    Bare(String),
}

/// A tool of a configured server.
struct NamedTool<'a> {
    server: &'a DesiredServer,
    normal: String,
    /// The name as typed, without the server.
    own: &'a str,
}

/// Explains what would happen to a call of a model.
pub fn explain_call(
    desired: &Desired,
    memory: Option<&PermissionMemory>,
    call: &CallToExplain<'_>,
) -> Result<Explanation, UnknownTool> {
    let named = NamedTool::find(desired, call.tool)?;
    let tool = named.rule_name();
    let mode = desired.rules.effective_mode(call.mode, PermissionMode::Client);
    let (permissions, _) = WorkspacePermissions::new(&desired.rules, mode, &normal_names(desired));
    let judged = JudgedCall { principal: call.principal, arguments: call.arguments };
    let subject = PermissionSubject {
        permissions: &permissions,
        server: &named.normal,
        tool: &tool,
        call: judged,
        annotations: call.annotations.unwrap_or_default(),
        interaction: ToolInteraction::Free,
        origin: ToolOrigin::Server,
        consent: UserConsent::None,
    };
    let remembered = named.remembered(desired, memory, call.principal);
    let refusal = named.guest_refusal(call.principal);
    let is_refused = refusal.is_some();
    let decide = || judge_call(&subject, &HookVerdict::None, &remembered);
    let (verdict, because) = match refusal.unwrap_or_else(decide) {
        PermissionVerdict::Allow { because } => (CallVerdict::Allow, because),
        PermissionVerdict::Deny { because } => (CallVerdict::Deny, because),
        PermissionVerdict::Ask { because } => (CallVerdict::Ask, because),
        // The classifier decides at the call; where it does not, a person is asked.
        PermissionVerdict::Classify => (CallVerdict::Ask, DecisionReason::Mode { mode }),
    };
    let is_before = |hook: &&switchboard_config::EffectiveHook| hook.event == HookEvent::PreToolUse;
    let hooks = desired.hooks.iter().filter(is_before).count();
    let use_subject = ToolUseSubject {
        permissions: &permissions,
        server: &named.normal,
        tool: &tool,
        principal: call.principal,
        annotations: subject.annotations,
        interaction: subject.interaction,
        has_hook: hooks > 0,
    };
    let is_annotated = call.annotations.is_some() || named.is_method();
    // In mode `plan` the annotations decide.
    let is_known = is_annotated || mode != PermissionMode::Plan;
    let hides = permissions.hides_server(&named.normal, call.principal)
        || permissions.hiding_rule(&named.normal, &tool, call.principal).is_some()
        || is_known && !use_subject.is_usable_in_mode(|| remembered.clone());
    Ok(Explanation {
        tool: format!("mcp__{}__{tool}", named.normal),
        server: named.server.name.clone(),
        principal: call.principal.id.to_string(),
        groups: call.principal.groups.to_vec(),
        mode,
        verdict,
        reason: because.to_string(),
        because,
        listed: !hides && !is_refused,
        annotated: is_annotated,
        hooks,
        rules: permissions.considered_rules(&named.normal, &tool, judged),
    })
}

/// The normalised name of each configured server once.
fn normal_names(desired: &Desired) -> Vec<String> {
    let mut known: Vec<&str> = Vec::new();
    let mut names = Vec::new();
    for server in &desired.servers {
        if !known.contains(&server.name.as_str()) {
            known.push(&server.name);
            names.push(normal_name(server));
        }
    }
    names
}

fn normal_name(server: &DesiredServer) -> String {
    normalize_configured_server(ConfiguredServer { name: &server.name, scope: server.scope })
}

// === impl NamedTool ===

impl<'a> NamedTool<'a> {
    fn find(desired: &'a Desired, typed: &'a str) -> Result<Self, UnknownTool> {
        let full = typed.strip_prefix("mcp__");
        let fitting = desired.servers.iter().filter_map(|server| {
            let normal = normal_name(server);
            let own = match full {
                Some(rest) => rest.strip_prefix(normal.as_str())?.strip_prefix("__")?,
                None => typed.strip_prefix(server.name.as_str())?.strip_prefix('/')?,
            };
            (!own.is_empty()).then_some(Self { server, normal, own })
        });
        // If two server names fit, the longer one is meant; of two servers with one name, the first is used.
        let longest = fitting
            .reduce(|best, next| if next.normal.len() > best.normal.len() { next } else { best });
        longest.ok_or_else(|| {
            if full.is_some() || typed.contains('/') {
                UnknownTool::NoServer(typed.to_owned())
            } else {
                UnknownTool::Bare(typed.to_owned())
            }
        })
    }

    /// Whether it names a method of an extension, which has no annotations.
    fn is_method(&self) -> bool {
        self.own.starts_with(METHOD_PREFIX)
    }

    /// The name that rules are compared with. Methods are compared as they are.
    fn rule_name(&self) -> Cow<'_, str> {
        if self.is_method() { self.own.into() } else { normalize_server_name(self.own).into() }
    }

    /// The refusal of a server that is reached with something of the local principal's, to any other principal. It comes
    /// before every rule.
    fn guest_refusal(&self, principal: &RulePrincipal) -> Option<PermissionVerdict> {
        let entry = self.server.entry().filter(|_| *principal.id != *LOCAL_PRINCIPAL)?;
        let why = GuestAccess::of_server(self.server, entry).refusal()?;
        Some(PermissionVerdict::Deny { because: DecisionReason::NotLent { why } })
    }

    /// The answers that count for the principal. Answers about calls of other principals do not.
    fn remembered(
        &self,
        desired: &Desired,
        memory: Option<&PermissionMemory>,
        principal: &RulePrincipal,
    ) -> ToolMemory {
        let Some(memory) = memory else { return ToolMemory::empty() };
        let signature = self.server.signature.as_ref();
        let target = AnswerTarget {
            principal: &principal.id,
            project: &desired.root,
            server: &self.server.name,
            signature: &signature.map(ToString::to_string).unwrap_or_default(),
            tool: self.own,
        };
        memory.recall("", &target)
    }
}
