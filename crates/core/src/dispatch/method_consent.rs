//! Permission for requests and notifications with unknown methods.
//!
//! Used by `dispatch::forward`. A method is judged as the tool `method:<name>` of its server: rules, hooks, modes and
//! remembered answers count as for a tool that is not read-only. It does not know the rules (`permission::judge`).

use switchboard_config::{HookEvent, PermissionMode};

use super::{CallError, PermissionQuestion, Request, Stage};
use crate::engine::AppliedServer;
use crate::hooks::ToolUse;
use crate::permission::{
    AnswerTarget, DecisionReason, HookVerdict, METHOD_PREFIX, PermissionSubject, PermissionVerdict,
    ToolAnnotations, ToolInteraction, ToolOrigin, judge_call,
};

// === impl Stage ===

impl Stage {
    /// Allows a request with an unknown method, with the reason, or returns why not.
    pub(super) async fn permit_method(
        &self,
        placed: &AppliedServer,
        request: &Request,
    ) -> Result<DecisionReason, CallError> {
        let tool = format!("{METHOD_PREFIX}{}", request.method);
        let name = format!("mcp__{}__{tool}", placed.normal);
        self.check_agent(placed, &name, &tool)?;
        let permissions = self.applied.permissions.with_mode(self.mode());
        let params = request.params();
        let subject = PermissionSubject {
            permissions: &permissions,
            server: &placed.normal,
            tool: &tool,
            call: self.judged_call(&params),
            annotations: ToolAnnotations::default(),
            interaction: ToolInteraction::Free,
            origin: ToolOrigin::Server,
            consent: self.caller.session().consent,
        };
        let target = AnswerTarget {
            principal: self.caller.session().principal.id(),
            project: &self.applied.desired.root,
            server: &placed.name,
            signature: &placed.signature,
            tool: &tool,
        };
        let hook = self.ask_hooks_about_method(placed, request, &name).await;
        let remembered = self.engine.memory.recall(&self.caller.session().id, &target);
        let because = match judge_call(&subject, &hook, &remembered) {
            PermissionVerdict::Allow { because } => return Ok(because),
            PermissionVerdict::Deny { because } => {
                let allow = permissions.allow_rule_for(&placed.normal, &tool);
                let allow = allow.filter(|_| because.yields_to_allow_rule());
                return Err(super::consent::denied_error(&name, because, allow));
            }
            // A classifier knows tools, and no methods.
            PermissionVerdict::Classify => DecisionReason::Mode { mode: PermissionMode::Auto },
            PermissionVerdict::Ask { because } => because,
        };
        let allow = permissions.allow_rule_for(&placed.normal, &tool).unwrap_or_default();
        let question = PermissionQuestion {
            tool: name.clone(),
            arguments: params.clone(),
            annotations: ToolAnnotations::default(),
            because,
            allow,
        };
        Box::pin(self.ask_person(placed, &name, question, &target)).await
    }

    /// Refuses a method that an agent's file does not name among its tools.
    fn check_agent(&self, placed: &AppliedServer, name: &str, tool: &str) -> Result<(), CallError> {
        let Some(agent) = &self.applied.desired.agent else { return Ok(()) };
        let server = format!("mcp__{}", placed.normal);
        if agent.tools.shows_any(&[name, tool, &server]) {
            return Ok(());
        }
        let because = DecisionReason::Agent { agent: agent.name.clone() };
        Err(super::consent::denied_error(name, because, None))
    }

    /// The verdict of the hooks before a call, which see the method as a tool and its parameters as input.
    async fn ask_hooks_about_method(
        &self,
        placed: &AppliedServer,
        request: &Request,
        name: &str,
    ) -> HookVerdict {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::PreToolUse, name) {
            return HookVerdict::None;
        }
        let (input, id) = (request.params(), self.engine.call_id());
        let session = &self.caller.session().id;
        let tool_use = ToolUse { session, mode: self.mode(), tool: name, input: &input, id: &id };
        let said = Box::pin(hooks.pre_tool_use(&tool_use)).await;
        self.note(placed, &said.notes);
        match said.updated_input {
            // Parameters of an unknown method are not changed, because their meaning is unknown.
            Some(_) => HookVerdict::Deny {
                reason: "a hook changes its parameters, which is possible for tools only"
                    .to_owned(),
            },
            None => said.verdict,
        }
    }
}
