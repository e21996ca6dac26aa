//! Calls for prompts, resources and completions: `prompts/get`, `resources/read`, `completion/complete`,
//! subscriptions.
//!
//! Used by `dispatch` and `dispatch::builtin`. They need no permission question; only rules that hide a server
//! apply.

use switchboard_wire::json::{JsonEdit, Raw, quote};

use super::call_recorder::CallRecorder;
use super::continuation::FinishedStages;
use super::tool::{member, text};
use super::upstream::SendResult;
use super::{CallError, CallFinish, CallOrigin, CallOutcome, RepeatSafety, Request, Stage};
use crate::catalog::ListedPrompt;
use crate::engine::AppliedServer;
use crate::results::{AppDataPolicy, ResultPolicy, ResultShape};

/// Gets a prompt.
pub(super) async fn get_prompt(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let params = request.params();
    let name = text(&params, "name")?;
    let found = stage.find::<ListedPrompt>(&name, request.server.as_deref()).await?;
    record.set_item(&found.item.name);
    let server = request.server.clone();
    stage.confirm_item::<ListedPrompt>(&found.placed, &name, server.as_deref()).await?;
    let raw = quote(&found.item.prompt.name);
    let request = request.with_edits(&params, &[JsonEdit::set(&["name"], &raw)])?;
    send_through(stage, &found.placed, &name, request, record).await
}

/// Reads a resource, and limits the result. A UI resource goes to a host, which cannot use a part of it, so it passes
/// whole unless a model reads it.
pub(super) async fn read_resource(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let uri = text(&request.params(), "uri")?;
    let placed = match &request.again {
        None => stage.owner(&request, &uri).await?,
        Some(again) => stage.applied_server(again.carried.server())?,
    };
    record.set_server(&placed);
    let app_data = match request.origin {
        CallOrigin::Model => AppDataPolicy::Limit,
        CallOrigin::Client | CallOrigin::AppHost | CallOrigin::App => AppDataPolicy::Leave,
    };
    let outcome = match send_through(stage, &placed, &uri, request, record).await? {
        CallFinish::Done(outcome) => *outcome,
        other => return Ok(other),
    };
    let policy = ResultPolicy { app_data, ..stage.policy() };
    let kept = stage.limit(ResultShape::Resource, policy, outcome.result).await;
    Ok(CallFinish::done(CallOutcome {
        result: kept.result.clone(),
        limited: Some(kept),
        ..outcome
    }))
}

/// Completes an argument of a prompt or a variable of a template.
pub(super) async fn complete(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    let params = request.params();
    let reference = member(&params, "ref")?;
    let reference =
        reference.ok_or_else(|| CallError::Request { reason: "`ref` is missing".to_owned() })?;
    if let Ok(name) = text(&reference, "name") {
        let found = stage.find::<ListedPrompt>(&name, request.server.as_deref()).await?;
        record.set_item(&found.item.name);
        let raw = quote(&found.item.prompt.name);
        let request = request.with_edits(&params, &[JsonEdit::set(&["ref", "name"], &raw)])?;
        return send_through(stage, &found.placed, &name, request, record).await;
    }
    let uri = text(&reference, "uri")?;
    let placed = stage.known_owner(&request, &uri).await?;
    let placed =
        placed.ok_or_else(|| CallError::NotFound { name: uri.clone(), similar: Vec::new() })?;
    send_through(stage, &placed, &uri, request, record).await
}

/// Whether to subscribe to a resource or to unsubscribe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceWatch {
    On,
    Off,
}

/// Subscribes to a resource or unsubscribes; updates come as events of the engine.
pub(super) async fn watch_resource(
    stage: &Stage,
    request: Request,
    record: &mut CallRecorder,
    watch: ResourceWatch,
) -> Result<CallFinish, CallError> {
    let uri = text(&request.params(), "uri")?;
    let subscribed = match (watch, &request.server) {
        // The owner of the resource may have changed since.
        (ResourceWatch::Off, None) => stage.engine.subscribed_server(&stage.caller, &uri),
        _ => None,
    };
    let placed = match subscribed {
        Some(placed) => placed,
        None => stage.owner(&request, &uri).await?,
    };
    record.set_server(&placed);
    stage.check_visible(&placed, &uri)?;
    let connection = stage.connection(&placed).await?;
    let live = stage.ready(&placed, &connection).await?;
    let (engine, caller) = (&stage.engine, &stage.caller);
    let done = match watch {
        ResourceWatch::On => engine.subscribe(caller, &connection, &live, &uri).await,
        ResourceWatch::Off => engine.unsubscribe(caller, &connection, &live, &uri).await,
    };
    done.map_err(|error| CallError::server(&placed.name, error, RepeatSafety::Harmless))?;
    Ok(CallFinish::done(plain_outcome(&placed, Raw::empty_object())))
}

pub(super) async fn send_through(
    stage: &Stage,
    placed: &AppliedServer,
    name: &str,
    mut request: Request,
    record: &mut CallRecorder,
) -> Result<CallFinish, CallError> {
    record.set_server(placed);
    stage.check_visible(placed, name)?;
    let again = request.again.take();
    if let Some(again) = &again {
        again.carried.check_server(placed)?;
    }
    let result = match stage.send(placed, request, again.as_deref()).await? {
        SendResult::Result(result) => result,
        SendResult::NeedsInput(open) => {
            let handed = open.into_input_required(
                placed,
                (String::new(), FinishedStages::default()),
                record.since(),
            );
            return Ok(CallFinish::NeedsInput(Box::new(handed)));
        }
    };
    record.set_received(result.as_str().len());
    stage.mention(placed, &result);
    Ok(CallFinish::done(plain_outcome(placed, result)))
}

pub(super) fn plain_outcome(placed: &AppliedServer, result: Raw) -> CallOutcome {
    let server = Some(placed.name.clone());
    CallOutcome { result, server, decision: None, context: Vec::new(), limited: None }
}
