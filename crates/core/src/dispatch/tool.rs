//! A tool call, stage by stage.
//!
//! Used by `dispatch` for `tools/call`. Each stage is in a module of its own: `find`, `consent`, `upstream`; hooks
//! and validation are called from here.

use std::borrow::Cow;
use std::sync::Arc;

use switchboard_config::HookEvent;
use switchboard_wire::Error as WireError;
use switchboard_wire::client::TaskHandling;
use switchboard_wire::json::{JsonEdit, JsonKind, Raw, decode_string, quote};

use super::call_recorder::CallRecorder;
use super::continuation::{FinishedStages, ResumedCall};
use super::find::{ResolvedItem, is_meant};
use super::tasks::{ServerTask, StartedTask};
use super::upstream::SendResult;
use super::{CallError, CallFinish, CallOrigin, CallOutcome, Request, Stage, builtin, sign_in};
use crate::audit::CallStage;
use crate::catalog::{ListedTool, authenticate};
use crate::engine::{AppliedServer, ArgumentCheck};
use crate::hooks::ToolUse;
use crate::permission::DecisionReason;
use crate::results::{LimitedResult, ResultShape};
use crate::schema::ArgumentMistake;

/// A tool call on its way.
pub(super) struct ToolCall {
    /// The tool's name in the session's style.
    pub(super) name: String,
    pub(super) found: ResolvedItem<Arc<ListedTool>>,
    pub(super) params: Raw,
    /// The arguments of the request, if it had any.
    given: Option<Raw>,
    /// The arguments that are sent.
    pub(super) arguments: Raw,
    /// The id of the call.
    id: String,
    /// Who makes the call.
    origin: CallOrigin,
}

/// Runs a tool call through every stage.
pub(super) async fn call(
    stage: &Stage,
    mut request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let params = request.params();
    let name = text(&params, "name")?;
    let server = request.server.clone();
    if let Some(outcome) = builtin::call(stage, &name, &params, server.as_deref(), record).await {
        return outcome.map(CallFinish::done);
    }
    let again = request.again.take();
    let found = find_tool_signed_in(stage, &name, server.as_deref()).await?;
    record.set_server(&found.placed);
    record.set_item(&found.item.name);
    check_visibility(&found.item, &name, request.origin)?;
    if authenticate::is_authenticate_tool(&found.item.tool) {
        let outcome = sign_in::call(stage, &found.placed).await;
        if let Some(because) = &outcome.decision {
            record.set_decision(because);
        }
        return Ok(CallFinish::done(outcome));
    }
    let given = member(&params, "arguments")?;
    let arguments = given.clone().unwrap_or_else(Raw::empty_object);
    let id = stage.engine.call_id();
    let origin = request.origin;
    let mut call = ToolCall { name, found, params, given, arguments, id, origin };
    let passed = match &again {
        None => stage.run_early_stages(&mut call).await?,
        Some(again) => {
            let passed = call.restore_stages(again)?;
            stage.check_arguments(&call)?;
            passed
        }
    };
    if let Some(because) = &passed.decision {
        record.set_decision(because);
    }

    let name = call.name.clone();
    Box::pin(stage.confirm_item::<Arc<ListedTool>>(&call.found.placed, &name, server.as_deref()))
        .await?;
    let mut request = call.request(request)?;
    request.tasks = stage.task_handling(&call, request.tasks);
    let placed = &call.found.placed;
    let tasks = request.tasks;
    let sent = stage.send(placed, request, again.as_deref()).await;
    let result = match sent.map_err(|error| call.unsent_argument_error(error))? {
        SendResult::Result(result) if tasks == TaskHandling::Hand => {
            match ServerTask::of(&call, &result) {
                None => result,
                Some(task) => {
                    stage.note_lasting_work(placed);
                    return Ok(CallFinish::Task(Box::new(StartedTask { state: result, task })));
                }
            }
        }
        SendResult::Result(result) => result,
        SendResult::NeedsInput(open) => {
            let handed = open.into_input_required(placed, (call.id, passed), record.since());
            return Ok(CallFinish::NeedsInput(Box::new(handed)));
        }
    };
    record.set_received(result.as_str().len());

    let mut kept = stage.limit_result(&call, result).await;
    kept.result = stage.unseen_pages.add_to_result(&call.found.placed.name, kept.result);
    let after = stage.run_hooks_after(&call, &kept.result).await;
    let context = passed.context.into_iter().chain(after.context).collect();
    let server = Some(call.found.placed.name.clone());
    let result = after.result.unwrap_or_else(|| kept.result.clone());
    let decision = passed.decision;
    Ok(CallFinish::done(CallOutcome { result, server, decision, context, limited: Some(kept) }))
}

