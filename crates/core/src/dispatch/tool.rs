//! A tool's call, stage by stage.

use switchboard_wire::envelope::{Id, Request as Envelope};
use switchboard_wire::json::{Edit, Raw, quote};

use super::find::Found;
use super::record::Record;
use super::upstream::Sent;
use super::{CallError, Outcome, Request, Stage, builtin};
use crate::catalog::Listed;
use crate::hooks::ToolUse;
use crate::results::{Kept, Subject as ResultOf};

/// A tool's call on its way.
pub(super) struct ToolCall {
    /// The tool's full name.
    pub(super) name: String,
    pub(super) found: Found<Listed>,
    pub(super) params: Raw,
    pub(super) arguments: Raw,
}

/// Takes a tool's call through every stage.
pub(super) async fn call(
    stage: &Stage,
    request: Request,
    record: &mut Record,
) -> Result<Outcome, CallError> {
    let params = request.params();
    let name = text(&params, "name")?;
    if let Some(outcome) = builtin::call(stage, &name, &params, record).await {
        return outcome;
    }
    let found = stage.find(&name, |catalog| {
        let listed = catalog.tool(&name)?;
        Some((listed.server.clone(), listed.clone()))
    });
    let found = match found.await {
        Err(CallError::NotFound { name, similar }) => return Err(stage.hidden(name, similar)),
        found => found?,
    };
    record.server(&found.placed.name);
    let arguments = member(&params, "arguments")?.unwrap_or_else(Raw::empty_object);
    let mut call = ToolCall { name, found, params, arguments };
    call.validate()?;

    let before = stage.before(&mut call).await?;
    let because = stage.permit(&mut call, before.verdict).await?;
    record.decided(&because);

    let request = call.request(request)?;
    let sent = Sent { placed: &call.found.placed, name: &call.name };
    let result = stage.send(&sent, request).await?;
    record.received(result.as_str().len());

    let kept = stage.keep(&call, result).await;
    let after = stage.after(&call, &kept.result).await;
    let context = before.context.into_iter().chain(after.context).collect();
    let server = Some(call.found.placed.name);
    let result = after.result.unwrap_or_else(|| kept.result.clone());
    Ok(Outcome { result, server, decision: Some(because), context, kept: Some(kept) })
}

/// What hooks said before a call.
pub(super) struct Before {
    pub(super) verdict: crate::permission::HookVerdict,
    pub(super) context: Vec<String>,
}

/// What hooks said after it.
struct After {
    context: Vec<String>,
    result: Option<Raw>,
}

// === impl ToolCall ===

impl ToolCall {
    pub(super) fn validate(&self) -> Result<(), CallError> {
        let found = self.found.item.tool.validate(&self.arguments);
        found.map_err(|mistakes| CallError::Arguments { name: self.name.clone(), mistakes })
    }

    /// The request as its server is to see it.
    fn request(&self, request: Request) -> Result<Request, CallError> {
        let name = quote(&self.found.item.tool.name);
        let edits =
            [Edit::set(&["name"], &name), Edit::set(&["arguments"], self.arguments.as_str())];
        let params = self.params.with(&edits);
        let params = params.map_err(|error| CallError::Request { reason: error.to_string() })?;
        let method = request.envelope.method().into_owned();
        Ok(Request { envelope: Envelope::new(&Id::number(0), &method, Some(&params)), ..request })
    }

    pub(super) fn used<'a>(&'a self, stage: &'a Stage) -> ToolUse<'a> {
        ToolUse {
            session: &stage.caller.session().id,
            tool: &self.name,
            input: &self.arguments,
            mode: stage.mode(),
        }
    }
}

// === impl Stage ===

impl Stage {
    /// Hooks before the call; input that one changed is validated again.
    async fn before(&self, call: &mut ToolCall) -> Result<Before, CallError> {
        let hooks = &self.applied.hooks;
        if !hooks.has(switchboard_config::HookEvent::PreToolUse, &call.name) {
            let verdict = crate::permission::HookVerdict::None;
            return Ok(Before { verdict, context: Vec::new() });
        }
        let said = hooks.pre_tool_use(&call.used(self)).await;
        self.note(&call.found.placed, &said.notes);
        if let Some(input) = said.updated_input {
            call.arguments = input;
            call.validate()?;
        }
        Ok(Before { verdict: said.verdict, context: said.context })
    }

    async fn keep(&self, call: &ToolCall, result: Raw) -> Kept {
        let tool = &call.found.item.tool;
        let of = ResultOf {
            server: &call.found.placed.name,
            name: &call.name,
            owner: &self.caller.session().principal,
            max_chars: tool.meta.max_result_chars,
            has_output_schema: tool.output_schema.is_some(),
        };
        self.mention(&call.found.placed, &result);
        self.limit(&of, result).await
    }

    async fn after(&self, call: &ToolCall, result: &Raw) -> After {
        let hooks = &self.applied.hooks;
        if !hooks.has(switchboard_config::HookEvent::PostToolUse, &call.name) {
            return After { context: Vec::new(), result: None };
        }
        let said = hooks.post_tool_use(&call.used(self), result).await;
        self.note(&call.found.placed, &said.notes);
        let mut context = said.context;
        context.extend(said.blocked);
        After { context, result: said.updated_output }
    }

    /// A tool that a rule hides is not unknown; saying so helps whoever wrote the rule.
    fn hidden(&self, name: String, similar: Vec<String>) -> CallError {
        match self.snapshot().catalog.hidden(&name) {
            Some((server, tool)) => self.denied_by_rule(&name, server, tool),
            None => CallError::NotFound { name, similar },
        }
    }
}

/// A member that has to be text.
pub(super) fn text(params: &Raw, key: &str) -> Result<String, CallError> {
    member(params, key)?
        .and_then(|value| value.to_text())
        .ok_or_else(|| CallError::Request { reason: format!("`{key}` is missing, or not text") })
}

/// A member, which must not stand there twice.
pub(super) fn member(params: &Raw, key: &str) -> Result<Option<Raw>, CallError> {
    params.get(key).map_err(|error| CallError::Request { reason: error.to_string() })
}