/// Finds a tool, after a sign-in where that is needed to know the server's tools.
async fn find_tool_signed_in(
    stage: &Stage,
    name: &str,
    server: Option<&str>,
) -> Result<ResolvedItem<Arc<ListedTool>>, CallError> {
    match find_tool(stage, name, server).await {
        Ok(found) => Ok(found),
        Err(error) => {
            Box::pin(stage.sign_in_for_call(error)).await?;
            find_tool(stage, name, server).await
        }
    }
}

/// Finds a tool, also one that only the mode keeps out of the list: its call is judged like any other. The error for a
/// tool that is not listed says which rule denies it.
async fn find_tool(
    stage: &Stage,
    name: &str,
    server: Option<&str>,
) -> Result<ResolvedItem<Arc<ListedTool>>, CallError> {
    match stage.find(name, server).await {
        Err(CallError::NotFound { name, similar }) => stage
            .find_in_any_mode(&name, server)
            .ok_or_else(|| stage.hidden_tool_error(name, server, similar)),
        found => found,
    }
}

/// Refuses a model's call of a tool that is for apps only, and an app's call of one that is not for apps.
fn check_visibility(listed: &ListedTool, name: &str, origin: CallOrigin) -> Result<(), CallError> {
    let visibility = listed.tool.ui.visibility;
    let because = match origin {
        CallOrigin::Model if !visibility.model => DecisionReason::NotForModels,
        CallOrigin::App if !visibility.app => DecisionReason::NotForApps,
        _ => return Ok(()),
    };
    let (name, because) = (name.to_owned(), Box::new(because));
    Err(CallError::Denied { name, because, allow: None, at: None })
}

/// The results of the hooks before a call.
pub(super) struct BeforeHooks {
    pub(super) verdict: crate::permission::HookVerdict,
    pub(super) context: Vec<String>,
}

/// The results of the hooks after a call.
struct AfterHooks {
    context: Vec<String>,
    result: Option<Raw>,
}

// === impl ToolCall ===

impl ToolCall {
    /// Restores the results of the stages that finished before the call was returned to its caller.
    fn restore_stages(&mut self, again: &ResumedCall) -> Result<FinishedStages, CallError> {
        again.carried.check_server(&self.found.placed)?;
        let passed = again.carried.passed.clone();
        self.id.clone_from(&again.carried.id);
        if let Some(arguments) = &passed.arguments {
            self.arguments = arguments.clone();
        }
        Ok(passed)
    }

    fn validate(&self) -> Result<(), CallError> {
        // An unusable schema was reported when the tool was listed; the server checks its arguments.
        let Ok(validator) = self.found.item.tool.validator() else { return Ok(()) };
        validator
            .validate(&self.arguments)
            .map_err(|bad| self.invalid_arguments_error(bad.problems))
    }

    fn invalid_arguments_error(&self, mistakes: Vec<ArgumentMistake>) -> CallError {
        CallError::Arguments { name: self.name.clone(), mistakes }
    }

    /// Turns the error for an argument that no header can carry into the caller's mistake.
    fn unsent_argument_error(&self, error: CallError) -> CallError {
        let CallError::Server { error: cause, .. } = &error else { return error };
        let WireError::HeaderArgument { path } = &**cause else { return error };
        let message = "expected string, number or boolean: this argument is sent in a header";
        self.invalid_arguments_error(vec![ArgumentMistake {
            path: path.clone(),
            message: message.to_owned(),
        }])
    }

    /// Returns the full name before it was cut.
    pub(super) fn full_name(&self) -> &str {
        &self.found.item.full_name
    }

    /// Returns the request in the form that the server gets.
    fn request(&self, request: Request) -> Result<Request, CallError> {
        let name = quote(&self.found.item.tool.name);
        let named = JsonEdit::set(&["name"], &name);
        let is_same = self.given.as_ref().map(Raw::as_str) == Some(self.arguments.as_str());
        if is_same {
            return request.with_edits(&self.params, &[named]);
        }
        let edits = [named, JsonEdit::set(&["arguments"], self.arguments.as_str())];
        request.with_edits(&self.params, &edits)
    }

    pub(super) fn tool_use<'a>(&'a self, stage: &'a Stage) -> ToolUse<'a> {
        ToolUse {
            session: &stage.caller.session().id,
            mode: stage.mode(),
            tool: self.full_name(),
            input: &self.arguments,
            id: &self.id,
        }
    }
}

// === impl Stage ===

impl Stage {
    /// Runs every stage before the server is called.
    async fn run_early_stages(&self, call: &mut ToolCall) -> Result<FinishedStages, CallError> {
        self.clock.enter(CallStage::Hooks);
        self.check_arguments(call)?;
        let given = call.arguments.clone();
        let before = self.run_hooks_before(call).await?;
        self.clock.enter(CallStage::Permission);
        let because = self.permit(call, before.verdict).await?;
        Ok(FinishedStages {
            decision: Some(because),
            arguments: (call.arguments.as_str() != given.as_str()).then(|| call.arguments.clone()),
            context: before.context,
        })
    }

    /// Refuses arguments that are not an object, and, where this session's arguments are checked, those that do not
    /// match the tool's schema.
    pub(super) fn check_arguments(&self, call: &ToolCall) -> Result<(), CallError> {
        must_be_object(&call.arguments)?;
        let is_checked = match self.caller.session().argument_check {
            ArgumentCheck::Always => true,
            ArgumentCheck::WhenConfigured => {
                self.applied.desired.settings.check_arguments == Some(true)
            }
        };
        if is_checked { call.validate() } else { Ok(()) }
    }

    /// Runs the hooks before the call; arguments that a hook changed are validated again.
    async fn run_hooks_before(&self, call: &mut ToolCall) -> Result<BeforeHooks, CallError> {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::PreToolUse, call.full_name()) {
            let verdict = crate::permission::HookVerdict::None;
            return Ok(BeforeHooks { verdict, context: Vec::new() });
        }
        let said = Box::pin(hooks.pre_tool_use(&call.tool_use(self))).await;
        self.note(&call.found.placed, &said.notes);
        if let Some(input) = said.updated_input {
            call.arguments = input;
            self.check_arguments(call)?;
        }
        Ok(BeforeHooks { verdict: said.verdict, context: said.context })
    }

    async fn limit_result(&self, call: &ToolCall, result: Raw) -> LimitedResult {
        self.clock.enter(CallStage::Result);
        self.mention(&call.found.placed, &result);
        let policy = self.tool_policy(&call.found.item.tool, call.origin);
        self.limit(ResultShape::Tool, policy, result).await
    }

    async fn run_hooks_after(&self, call: &ToolCall, result: &Raw) -> AfterHooks {
        let hooks = &self.applied.hooks;
        if !hooks.has(HookEvent::PostToolUse, call.full_name()) {
            return AfterHooks { context: Vec::new(), result: None };
        }
        self.clock.enter(CallStage::HooksAfter);
        let said = Box::pin(hooks.post_tool_use(&call.tool_use(self), result)).await;
        self.note(&call.found.placed, &said.notes);
        let mut context = said.context;
        context.extend(said.blocked);
        AfterHooks { context, result: said.updated_output }
    }

    /// Notes that a server works on a task, which its client asks for later.
    fn note_lasting_work(&self, placed: &AppliedServer) {
        let connection = self.caller.bound_connection(placed);
        if let Some(live) = connection.state().live() {
            connection.note_lasting_work(live);
        }
    }

    /// Returns the error for a tool that a rule hides: it names the rule, to help its author.
    fn hidden_tool_error(
        &self,
        name: String,
        server: Option<&str>,
        similar: Vec<String>,
    ) -> CallError {
        let all = self.engine.unfiltered_catalog(&self.applied);
        match all.names(self.caller.session().names).tool(&name) {
            Some(listed) if is_meant(server, listed.server()) => {
                let label = &listed.label;
                self.denied_by_rule_error(&name, label.server().normal(), label.normal())
            }
            _ => CallError::NotFound { name, similar },
        }
    }
}

/// Refuses `arguments` that are not an object.
pub(super) fn must_be_object(arguments: &Raw) -> Result<(), CallError> {
    if arguments.kind() == JsonKind::Object {
        return Ok(());
    }
    Err(CallError::Request { reason: "`arguments` is not an object".to_owned() })
}

/// Returns a member that must be text.
pub(super) fn text(params: &Raw, key: &str) -> Result<String, CallError> {
    let found = params.peek_path(&[key]);
    let found = found.map_err(|error| CallError::Request { reason: error.to_string() })?;
    found
        .and_then(decode_string)
        .map(Cow::into_owned)
        .ok_or_else(|| CallError::Request { reason: format!("`{key}` is missing, or not text") })
}

/// Returns a member, which must not occur twice.
pub(super) fn member(params: &Raw, key: &str) -> Result<Option<Raw>, CallError> {
    params.get(key).map_err(|error| CallError::Request { reason: error.to_string() })
}
